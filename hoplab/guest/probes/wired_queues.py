# SPDX-License-Identifier: Apache-2.0
"""Read the queues at the ends of wired links and above radios, through rtnetlink.

The kernel's own counters of a discipline are the structures of linux/pkt_sched.h, as
TCA_STATS_APP.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.netlink import attributes
from hoplab.model.keys.queues import Queue
from hoplab.model.network.plan import Plan
from hoplab.model.records.writer import Records

TC_H_ROOT = 0xFFFFFFFF
"""Parent of a queueing discipline that is an interface's own (linux/pkt_sched.h)."""
OF_ROOT, OF_LEAF = 0x10001, 0x20001
"""Parent of the queue, and of its first child (`hoplab.guest.network.wired`)."""
RED = struct.Struct("=4I")
CODEL = struct.Struct("=4Ii4I")
FQ_CODEL = struct.Struct("=10I")
PIE = struct.Struct("=Q8I")
FQ_PIE = struct.Struct("=9I")
FQ = struct.Struct("=7Qq4IQ")
DUALPI2 = struct.Struct("=8I")
TIN_STATS = 10
TIN = {
    2: "packets",
    4: "drops",
    8: "marks",
    11: "backlog_bytes",
    19: "sojourn_us",
}
"""Attributes of a tin of CAKE (TCA_CAKE_TIN_STATS_…)."""
TINS = {3: ("bulk", "best-effort", "voice"), 4: ("bulk", "best-effort", "video", "voice")}
"""Names of tins by their number, as `tc` has them."""


class Part(NamedTuple):
    """A part of a queue: its row of `queue_parts`, but for time and place."""

    part: str
    packets: int
    backlog_packets: int | None = None
    backlog_bytes: int | None = None
    drops: int | None = None
    marks: int | None = None
    sojourn_ms: float | None = None


class Told(NamedTuple):
    """What a discipline tells beside the counters that all have."""

    marks: int | None = None
    sojourn_ms: float | None = None
    parts: tuple[Part, ...] = ()


def _red(told: bytes) -> Told:
    return Told(RED.unpack_from(told)[3])


def _codel(told: bytes) -> Told:
    values = CODEL.unpack_from(told)
    return Told(values[6] + values[8], values[3] / 1000)


def _fq_codel(told: bytes) -> Told:
    values = FQ_CODEL.unpack_from(told)
    return Told(values[3] + values[7])


def _pie(told: bytes) -> Told:
    values = PIE.unpack_from(told)
    return Told(values[8], values[1] / 1000)


def _fq_pie(told: bytes) -> Told:
    return Told(FQ_PIE.unpack_from(told)[4])


def _fq(told: bytes) -> Told:
    return Told(FQ.unpack_from(told)[12])


def _dualpi2(told: bytes) -> Told:
    _, classic_us, l4s_us, classic, l4s, _, marks, _ = DUALPI2.unpack_from(told)
    parts = (
        Part("l4s", l4s, sojourn_ms=l4s_us / 1000),
        Part("classic", classic, sojourn_ms=classic_us / 1000),
    )
    return Told(marks, max(classic_us, l4s_us) / 1000, parts)


def _cake(told: bytes) -> Told:
    stats = dict(attributes(memoryview(told)))
    tins = [_tin(tin) for _, tin in attributes(stats.get(TIN_STATS, memoryview(b"")))]
    names = TINS.get(len(tins)) or [f"tin{i}" for i in range(len(tins))]
    parts = tuple(
        Part(
            name,
            tin["packets"],
            backlog_bytes=tin["backlog_bytes"],
            drops=tin["drops"],
            marks=tin["marks"],
            sojourn_ms=tin["sojourn_us"] / 1000,
        )
        for name, tin in zip(names, tins, strict=True)
        if tin["packets"]
    )
    slowest_ms = max((part.sojourn_ms or 0.0 for part in parts), default=None)
    return Told(sum(tin["marks"] for tin in tins), slowest_ms, parts)


def _tin(tin: memoryview) -> dict[str, int]:
    found = dict.fromkeys(TIN.values(), 0)
    for number, value in attributes(tin):
        if number in TIN:
            found[TIN[number]] = int.from_bytes(value, "little")
    return found


READ: dict[str, Callable[[bytes], Told]] = {
    "red": _red,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "fq": _fq,
    "cake": _cake,
    "dualpi2": _dualpi2,
}
"""How to read what a discipline tells of itself."""


class WiredQueues:
    """Tables `queues` and `queue_parts`, from the disciplines of every end of a link and of radios
    with a queue above them."""

    def __init__(self, plan: Plan, namespaces: Namespaces, records: Records) -> None:
        self._records = records
        self._queues = plan.queues
        by_station: dict[str, dict[int, str]] = {}
        for station, interface in self._queues:
            index = namespaces.index(station, interface)
            by_station.setdefault(station, {})[index] = interface
        order = [name for name in plan.address if name in by_station]
        self._stations = [(name, namespaces.netlink(name), by_station[name]) for name in order]
        """Each station with queues, its netlink socket, and their interfaces by index."""

    def sample(self, t_s: float) -> None:
        """A row for every queue. The kernel lists the disciplines of all interfaces of a station,
        also when asked for those of one."""
        for station, netlink, interfaces in self._stations:
            found: dict[int, dict[int, Any]] = {}
            for qdisc in netlink.get_qdiscs():
                found.setdefault(qdisc["index"], {})[qdisc["parent"]] = qdisc
            for index, interface in interfaces.items():
                by_parent = found.get(index, {})
                if TC_H_ROOT in by_parent and OF_ROOT in by_parent:
                    self._add((station, interface), by_parent, round(t_s, 6))

    def _add(self, place: tuple[str, str], by_parent: dict[int, Any], t_s: float) -> None:
        root, leaf = by_parent[TC_H_ROOT], by_parent[OF_ROOT]
        counted = leaf.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")
        basic = root.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")
        told = Told()
        queue = self._queues[place]
        if queue.kind == "ets":
            told = Told(parts=tuple(_bands(queue, by_parent)))
        elif queue.kind in READ:
            own = leaf.get_attr("TCA_STATS2").get_attr("TCA_STATS_APP")
            told = READ[queue.kind](bytes.fromhex(own.replace(":", "")))
        marks = told.marks if queue.marks else None
        where = {"t_s": t_s, "node": place[0], "interface": place[1]}
        self._records.add(
            "queues",
            **where,
            backlog_packets=counted["qlen"],
            backlog_bytes=counted["backlog"],
            drops=counted["drops"],
            sent_packets=basic["packets"],
            marks=marks,
            sojourn_ms=told.sojourn_ms,
        )
        for part in told.parts:
            self._records.add("queue_parts", **where, **part._asdict())


def _bands(queue: Queue, by_parent: dict[int, Any]) -> Iterator[Part]:
    """Yield the bands of `ets`, each with a queue of its own."""
    for band in range(queue.band_count):
        child = by_parent.get(OF_LEAF + band)
        if child is None:
            continue
        stats = child.get_attr("TCA_STATS2")
        counted = stats.get_attr("TCA_STATS_QUEUE")
        packets = stats.get_attr("TCA_STATS_BASIC")["packets"] + counted["qlen"]
        yield Part(f"band{band}", packets, counted["qlen"], counted["backlog"], counted["drops"])
