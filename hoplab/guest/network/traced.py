# SPDX-License-Identifier: Apache-2.0
"""Links whose capacity, delay and losses follow a trace, by the disciplines of
kernel-modules/link.

They take the steps as their network is built, and begin with them at time 0.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from errno import ENOENT
from itertools import islice
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from hoplab.guest.network.directions import ROOT
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.netlink import attribute
from hoplab.guest.network.queues import know
from hoplab.model.errors import MissingTool
from hoplab.model.keys.link_traces import LinkTrace, Steps
from hoplab.model.network.plan import WIRES, Plan

CAPACITY, LATENCY = "capacity", "latency"
FLAGS, LENGTHENED, SEED, PIECE, BEGIN = range(1, 6)
REPEATED, AT_ONCE = 1, 2
"""Of steps.h."""
ETHERNET_BYTES = 14
TUN_BYTES = 4
"""What Mahimahi's device puts before a packet of IP, and counts."""
MOST_IN_PIECE = 5000
"""Steps of 12 octets in a netlink attribute, which has less than 64 KiB."""

know(CAPACITY, LATENCY)


def sending_end(netlink: Any, index: int, handle: int, trace: LinkTrace) -> None:
    """Give a station's end the trace's capacity, which counts octets of IP."""
    flags = REPEATED * trace.repeated | AT_ONCE * trace.at_once
    lengthened = (TUN_BYTES if trace.at_once else 0) - ETHERNET_BYTES
    first = attribute(FLAGS, struct.pack("=I", flags))
    first += attribute(LENGTHENED, struct.pack("=i", lengthened))
    _add(netlink, CAPACITY, index, handle, first, trace.capacity)


def wire(wires: Any, index: int, handle: int, trace: LinkTrace, seed: int) -> None:
    """Give a wire the trace's delays and losses, which are drawn by ``seed``."""
    assert trace.path is not None
    first = attribute(FLAGS, struct.pack("=I", REPEATED * trace.repeated))
    first += attribute(SEED, struct.pack("=Q", seed))
    _add(wires, LATENCY, index, handle, first, trace.path)


def reseed(wires: Any, index: int, handle: int, seed: int) -> None:
    """Let a wire's losses be drawn by another ``seed``."""
    packed = attribute(SEED, struct.pack("=Q", seed))
    wires.tc("change", LATENCY, index, handle, packed=packed)


def begin(plan: Plan, namespaces: Namespaces, epoch_ns: int) -> None:
    """Let the traces begin at ``epoch_ns`` of the monotonic clock."""
    packed = attribute(BEGIN, struct.pack("=Q", epoch_ns))
    for cable in plan.cables:
        up, down = cable.link.ways
        for end, leaving, coming in zip(cable.ends, (up, down), (down, up), strict=True):
            if leaving.steps is not None:
                index = namespaces.index(end.station, end.interface)
                namespaces.netlink(end.station).tc("change", CAPACITY, index, ROOT, packed=packed)
            if coming.steps is not None and coming.steps.path is not None:
                index = namespaces.index(WIRES, end.wire)
                namespaces.netlink(WIRES).tc("change", LATENCY, index, ROOT, packed=packed)


def _add(netlink: Any, kind: str, index: int, handle: int, first: bytes, steps: Steps) -> None:
    pieces = _pieces(steps)
    try:
        netlink.tc("add", kind, index, handle, packed=first + next(pieces))
    except NetlinkError as error:
        if error.code != ENOENT:
            raise
        raise MissingTool(
            f"trace: this kernel, {os.uname().release}, has no queueing discipline {kind!r}; run "
            "with --machine uml, or 'make -C kernel-modules install'"
        ) from None
    for piece in pieces:
        netlink.tc("change", kind, index, handle, packed=piece)


def _pieces(steps: Steps) -> Iterator[bytes]:
    rows = iter(steps.rows())
    while some := list(islice(rows, MOST_IN_PIECE)):
        yield attribute(PIECE, b"".join(struct.pack("=III", *row) for row in some))
