# SPDX-License-Identifier: Apache-2.0
"""A direction of a wired link in the kernel's units: handles of its disciplines, rates, room."""

from __future__ import annotations

import math

from hoplab.model.keys.links import Link

ROOT, LEAF = 0x10000, 0x20000
"""Handles of an end's first discipline, and of the one that is its child."""
IN_ORDER_BYTES_PER_S = 0xFFFFFFFF
"""netem's largest rate: a frame takes 0.4 us."""
SMALLEST_FRAME_BITS = 8 * 60
"""IEEE 802.3-2022 3.2.8, without the check sequence."""


def room(link: Link) -> int:
    """Return how many packets a direction holds that has a queue behind its start: those on the
    way, and a queue."""
    peak_mbps = link.rate_mbps if link.steps is None else link.steps.peak_mbps
    bits_on_the_way = peak_mbps * 1e3 * link.delay_ms
    return link.queue.packets + math.ceil(bits_on_the_way / SMALLEST_FRAME_BITS)


def serialising_bytes_per_s(link: Link) -> int:
    """Return the rate of the wire's netem. A packet of a trace has been serialised before it."""
    return bytes_per_s(link.rate_mbps) if link.steps is None else IN_ORDER_BYTES_PER_S


def bytes_per_s(rate_mbps: float) -> int:
    return round(rate_mbps * 1e6 / 8)
