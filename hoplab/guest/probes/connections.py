# SPDX-License-Identifier: Apache-2.0
"""The connections of measured programs: their owners, samples of both ends, packets.

A program's peers are not known in advance. Each sample therefore reads all sockets of its station
(sock_diag). The kernel also reports each socket that ends (SKNLGRP_INET_TCP_DESTROY, Linux 4.6),
which finds connections shorter than a sample's interval. For `hoplab.host.results.connections` the
headers of all packets of TCP and UDP at the station are kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hoplab.guest.network.inside import inside
from hoplab.guest.network.netlink import DUMP, LARGEST_ANSWER, Conversation, messages
from hoplab.guest.probes import captures, sockets
from hoplab.guest.probes.options import SackNotes
from hoplab.guest.probes.ring import Ring
from hoplab.guest.probes.standby import NONE
from hoplab.model import writing
from hoplab.model.keys.resolved import ResolvedProgram
from hoplab.model.network.plan import Plan
from hoplab.model.records.writer import Records

ENDED_GROUPS = 1 << 0 | 1 << 2
"""SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY (linux/sock_diag.h)."""
FAMILIES = (socket.AF_INET, socket.AF_INET6)
GOING = sum(1 << state for state in (1, 4, 5, 8, 9, 11))
"""States in which a TCP socket has a connection: established, and all states of closing."""
LISTENING = 1 << sockets.LISTENING
EVERY = 0xFFFFFFFF
MESSAGE = struct.Struct("=BBBBHH16s16sIII4II")
"""struct inet_diag_msg; ports are in network byte order."""
MAPPED = bytes(10) + b"\xff\xff"
Ends = tuple[int, str, int]
"""Port at the station, address and port of the other end."""


class Owner(Protocol):
    """A program that may have sockets."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> ResolvedProgram: ...

    @property
    def session(self) -> int | None:
        """Number of the session of its processes, while it runs."""


@dataclass(frozen=True)
class Socket:
    """A socket as sock_diag shows it; ``info`` is what TCP reports."""

    ends: Ends
    inode: int
    info: sockets.Info | None


class Diag:
    """The sockets of one station."""

    def __init__(self, station: str) -> None:
        self._asked = Conversation(station, sockets.NETLINK_SOCK_DIAG, "sock_diag")
        with inside(station):
            self._ended = socket.socket(
                socket.AF_NETLINK,
                socket.SOCK_RAW | socket.SOCK_CLOEXEC,
                sockets.NETLINK_SOCK_DIAG,
            )
        self._ended.bind((0, ENDED_GROUPS))
        self._ended.setblocking(False)
        self._ended.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def all(self, protocol: int, states: int) -> Iterator[Socket]:
        """Yield the sockets of TCP or UDP in these states."""
        for family in FAMILIES:
            extensions = sockets.EXTENSIONS if protocol == socket.IPPROTO_TCP else 0
            request = sockets.REQUEST.pack(
                *(family, protocol, extensions, socket.htonl(states), 0, 0, bytes(4), bytes(4), 0),
                *(sockets.NO_COOKIE, sockets.NO_COOKIE),
            )
            for answer in self._asked.ask(sockets.SOCK_DIAG_BY_FAMILY, request, DUMP):
                yield from _socket(answer)

    def ended(self) -> Iterator[Socket]:
        """Yield the TCP sockets that ended since the last call, with their final values."""
        while True:
            try:
                answers = memoryview(self._ended.recv(LARGEST_ANSWER))
            except BlockingIOError:
                return
            except OSError:  # more than the buffer holds: packets show these connections
                continue
            for kind, answer in messages(answers):
                if kind == sockets.SOCK_DIAG_BY_FAMILY:
                    yield from _socket(answer)

    def close(self) -> None:
        self._asked.close()
        self._ended.close()


def _socket(answer: memoryview) -> Iterator[Socket]:
    """Yield the socket of an answer if it has an address."""
    if len(answer) < MESSAGE.size:
        return
    family, _, _, _, port, peer_port, _, peer, *_, inode = MESSAGE.unpack_from(answer)
    address = _address(family, peer)
    if address is not None:
        ends = (socket.ntohs(port), address, socket.ntohs(peer_port))
        yield Socket(ends, inode, sockets.info_of(answer[MESSAGE.size :]))


def _address(family: int, octets: bytes) -> str | None:
    """Return the address as text. A mapped address of an IPv6 socket becomes one of IPv4 (RFC 4291
    2.5.5.2), and the unspecified address becomes 0.0.0.0."""
    if family == socket.AF_INET:
        return socket.inet_ntoa(octets[:4])
    if octets.startswith(MAPPED):
        return socket.inet_ntoa(octets[12:])
    return "0.0.0.0" if octets == bytes(16) else socket.inet_ntop(family, octets)


class Connections:
    """Samples the connections of measured programs. Writes table `tcp` and ``raw/sockets.jsonl``,
    which names the owners."""

    def __init__(
        self, plan: Plan, tasks: Sequence[Owner], records: Records, out: Path, sack: SackNotes
    ) -> None:
        self._records = records
        self._sack = sack
        self._tasks = tasks
        self._stations = sorted({t.program.station for t in tasks if t.program.measure})
        self._station_of = {address: name for name, address in plan.address.items()}
        self._station_of |= {address: name for name, address in plan.address_6.items()}
        self._station_of |= {end.address: name for name, ends in plan.ends.items() for end in ends}
        self._diags = {name: Diag(name) for name in plan.address}
        self._own_ports = {
            port for c in plan.conversations for port in (c.client_port, c.server_port)
        }
        self._owner: dict[tuple[str, int, Ends], str | None] = {}
        """Names of programs by station, protocol and ends; None for other sockets."""
        self._last: dict[str, dict[str, Any]] = {}
        self._owners = writing.added(out / "raw" / "sockets.jsonl")
        # A packet's delay, and whether it was lost, need the other end too.
        ends = {t.program.station for t in tasks if t.program.measure or not t.program.routing}
        self._rings = [
            Ring(name, "", out / "raw" / f"programs-{name}.ring", captures.HEADERS_SLOT, FILTER)
            for name in sorted(ends)
        ]

    def begin(self) -> None:
        """Begin before any program starts: sockets that exist now belong to daemons."""
        for station in self._stations:
            for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
                for one in self._diags[station].all(protocol, EVERY):
                    self._note(station, protocol, one.ends, None)

    def sample(self, t_s: float) -> None:
        """Add rows of table `tcp` for every connection in each direction that has carried
        payload."""
        now = {
            name: {one.ends: one for one in diag.all(socket.IPPROTO_TCP, GOING)}
            for name, diag in self._diags.items()
        }
        for name, diag in self._diags.items():
            now[name] |= {one.ends: one for one in diag.ended()}
        for station in self._stations:
            waiting = self._diags[station].all(socket.IPPROTO_TCP, LISTENING)
            self._own(station, socket.IPPROTO_TCP, [*now[station].values(), *waiting])
            self._own(
                station,
                socket.IPPROTO_UDP,
                list(self._diags[station].all(socket.IPPROTO_UDP, EVERY)),
            )
            for ends, near in now[station].items():
                owner = self._owner.get((station, socket.IPPROTO_TCP, ends))
                if owner is not None:
                    self._rows(owner, station, near, now, t_s)
        self.drain()

    def drain(self) -> None:
        """Write the packets that came since the last call."""
        for ring in self._rings:
            ring.drain()

    def close(self) -> None:
        """Close the sockets and rings. Raises `HoplabError` if a ring lost packets."""
        self._owners.close()
        for diag in self._diags.values():
            diag.close()
        with contextlib.ExitStack() as rings:
            for ring in self._rings:
                rings.callback(ring.close)

    def _rows(
        self,
        owner: str,
        station: str,
        near: Socket,
        now: dict[str, dict[Ends, Socket]],
        t_s: float,
    ) -> None:
        port, address, peer_port = near.ends
        peer = self._station_of.get(address)
        far = None
        if peer is not None:
            own = (a for a, name in self._station_of.items() if name == station)
            far = next((f for a in own if (f := now[peer].get((peer_port, a, port)))), None)
        for sign, sender, receiver in ((">", near, far), ("<", far, near)):
            info = None if sender is None else sender.info
            if info is not None and info.bytes_acked > 1:  # 1 is the SYN's
                name = f"{owner}:{port}{sign}{peer or address}:{peer_port}"
                self._row(name, info, receiver, t_s)

    def _row(self, name: str, sender: sockets.Info, receiver: Socket | None, t_s: float) -> None:
        self._sack.note(name, sender)
        row = {**sockets.sender_row(sender), "t_s": t_s, **NONE}
        previous = self._last.get(name)
        if previous is not None and previous["t_s"] == t_s:
            return
        delivered = previous["delivered_bytes"] if previous else row["acked_bytes"]
        if receiver is not None and receiver.info:
            delivered = receiver.info.bytes_received
        row["delivered_bytes"] = delivered
        self._records.add("tcp", flow=name, **row)
        self._last[name] = row

    def _own(self, station: str, protocol: int, found: Sequence[Socket]) -> None:
        """Find and note the owners of sockets that are new."""
        new = [one for one in found if (station, protocol, one.ends) not in self._owner]
        if not new:
            return
        here = [task for task in self._tasks if task.program.station == station]
        whose = self._by_inode(here) if len(here) > 1 else lambda one: here[0].name
        for one in new:
            port, _, peer_port = one.ends
            if {port, peer_port} & self._own_ports:
                self._note(station, protocol, one.ends, None)
                continue
            name = whose(one)
            if name is None and one.inode == 0:
                continue  # not accepted yet, or released: a later sample may show its owner
            self._note(station, protocol, one.ends, name)
        self._owners.flush()

    def _note(self, station: str, protocol: int, ends: Ends, name: str | None) -> None:
        self._owner[station, protocol, ends] = name
        kind = "tcp" if protocol == socket.IPPROTO_TCP else "udp"
        told = dict(zip(("port", "peer", "peer_port"), ends, strict=True))
        line = {"program": name, "node": station, "protocol": kind, **told}
        self._owners.write(json.dumps(line) + "\n")

    def _by_inode(self, here: Sequence[Owner]) -> Callable[[Socket], str | None]:
        owners: dict[int, str] = {}
        for task in here:
            if task.session is not None:
                owners |= dict.fromkeys(_inodes(task.session), task.name)
        return lambda one: owners.get(one.inode)


def _inodes(session: int) -> Iterator[int]:
    """Yield the inodes of the sockets that a session's processes hold."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        # The process may end meanwhile.
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
            if int(stat[3]) != session:
                continue
            for descriptor in os.scandir(Path(entry.path, "fd")):
                target = str(Path(descriptor.path).readlink())
                if target.startswith("socket:["):
                    yield int(target[8:-1])


FILTER = [
    captures.instruction(captures.LOAD_HALF, value=captures.AD_PROTOCOL),
    captures.instruction(captures.JUMP_EQUAL, 0, 2, captures.ETH_P_IP),
    captures.instruction(captures.LOAD_BYTE, value=9),
    captures.instruction(captures.JUMP_EQUAL, 4, 3, socket.IPPROTO_TCP),
    captures.instruction(captures.JUMP_EQUAL, 0, 4, captures.ETH_P_IPV6),
    captures.instruction(captures.LOAD_BYTE, value=6),
    captures.instruction(captures.JUMP_EQUAL, 1, 0, socket.IPPROTO_TCP),
    captures.instruction(captures.JUMP_EQUAL, 0, 1, socket.IPPROTO_UDP),
    captures.instruction(captures.RETURN, value=captures.HEADERS_BYTES),
    captures.instruction(captures.RETURN, value=0),
]
"""Classic BPF for packets of TCP and UDP."""
