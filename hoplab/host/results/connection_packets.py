# SPDX-License-Identifier: Apache-2.0
"""Packets of measured programs that both ends have seen: one-way delays, and what got lost."""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hoplab.host.results import datagrams
from hoplab.host.results.connections import RECEIVING, SENDING, Found, name_of, stations_of
from hoplab.host.results.datagrams import Arrival
from hoplab.host.results.packets import NONE, Packet, Seen, of_tcp
from hoplab.host.results.transport import IPV6, UDP_BYTES, Carried, of_station
from hoplab.model.network.plan import Plan

Way = tuple[str, str, int, str, int]
"""Protocol, the sender and its port, the receiver and its port."""


class _Packets:
    """Packets of one way at one end, in columns: as objects they need ten times the memory."""

    def __init__(self) -> None:
        self.keys, self.seq, self.bytes = array("q"), array("q"), array("q")
        self.identification, self.at_s = array("q"), array("d")

    def add(self, seen: Seen) -> None:
        self.keys.append(hash(seen.key))
        self.seq.append(seen.seq)
        self.bytes.append(seen.payload)
        self.identification.append(NONE if seen.identification is None else seen.identification)
        self.at_s.append(seen.first_s)


class _Came(NamedTuple):
    """A packet at its receiver, with its place among the sent ones, None if the sender's station
    did not show it. ``is_sure`` is false if an equal one may be meant."""

    at_s: float
    bytes: int
    place: int | None
    is_sure: bool


class Course:
    """The packets of a connection in one direction, at both ends."""

    def __init__(self, is_of_datagrams: bool, sent: _Packets, received: _Packets) -> None:
        self.is_of_datagrams, self._sent = is_of_datagrams, sent
        self._came = list(_matched(sent, received))

    def packets(self, flow: str, duration_s: float) -> Iterator[Packet]:
        """Yield the packets that were sent from time 0 to ``duration_s``, for table `packets`. The
        number of a datagram is its place among them."""
        sent, arrived = self._sent, {one.place: one.at_s for one in self._came}
        within = (i for i, at_s in enumerate(sent.at_s) if 0 <= at_s <= duration_s)
        for number, i in enumerate(within):
            seq = number if self.is_of_datagrams else sent.seq[i]
            known = None if sent.identification[i] == NONE else sent.identification[i]
            yield Packet(flow, seq, sent.bytes[i], sent.at_s[i], arrived.get(i), known)

    def sent(self, duration_s: float) -> int:
        """Return how many were sent by then."""
        return sum(at_s <= duration_s for at_s in self._sent.at_s)

    def arrivals(self, duration_s: float) -> list[Arrival]:
        """Return those that came by then, numbered from 1 as they were sent."""
        found = []
        for one in self._came:
            if one.at_s > duration_s:
                continue
            number = delay_ms = None
            if one.place is not None:
                number = one.place + 1
                if one.is_sure:
                    delay_ms = 1e3 * (one.at_s - self._sent.at_s[one.place])
            found.append(Arrival(one.at_s, one.bytes, number, delay_ms))
        return found


def known(found: Found, courses: Mapping[str, Course], duration_s: float) -> Found:
    """Return ``found`` with what both ends say of its datagrams up to ``duration_s``."""
    by_udp = {name: course for name, course in courses.items() if course.is_of_datagrams}
    arrivals = {name: course.arrivals(duration_s) for name, course in by_udp.items()}
    sent = {name: course.sent(duration_s) for name, course in by_udp.items()}
    return replace(found, arrivals=found.arrivals | arrivals, sent=sent)


def rows(found: Found, interval_s: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of table `udp` of each connection and direction in which a datagram came."""
    for row in found.rows:
        for sign in (SENDING, RECEIVING):
            name = name_of(row, sign)
            came = found.arrivals.get(name)
            if row["protocol"] == "udp" and came and row["end_s"] is not None:
                stop_s = max([row["end_s"], *(one.at_s for one in came)])
                numbered = name in found.sent
                yield from datagrams.rows(name, came, row["start_s"], stop_s, interval_s, numbered)


def gather(
    out: Path, plan: Plan, found: Found, epoch_ns: int, datagrams_alone: bool = False
) -> dict[str, Course]:
    """Read, on the host, after the run, the packets of each connection whose ends both have
    programs, by the names of tables `tcp` and `udp`. ``epoch_ns`` is the date of scenario time 0.

    Several packets under way may be equal in all that was kept. If none of them was lost, they
    came in the order of their sending. Else the latest counts as arrived, so that no lost packet
    counts for a later one. Of a datagram in fragments the first one counts.
    """
    names = stations_of(plan)
    paths = {
        station: path
        for station in sorted({program.station for program in plan.scenario.program})
        if (path := out / "raw" / f"programs-{station}.ring").exists()
    }
    rows = [
        row
        for row in found.rows
        if row["peer"] in paths and (row["protocol"] == "udp" or not datagrams_alone)
    ]
    named = dict(_named(rows))
    wanted = set(named.values())
    sent: dict[Way, _Packets] = defaultdict(_Packets)
    received: dict[Way, _Packets] = defaultdict(_Packets)
    for station in sorted({row[end] for row in rows for end in ("node", "peer")}):
        for one in of_station(paths[station], plan, station, names, epoch_ns):
            way = _way(one, names)
            if way not in wanted:
                continue
            seen = _READERS[one.protocol](one.packet, one.header, one.t_s)
            if seen is not None:
                (sent if one.went_out else received)[way].add(seen)
    return {name: Course(way[0] == "udp", sent[way], received[way]) for name, way in named.items()}


def _named(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Way]]:
    for row in rows:
        here, there = (row["node"], row["port"]), (row["peer"], row["peer_port"])
        yield name_of(row, SENDING), (row["protocol"], *here, *there)
        yield name_of(row, RECEIVING), (row["protocol"], *there, *here)


def _way(one: Carried, names: dict[str, str]) -> Way:
    (source, port), (target, target_port) = one.source, one.target
    return one.protocol, names.get(source, source), port, names.get(target, target), target_port


def _matched(sent: _Packets, received: _Packets) -> Iterator[_Came]:
    under_way: dict[int, list[int]] = defaultdict(list)
    whole: dict[int, bool] = {}
    went = 0
    for key, at_s, octets in zip(received.keys, received.at_s, received.bytes, strict=True):
        while went < len(sent.keys) and sent.at_s[went] <= at_s:
            under_way[sent.keys[went]].append(went)
            went += 1
        candidates = under_way.get(key)
        if not candidates:
            yield _Came(at_s, octets, None, is_sure=False)
            continue
        sure, place = len(candidates) == 1, -1
        if not sure:
            if key not in whole:
                whole[key] = sent.keys.count(key) == received.keys.count(key)
            sure, place = whole[key], 0 if whole[key] else -1
        yield _Came(at_s, octets, candidates.pop(place), sure)
        if not candidates:
            del under_way[key]


def _of_udp(packet: bytes, header: int, time_s: float) -> Seen | None:
    """Return a datagram, or its first fragment, by the part that was kept. The checksum is
    excluded, because an interface may compute it later."""
    (length,) = struct.unpack_from("!H", packet, header + 4)
    payload = length - UDP_BYTES
    if payload <= 0:
        return None
    identification = None
    if packet[0] >> 4 != IPV6:
        (identification,) = struct.unpack_from("!H", packet, 4)
    key = identification, length, packet[header + UDP_BYTES :]
    return Seen(key, 0, payload, time_s, time_s, identification)


_READERS = {"tcp": of_tcp, "udp": _of_udp}
