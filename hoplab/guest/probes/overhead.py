# SPDX-License-Identifier: Apache-2.0
"""The packets that a user's routing daemon sends: its part of table `routing`.

Each daemon and its child processes are in a control group of their own. A BPF program of the group
(linux/bpf.h: BPF_PROG_TYPE_CGROUP_SKB) counts the IP packets that its sockets send, whatever the
protocol and the port. Packets of packet sockets (AF_PACKET) pass IP by, and do not count.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from hoplab.guest.system import bpf
from hoplab.guest.system.bpf import copy, instruction, load_word, put, skip_if_equal

TYPE_CGROUP_SKB, INET_EGRESS = 8, 1
OFFSET_LEN, OFFSET_IFINDEX = 0, 40
"""Offsets in `struct __sk_buff`."""
LOOPBACK = 1
"""Index of lo in every namespace."""
COUNTS = struct.Struct("=QQ")
"""Packets and octets, from the IP header on."""
COUNTERS = ("routing_packets", "routing_bytes")
EMPTY_LIMIT_S, EMPTY_POLL_S = 5.0, 0.01
"""Seconds in which ended processes leave their group, and seconds between two checks."""


class Overhead:
    """The packets of the daemon at one station."""

    def __init__(self, station: str) -> None:
        """Make the group. Raises `MissingTool` if the kernel has no control groups."""
        bpf.require_groups("counts of a routing daemon's packets")
        self._folder = groups() / station
        self._folder.mkdir(parents=True)
        self._map = bpf.made_map(COUNTS.size)
        bpf.attach(self._folder, _program(self._map), TYPE_CGROUP_SKB, INET_EGRESS)
        self._before = (0, 0)

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


def _program(map_descriptor: int) -> bytes:
    """Return the program that counts each packet to another host, and lets all go on."""
    add = b"".join(
        (
            put(1, 1),
            instruction(0xDB, 0, 1, offset=0),  # *(u64 *)(r0 + 0) += r1, atomically
            instruction(0xDB, 0, 8, offset=8),  # *(u64 *)(r0 + 8) += r8
        )
    )
    count = b"".join(
        (
            load_word(8, 6, OFFSET_LEN),
            bpf.only_value(map_descriptor),
            skip_if_equal(0, 0, add),
            add,
        )
    )
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
