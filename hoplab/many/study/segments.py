# SPDX-License-Identifier: Apache-2.0
"""TCP segments of a flow from a run's captures."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import dpkt

from hoplab.host.results.reader import Results
from hoplab.model import reading
from hoplab.model.network.plan import FIRST_CLIENT_PORT

SLL2_BYTES = 20
SYN, PSH = 0x02, 0x08
PROTOCOL_TCP = 6
KINDS = {2: "mss", 3: "window-scale", 4: "sack-permitted", 5: "sack", 8: "timestamps"}


@dataclass(frozen=True)
class Segment:
    """A segment of the data connection, as its station saw it."""

    time_s: float
    outbound: bool
    """Whether it goes from the flow's source to its destination."""
    sequence: int
    acknowledges: int
    payload: int
    flags: int
    window: int
    options: tuple[str, ...]
    ecn: int
    """The two ECN bits of the IP header."""


def segments(results: Results, station: str, flow_index: int = 0) -> Iterator[Segment]:
    """Yield segments of flow ``flow_index`` in the capture of all interfaces of ``station``."""
    verdict = json.loads(reading.content(results.run_dir / "raw" / "verdict.json"))
    epoch_ns = verdict["realtime_epoch_ns"]
    port = FIRST_CLIENT_PORT + flow_index
    with reading.opened(results.run_dir / "captures" / f"{station}-any.pcapng") as file:
        for stamp, data in dpkt.pcapng.Reader(file):
            packet = data[SLL2_BYTES:]
            if packet[0] >> 4 != 4 or packet[9] != PROTOCOL_TCP:
                continue
            header = (packet[0] & 15) * 4
            source, destination, sequence, acknowledges, offset, flags, window = struct.unpack_from(
                "!HHIIBBH", packet, header
            )
            if port not in (source, destination):
                continue
            (total,) = struct.unpack_from("!H", packet, 2)
            length = (offset >> 4) * 4
            yield Segment(
                round(float(stamp) - epoch_ns / 1e9, 6),
                source == port,
                sequence,
                acknowledges,
                total - header - length,
                flags,
                window,
                tuple(_options(packet[header + 20 : header + length])),
                packet[1] & 3,
            )


def _options(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        yield KINDS.get(data[at], str(data[at]))
        at += max(2, data[at + 1])
