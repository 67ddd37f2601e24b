# SPDX-License-Identifier: Apache-2.0
"""The packets that a user's routing daemon sends: its part of table `routing`.

Each daemon and its child processes are in a control group of their own. A BPF program of the group
(linux/bpf.h: BPF_PROG_TYPE_CGROUP_SKB) counts the IP packets that its sockets send, of any protocol
and port. Packets of packet sockets (AF_PACKET) pass IP by. A BPF program at the egress of each
interface (BPF_PROG_TYPE_SCHED_CLS) counts those of the group. A socket that passes the queueing
discipline by too (PACKET_QDISC_BYPASS) is not seen.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from hoplab.guest.network.inside import inside
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system import bpf
from hoplab.guest.system.bpf import (
    copy,
    instruction,
    load_double_word,
    load_word,
    put,
    skip_if_equal,
    skip_unless_equal,
    skip_unless_wide,
)

TYPE_SCHED_CLS, TYPE_CGROUP_SKB, INET_EGRESS = 3, 8, 1
OFFSET_LEN, OFFSET_IFINDEX, OFFSET_SK = 0, 40, 168
"""Offsets in `struct __sk_buff`."""
OFFSET_FAMILY = 4
"""Offset in `struct bpf_sock`."""
HELPER_SKB_CGROUP_ID = 79
TC_ACT_UNSPEC = -1
"""Go on as if there were no program."""
EGRESS = "ffff:fff3"
"""The handle of clsact's egress (TC_H_CLSACT, TC_H_MIN_EGRESS)."""
ETHERNET_BYTES = 14
LOOPBACK = 1
"""Index of lo in every namespace."""
COUNTS = struct.Struct("=QQ")
"""Packets and octets, from the IP header on or what is in its place."""
COUNTERS = ("routing_packets", "routing_bytes")
EMPTY_LIMIT_S, EMPTY_POLL_S = 5.0, 0.01
"""Seconds in which ended processes leave their group, and seconds between two checks."""


class Overhead:
    """The packets of the daemon at one station."""

    def __init__(self, station: str, namespaces: Namespaces) -> None:
        """Make the group, and count at all interfaces that the station has now. Raises
        `MissingTool` if the kernel has no control groups."""
        bpf.require_groups("counts of a routing daemon's packets")
        self._folder = groups() / station
        self._folder.mkdir(parents=True)
        self._map = bpf.made_map(COUNTS.size)
        bpf.attach(self._folder, _of_ip(self._map), TYPE_CGROUP_SKB, INET_EGRESS)
        self._watch_packet_sockets(station, namespaces)
        self._before = (0, 0)

    def _watch_packet_sockets(self, station: str, namespaces: Namespaces) -> None:
        # A group's number is that of its folder (kernfs).
        code = _of_packet_sockets(self._map, self._folder.stat().st_ino)
        program = bpf.loaded(code, TYPE_SCHED_CLS)
        with inside(station):
            found = [index for index, _ in socket.if_nameindex() if index != LOOPBACK]
        try:
            for index in found:
                netlink = namespaces.netlink(station)
                netlink.tc("add", "clsact", index)
                options = {"fd": program, "name": "routing", "classid": 1, "direct_action": True}
                netlink.tc("add-filter", "bpf", index, ":1", parent=EGRESS, **options)
        finally:
            os.close(program)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Child processes that start inside belong to the group."""
        before = bpf.came_from()
        bpf.enter(self._folder)
        try:
            yield
        finally:
            bpf.enter(before)

    def begin(self) -> None:
        """Count from now on."""
        self._before = self._read()

    def counts(self) -> dict[str, int]:
        """Return the counters of table `routing` since `begin`."""
        pairs = zip(self._read(), self._before, strict=True)
        return dict(zip(COUNTERS, (now - then for now, then in pairs), strict=True))

    def close(self) -> None:
        """End what is left of the daemon, and remove the group."""
        os.close(self._map)
        deadline_s = time.monotonic() + EMPTY_LIMIT_S
        (self._folder / "cgroup.kill").write_text("1", encoding="ascii")
        while (self._folder / "cgroup.procs").read_text(encoding="ascii"):
            if time.monotonic() > deadline_s:
                break
            time.sleep(EMPTY_POLL_S)
        self._folder.rmdir()
        with contextlib.suppress(OSError):  # other stations' groups are in it
            self._folder.parent.rmdir()

    def _read(self) -> tuple[int, int]:
        packets, octets = COUNTS.unpack(bpf.read_map(self._map, COUNTS.size))
        return packets, octets


def groups() -> Path:
    """Return the folder of this run's groups."""
    own = bpf.own_folder()
    return own.with_name(f"{own.name}-routing")


def _count(map_descriptor: int) -> bytes:
    """Return the instructions that count a packet of ``r8`` octets."""
    add = b"".join(
        (
            put(1, 1),
            instruction(0xDB, 0, 1, offset=0),  # *(u64 *)(r0 + 0) += r1, atomically
            instruction(0xDB, 0, 8, offset=8),  # *(u64 *)(r0 + 8) += r8
        )
    )
    return bpf.only_value(map_descriptor) + skip_if_equal(0, 0, add) + add


def _of_ip(map_descriptor: int) -> bytes:
    """Return the program that counts each packet to another host, and lets all go on."""
    count = load_word(8, 6, OFFSET_LEN) + _count(map_descriptor)
    return b"".join(
        (
            copy(6, 1),
            load_word(7, 6, OFFSET_IFINDEX),
            skip_if_equal(7, LOOPBACK, count),
            count,
            put(0, 1),
            instruction(0x95),
        )
    )


def _of_packet_sockets(map_descriptor: int, group: int) -> bytes:
    """Return the program that counts each packet of a packet socket of the group, and lets all go
    on."""
    count = b"".join(
        (
            load_word(8, 6, OFFSET_LEN),
            instruction(0x17, 8, value=ETHERNET_BYTES),  # r8 -= the header's octets
            _count(map_descriptor),
        )
    )
    of_group = b"".join(
        (
            copy(1, 6),
            bpf.call(HELPER_SKB_CGROUP_ID),
            copy(7, 0),
            skip_unless_wide(7, group, count),
            count,
        )
    )
    of_socket = b"".join(
        (
            load_word(1, 1, OFFSET_FAMILY),
            skip_unless_equal(1, socket.AF_PACKET, of_group),
            of_group,
        )
    )
    return b"".join(
        (
            copy(6, 1),
            load_double_word(1, 6, OFFSET_SK),
            skip_if_equal(1, 0, of_socket),
            of_socket,
            put(0, TC_ACT_UNSPEC),
            instruction(0x95),
        )
    )
