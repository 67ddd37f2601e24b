# SPDX-License-Identifier: Apache-2.0
"""The slow host's power from two published losses: what a frame costs it, as `nic` tells it.

python experiments/wavelan/fit.py

A fast host sends a frame every DIFS + mean backoff + preamble and header + octets at 2 Mbit/s. The
slow host needs a little longer for each. The work that waits in its card's buffer is a random walk:
it drifts by the difference, and scatters by the backoff. Between an empty and a full buffer, the
share that overflows is that of a reflected Brownian motion. (Harrison, Brownian Motion and
Stochastic Flow Systems, 1985, chapter 5)
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

DIFS_US, SLOT_US, CW_MIN, PLCP_US, RATE_MBPS = 50.0, 20.0, 31, 192.0, 2.0
MAC_OCTETS = 36
"""MAC header, LLC, FCS around an IP datagram."""
BUFFER_PACKETS = 8
"""Chosen, not fitted."""
BACKOFF_VARIANCE_US2 = SLOT_US**2 * ((CW_MIN + 1) ** 2 - 1) / 12


def sent_every_us(size: int) -> float:
    """Mean spacing of saturated frames of ``size`` octets of IP on the air."""
    octets = size + MAC_OCTETS
    return DIFS_US + SLOT_US * CW_MIN / 2 + PLCP_US + 8 * octets / RATE_MBPS


def taken_every_us(size: int, packet_us: float, service_mbps: float) -> float:
    """What a frame with ``size`` octets of IP costs the host."""
    return packet_us + 8 * (size + MAC_OCTETS) / service_mbps


def loss(sent_us: float, taken_us: float) -> float:
    """Share of frames that come every ``sent_us`` and find a full buffer."""
    drift_us = taken_us - sent_us
    room_us = BUFFER_PACKETS * taken_us
    spread = 2 * drift_us * room_us / BACKOFF_VARIANCE_US2
    if abs(spread) < 1e-9:
        return BACKOFF_VARIANCE_US2 / (2 * room_us) / sent_us
    # exp would overflow where the host is far too fast for any loss.
    return 0.0 if spread < -700 else drift_us / -math.expm1(-spread) / sent_us


def taken_us(sent_us: float, wanted_loss: float) -> float:
    """The host's time for a frame that gives ``wanted_loss``, by bisection."""
    low, high = 0.5 * sent_us, 2 * sent_us
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(sent_us, middle) < wanted_loss else (low, middle)
    return (low + high) / 2


def fit(small: tuple[int, float], large: tuple[int, float]) -> tuple[float, float]:
    """Cost of any frame in µs and rate in Mbit/s, from two sizes and the losses at them."""
    small_us, large_us = (taken_us(sent_every_us(size), share) for size, share in (small, large))
    service_mbps = 8 * (large[0] - small[0]) / (large_us - small_us)
    return small_us - 8 * (small[0] + MAC_OCTETS) / service_mbps, service_mbps


if __name__ == "__main__":
    told = tomllib.loads((Path(__file__).parent / "published.toml").read_text())
    packet_us, service_mbps = fit(
        *zip(told["overrun"]["sizes"], told["overrun"]["losses"], strict=True)
    )
    print(f"rx_packet_us = {packet_us:.1f}\nrx_service_mbps = {service_mbps:.4f}")
