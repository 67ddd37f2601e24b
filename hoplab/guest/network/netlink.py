# SPDX-License-Identifier: Apache-2.0
"""Netlink where it must be quick: a general library takes milliseconds to open a socket, and parses
all of every answer."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator

from hoplab.guest.network.inside import inside
from hoplab.model.errors import HoplabError

GENERIC_PROTOCOL = 16
"""NETLINK_GENERIC."""
REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
"""NLM_F_REQUEST, NLM_F_ACK and NLM_F_DUMP."""
EXCLUSIVE, REPLACE, CREATE = 0x200, 0x100, 0x400
"""NLM_F_EXCL, NLM_F_REPLACE and NLM_F_CREATE."""
ERROR, DONE = 2, 3
"""NLMSG_ERROR and NLMSG_DONE."""
HEADER = struct.Struct("=IHHII")
"""struct nlmsghdr: length, kind, flags, number, sender (linux/netlink.h)."""
GENERIC = struct.Struct("=BBH")
"""struct genlmsghdr: command, version, nothing (linux/genetlink.h)."""
ATTRIBUTE = struct.Struct("=HH")
"""Length with this head, and type (linux/netlink.h, struct nlattr)."""
KIND = 0x3FFF
"""Mask of an attribute's type, without the flags of nesting and byte order."""
LARGEST_ANSWER = 1 << 16

Attributes = Iterator[tuple[int, memoryview]]


class Refused(HoplabError):
    """The kernel refuses a request; ``errno`` says why."""

    def __init__(self, what: str, errno: int) -> None:
        super().__init__(f"{what}: the kernel refuses: {os.strerror(errno)}")
        self.errno = errno


class Conversation:
    """A socket of netlink in a station's namespace, or in that of this process; ``what`` names it
    in errors."""

    def __init__(self, station: str | None, protocol: int, what: str) -> None:
        self._what = what
        with inside(station) if station is not None else contextlib.nullcontext():
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol
            )

    def take_number(self) -> None:
        """Have the kernel number this socket now, as the first request would."""
        self._socket.bind((0, 0))

    def ask(self, kind: int, body: bytes, flags: int = 0) -> Iterator[memoryview]:
        """Yield the content of each answer: of one, or of all with `DUMP`, or none with `ACK`.
        Raises `Refused` if the kernel refuses the request."""
        header = HEADER.pack(HEADER.size + len(body), kind, REQUEST | flags, 0, 0)
        self._socket.send(header + body)
        while True:
            for answer, content in messages(memoryview(self._socket.recv(LARGEST_ANSWER))):
                if answer == ERROR and (
                    code := -int.from_bytes(content[:4], "little", signed=True)
                ):
                    raise Refused(self._what, code)
                if answer in (ERROR, DONE):
                    return
                yield content
            if not flags:
                return

    def do(self, kind: int, body: bytes, flags: int = 0) -> None:
        """Have the kernel do something that it only acknowledges. Raises `Refused` if it does
        not."""
        for _ in self.ask(kind, body, ACK | flags):
            pass

    def close(self) -> None:
        self._socket.close()


def aligned(length: int) -> int:
    """Return where the next attribute or message begins."""
    return (length + 3) & ~3


def messages(data: memoryview) -> Attributes:
    """Yield kind and content of each message, up to one that is none."""
    at = 0
    while at + HEADER.size <= len(data):
        length, kind, *_ = HEADER.unpack_from(data, at)
        if length < HEADER.size:
            return
        yield kind, data[at + HEADER.size : at + length]
        at += aligned(length)


def attributes(data: memoryview) -> Attributes:
    """Yield number and content of each attribute, up to one that is none."""
    at = 0
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        if length < ATTRIBUTE.size:
            return
        yield kind & KIND, data[at + ATTRIBUTE.size : at + length]
        at += aligned(length)


def u32(value: int) -> bytes:
    """Return a number as an attribute has it, in the processor's own order."""
    return struct.pack("=I", value)


def text(value: str) -> bytes:
    """Return a word as an attribute has it."""
    return value.encode() + b"\0"


def octets(mac: str) -> bytes:
    """Return the octets of an address such as ``02:00:00:00:00:01``."""
    return bytes.fromhex(mac.replace(":", ""))


def number(value: memoryview) -> int:
    """Return the number that an attribute has."""
    return int.from_bytes(value, "little")


def word(value: memoryview) -> str:
    """Return the word that an attribute has."""
    return bytes(value).decode().rstrip("\0")


def attribute(kind: int, value: bytes) -> bytes:
    """Return a netlink attribute; its place is a multiple of 4 octets."""
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)
