# SPDX-License-Identifier: Apache-2.0
"""Read both ends of TCP connections: in one call of Hoplab's kernel, or each by sock_diag where the
kernel is another."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from hoplab.guest.network.inside import NAMES
from hoplab.guest.probes.sockets import Info, SocketProbe

DEVICE = Path("/dev/hoplab-sockets")
HOPLAB_SOCKETS = 0x6804
"""See kernel-modules/guest/c/sockets.c, which also has what the call reads and writes."""
HEAD = struct.Struct("=QQIIIxxxx")
"""When the first sample is due, and the time between two, in ns; how many, and how many there are
already; the number of ends."""
TAKEN = struct.Struct("=20xI")
END = struct.Struct("=iHH16s16s")
"""Descriptor of a namespace; ports and addresses of a connection, first those of its end there."""
VALUES = struct.Struct("=3Q10IH5Bx")
"""The fields of `Info`."""
MOST_VALUES = 1 << 16
"""Values in an answer, a twentieth of what the kernel allows."""
MAPPED = bytes(10) + b"\xff\xff"

Address = tuple[str, int]
Pair = tuple[Info | None, Info | None]
"""What `SocketProbe.connection` returns, of both ends."""


class Connection(NamedTuple):
    """A TCP connection: the stations at its ends, and their addresses and ports."""

    source: str
    destination: str
    near: Address
    far: Address


class Times(NamedTuple):
    """Times of samples on CLOCK_MONOTONIC."""

    first_ns: int
    interval_ns: int
    samples: int


NOW = Times(0, 0, 1)


class Reader(Protocol):
    """Reads connections."""

    def read(self, connections: Sequence[Connection]) -> Iterable[Pair]:
        """Return what the source's socket of each says, and the destination's."""

    def close(self) -> None: ...


class BySockDiag:
    """Asks for one socket after the other."""

    def __init__(self, probes: Mapping[str, SocketProbe]) -> None:
        self._probes = probes

    def read(self, connections: Sequence[Connection]) -> Iterable[Pair]:
        for source, destination, near, far in connections:
            here = self._probes[source].connection(near, far)
            yield here, self._probes[destination].connection(far, near)

    def close(self) -> None:
        pass


class ByCall:
    """Asks for all of them at once, through the open ``device``.

    A socket of netlink may take its number from the kernel's random ones. It takes it here too,
    before the first look at its station. So a run is the same either way.
    """

    def __init__(self, device: int, probes: Mapping[str, SocketProbe]) -> None:
        self._device = device
        self._probes = probes
        self._namespaces: dict[str, int] = {}
        self._asked: Sequence[Connection] = ()
        self._ends = b""

    def read(self, connections: Sequence[Connection]) -> Iterable[Pair]:
        if not connections:
            return ()
        ((found,),) = self.sleep(connections, NOW)
        return found

    def sleep(
        self, connections: Sequence[Connection], times: Times
    ) -> Iterator[list[Iterable[Pair]]]:
        """Sleep while the kernel takes samples. Yield them all, or in parts. A part ends when some
        of the host's time has passed, or when a child of this process no longer runs."""
        if connections != self._asked:
            self._asked, self._ends = connections, self._laid(connections)
        most = max(1, MOST_VALUES // (2 * len(connections) or 1))
        for begin in range(0, times.samples, most):
            first_ns = times.first_ns + begin * times.interval_ns
            part = Times(first_ns, times.interval_ns, min(most, times.samples - begin))
            yield from self._asleep(2 * len(connections), part)

    def close(self) -> None:
        for namespace in self._namespaces.values():
            os.close(namespace)
        os.close(self._device)

    def _asleep(self, ends: int, times: Times) -> Iterator[list[Iterable[Pair]]]:
        asked = bytearray(HEAD.pack(*times, 0, ends) + self._ends)
        octets = ends * VALUES.size
        asked += bytes(times.samples * octets)
        values = memoryview(asked)[HEAD.size + len(self._ends) :]
        taken = 0
        while taken < times.samples:
            with contextlib.suppress(InterruptedError):
                fcntl.ioctl(self._device, HOPLAB_SOCKETS, asked)
            before, (taken,) = taken, TAKEN.unpack_from(asked)
            if taken > before:
                starts = (octets * i for i in range(before, taken))
                yield [_pairs(values[start : start + octets]) for start in starts]

    def _laid(self, connections: Sequence[Connection]) -> bytes:
        ends = chain.from_iterable(
            ((c.source, c.near, c.far), (c.destination, c.far, c.near)) for c in connections
        )
        laid = b""
        for station, (address, port), (peer, peer_port) in ends:
            if station not in self._namespaces:
                self._probes[station].take_number()
                self._namespaces[station] = os.open(NAMES / station, os.O_RDONLY | os.O_CLOEXEC)
            ports = socket.htons(port), socket.htons(peer_port)
            laid += END.pack(self._namespaces[station], *ports, _octets(address), _octets(peer))
        return laid


def _pairs(values: memoryview) -> Iterable[Pair]:
    ends = iter([Info._make(end) if end[-1] else None for end in VALUES.iter_unpack(values)])
    return zip(ends, ends, strict=True)


def _octets(address: str) -> bytes:
    """Return an address of IPv6, or an IPv4-mapped one (RFC 4291 2.5.5.2)."""
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address)
    return MAPPED + socket.inet_aton(address)


def reader(probes: Mapping[str, SocketProbe]) -> Reader:
    """Return what this kernel has. ``probes`` has every station that is asked for."""
    try:
        device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return BySockDiag(probes)
    try:
        fcntl.ioctl(device, HOPLAB_SOCKETS, bytearray(HEAD.pack(0, 0, 0, 0, 0)))
    except OSError as error:
        os.close(device)
        if error.errno != errno.ENOTTY:
            raise
        return BySockDiag(probes)  # a kernel of an earlier version
    return ByCall(device, probes)
