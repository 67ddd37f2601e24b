# SPDX-License-Identifier: Apache-2.0
"""Packets whose headers lie, drawn from a fixed seed, and raw sockets to send them."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

from hoplab.guest.network.inside import inside

DSR, LACK, NO_NEXT_HEADER = 48, 253, 59
FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
MORE_FRAGMENTS = 0x2000


def checksum(octets: bytes) -> int:
    """RFC 1071."""
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def ip(
    protocol: int,
    source: str,
    destination: str,
    body: bytes,
    *,
    ttl: int = 64,
    fragment: int = 0,
    options: bytes = b"",
) -> bytes:
    """An IPv4 packet."""
    words = 5 + len(options) // 4
    head = struct.pack("!BBHHHBB", 64 + words, 0, 4 * words + len(body), 1, fragment, ttl, protocol)
    ends = socket.inet_aton(source) + socket.inet_aton(destination) + options
    return head + struct.pack("!H", checksum(head + b"\0\0" + ends)) + ends + body


class Raw:
    """Sends IP packets as they are, into a station's routing and as frames of its radio."""

    def __init__(self, station: str) -> None:
        with inside(station):
            self._routed = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            self._frames = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        for sender in (self._routed, self._frames):
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            sender.setblocking(False)

    def send(self, packet: bytes) -> None:
        """By the station's routes, which may refuse it."""
        with contextlib.suppress(OSError):
            self._routed.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))

    def frame(self, packet: bytes, to: bytes) -> None:
        """As a frame to a link-layer address."""
        with contextlib.suppress(OSError):
            self._frames.sendto(packet, ("wlan0", 0x0800, 0, 0, to))


def false_dsr(draw: random.Random, stations: list[str]) -> bytes:
    """Options of RFC 4728 section 6 about links that may not exist."""
    source, destination, target = (draw.choice(stations) for _ in range(3))
    nodes = [socket.inet_aton(draw.choice(stations)) for _ in range(draw.randint(1, 3))]
    route = struct.pack("!BBH", 96, 2 + 4 * len(nodes), draw.randint(0, len(nodes)))
    route += b"".join(nodes)
    kind = draw.randrange(4)
    if kind == 0:
        destination = "255.255.255.255"
        request = struct.pack("!BBH", 1, 6 + 4 * len(nodes), draw.randrange(40))
        options = request + socket.inet_aton(target) + b"".join(nodes)
    elif kind == 3:
        ends = socket.inet_aton(source) + socket.inet_aton(destination)
        options = route + bytes((3, 14, 1, 0)) + ends + socket.inet_aton(target)
    else:
        reply = struct.pack("!BBB", 2, 1 + 4 * len(nodes), 0) + b"".join(nodes)
        options = (route if kind == 1 else b"") + reply
    body = struct.pack("!BBH", NO_NEXT_HEADER, 0, len(options)) + options
    return ip(DSR, source, destination, body)


def false_segment(draw: random.Random, source: tuple[str, int], to: tuple[str, int]) -> bytes:
    """A TCP segment of a connection that has sent nothing: false numbers, lengths, offsets, stamps
    of Split-TCP, fragments."""
    flags = draw.choice((ACK, ACK, ACK | PUSH, ACK | FIN, 0))
    if draw.randrange(200) == 0:
        flags = draw.choice((SYN, RST))
    words = draw.choice((5, 5, 5, 8, 15, 0, 4))
    ports = struct.pack("!HH", source[1], to[1])
    numbers = struct.pack("!II", *(1000 + draw.randrange(100_000) for _ in range(2)))
    window = struct.pack("!BBH", words << 4, flags, draw.randrange(1 << 16))
    head = ports + numbers + window
    text = b"\0\0" + draw.randbytes(draw.choice((0, 12, 500, 1400)))
    ends = socket.inet_aton(source[0]) + socket.inet_aton(to[0])
    pseudo = ends + struct.pack("!HH", 6, len(head) + 2 + len(text))
    body = head + struct.pack("!H", checksum(pseudo + head + b"\0\0" + text)) + text
    if draw.randrange(8) == 0:
        body = body[: draw.randint(4, 20)]
    stamp = b""
    if draw.randrange(2) == 0:
        stamp = bytes((158, 16)) + draw.randbytes(2) + socket.inet_aton(source[0])
        stamp += struct.pack("!II", draw.randrange(1 << 32), 1000 + draw.randrange(100_000))
    fragment = draw.choice((0, 0, 0, MORE_FRAGMENTS, MORE_FRAGMENTS | 10))
    ttl = draw.choice((2, 3, 64))
    return ip(6, source[0], to[0], body, ttl=ttl, fragment=fragment, options=stamp)


def false_lack(
    draw: random.Random, source: tuple[str, int], to: tuple[str, int], custodian: str
) -> bytes:
    """A local acknowledgement of Split-TCP for what nobody sent, at times cut short."""
    ends = socket.inet_aton(source[0]) + socket.inet_aton(to[0])
    ends += struct.pack("!HH", source[1], to[1])
    number = draw.choice((draw.randrange(100), draw.randrange(1 << 32)))
    said = ends + struct.pack("!IHH", number, draw.randrange(1 << 16), 0) + draw.randbytes(4)
    body = b"\1\0" + struct.pack("!H", checksum(b"\1\0\0\0" + said)) + said
    cut = draw.randint(0, 28) if draw.randrange(8) == 0 else 28
    return ip(LACK, to[0], custodian, body[:cut])
