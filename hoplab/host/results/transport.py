# SPDX-License-Identifier: Apache-2.0
"""Packets of TCP and UDP, as a ring at a station keeps them: headers of IP, ends, ports."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hoplab.host.results import rings
from hoplab.model.network.plan import BRIDGE, Plan

PROTOCOLS = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}
HEADER_BYTES = {"tcp": 20, "udp": 8}
"""Octets that every header of the protocol has."""
UDP_BYTES = HEADER_BYTES["udp"]
IPV4_BYTES, IPV6_BYTES = 20, 40
IPV6 = 6
MORE_FRAGMENTS, FRAGMENT_OFFSET = 0x2000, 0x1FFF


End = tuple[str, int]
"""Address and port."""


class Carried(NamedTuple):
    """A packet that the station itself sent or received."""

    t_s: float
    """Scenario time in s."""
    went_out: bool
    protocol: str
    source: End
    target: End
    packet: bytes
    """The octets that were kept, from the IP header on."""
    header: int
    """Octets of the IP header."""


def of_station(
    path: Path, plan: Plan, station: str, names: dict[str, str], epoch_ns: int
) -> Iterator[Carried]:
    """Yield packets of TCP and UDP from a ring at ``station``, without those that it forwards.

    ``names`` has the station of every address. ``epoch_ns`` is the date of scenario time 0. Of an
    IPv4 datagram in fragments, only the first has ports and comes.
    """
    for seen in rings.packets(path, once=plan.addressed(station) == BRIDGE):
        packet, header = seen.data, header_bytes(seen.data)
        if header < IPV4_BYTES or len(packet) < header:
            continue
        protocol, source, target = _carried(packet)
        if protocol is None or len(packet) < header + HEADER_BYTES[protocol]:
            continue
        if names.get(source if seen.went_out else target) != station:
            continue
        ports = struct.unpack_from("!HH", packet, header)
        t_s = round((seen.date_ns - epoch_ns) / 1e9, 9)
        ends = (source, ports[0]), (target, ports[1])
        yield Carried(t_s, seen.went_out, protocol, *ends, packet, header)


def header_bytes(packet: bytes) -> int:
    """Return the octets of the IP header, 0 if there is none."""
    if not packet:
        return 0
    return IPV6_BYTES if packet[0] >> 4 == IPV6 else (packet[0] & 15) * 4


def _carried(packet: bytes) -> tuple[str | None, str, str]:
    """Return protocol, source and destination, with None for a packet without ports."""
    if packet[0] >> 4 == IPV6:
        source, target = (socket.inet_ntop(socket.AF_INET6, packet[at : at + 16]) for at in (8, 24))
        return PROTOCOLS.get(packet[6]), source, target
    (place,) = struct.unpack_from("!H", packet, 6)
    protocol = None if place & FRAGMENT_OFFSET else PROTOCOLS.get(packet[9])
    return protocol, socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])
