# SPDX-License-Identifier: Apache-2.0
"""Read files of `hoplab.guest.probes.ring`: packets in the form of TPACKET_V2
(linux/if_packet.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.reading import opened

PACKET = struct.Struct("=3IHHII")
"""struct tpacket2_hdr: status, length, bytes kept, offset of the first, net, seconds,
nanoseconds."""
ADDRESS_AT = 32
ADDRESS = struct.Struct("=H2siHBB8s")
"""struct sockaddr_ll: family, protocol (big-endian), interface, its type, direction, address."""
HEAD_BYTES = ADDRESS_AT + ADDRESS.size
SLL2 = struct.Struct("!2sHIHBB8s")
"""LINKTYPE_LINUX_SLL2: protocol, reserved, interface, its type, direction, address."""


OUTGOING = 4
"""PACKET_OUTGOING (linux/if_packet.h), the direction of a packet."""
INTERFACE_AT, DIRECTION_AT = 4, 10
"""Offsets in a LINKTYPE_LINUX_SLL2 header."""


@dataclass(frozen=True)
class Seen:
    """A packet that a ring kept; ``data`` may be shorter than ``length``."""

    date_ns: int
    length: int
    data: bytes
    hardware: int
    """Type of the interface (ARPHRD_…)."""
    cooked: bytes
    """The packet's LINKTYPE_LINUX_SLL2 header."""

    @property
    def went_out(self) -> bool:
        return self.cooked[DIRECTION_AT] == OUTGOING

    @property
    def interface(self) -> bytes:
        """The interface's number, as four octets."""
        return self.cooked[INTERFACE_AT : INTERFACE_AT + 4]


def packets(path: Path, once: bool = False) -> Iterator[Seen]:
    """Yield every packet in a ring's file, up to the last one of a run that was killed.

    With ``once``, only by the first interface that shows it: a bridge and its ports show the same
    packet.
    """
    return _once(_packets(path)) if once else _packets(path)


def _once(every: Iterator[Seen]) -> Iterator[Seen]:
    shown_by: dict[int, bytes] = {}
    for seen in every:
        place = hash((seen.went_out, seen.data))
        if shown_by.setdefault(place, seen.interface) == seen.interface:
            yield seen


def _packets(path: Path) -> Iterator[Seen]:
    with opened(path) as file:
        while len(head := file.read(HEAD_BYTES)) == HEAD_BYTES:
            _, length, kept, begin, _, seconds, nanos = PACKET.unpack_from(head)
            _, protocol, index, hardware, direction, size, address = ADDRESS.unpack_from(
                head, ADDRESS_AT
            )
            rest = begin - HEAD_BYTES
            data = file.read(rest + kept)[rest:] if rest >= 0 else b""
            if len(data) < kept:
                return
            cooked = SLL2.pack(protocol, 0, index, hardware, direction, size, address)
            yield Seen(seconds * 1_000_000_000 + nanos, length, data, hardware, cooked)
