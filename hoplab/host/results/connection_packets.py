# SPDX-License-Identifier: Apache-2.0
"""One-way delays of measured programs (`measure.packets`), from packets that both ends have
seen."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from pathlib import Path

from hoplab.host.results.connections import Found, stations_of
from hoplab.host.results.packets import Packet, Seen, of_tcp
from hoplab.host.results.transport import IPV6, UDP_BYTES, Carried, of_station
from hoplab.model.scenario.plan import Plan

Way = tuple[str, str, int, str, int]
"""Protocol, the sender and its port, the receiver and its port."""


def gather(out: Path, plan: Plan, found: Found, epoch_ns: int) -> Iterator[Packet]:
    """Read, on the host, after the run, the packets of each connection whose ends both have
    programs.

    Names are as in table `tcp`. Several packets under way may be equal in all that was kept. The
    latest of them counts as arrived, so that no lost packet counts for a later one. Of a datagram
    in fragments the first one counts.
    """
    names = stations_of(plan)
    sent: dict[Way, list[Seen]] = defaultdict(list)
    received: dict[Way, list[Seen]] = defaultdict(list)
    looked_at = set()
    for station in sorted({program.station for program in plan.scenario.program}):
        path = out / "raw" / f"programs-{station}.ring"
        if path.exists():
            looked_at.add(station)
            for one in of_station(path, plan, station, names, epoch_ns):
                seen = _READERS[one.protocol](one.packet, one.header, one.t_s)
                if seen is not None:
                    (sent if one.went_out else received)[_way(one, names)].append(seen)
    named: dict[str, Way] = {}
    for row in found.rows:
        here, there = (row["node"], row["port"]), (row["peer"], row["peer_port"])
        if row["peer"] in looked_at:
            ends = f"{row['flow']}:{row['port']}", f"{row['peer']}:{row['peer_port']}"
            named[">".join(ends)] = (row["protocol"], *here, *there)
            named["<".join(ends)] = (row["protocol"], *there, *here)
    for name, way in named.items():
        within = [seen for seen in sent[way] if 0 <= seen.first_s <= plan.scenario.duration_s]
        yield from _matched(name, way[0] == "udp", within, received[way])


def _way(one: Carried, names: dict[str, str]) -> Way:
    (source, port), (target, target_port) = one.source, one.target
    return one.protocol, names.get(source, source), port, names.get(target, target), target_port


def _matched(name: str, is_udp: bool, sent: list[Seen], received: list[Seen]) -> Iterator[Packet]:
    arrived: dict[int, float] = {}
    under_way: dict[Hashable, list[int]] = defaultdict(list)
    went = deque(enumerate(sent))
    for come in received:
        while went and went[0][1].first_s <= come.first_s:
            number, one = went.popleft()
            under_way[one.key].append(number)
        if under_way[come.key]:
            arrived[under_way[come.key].pop()] = come.first_s
    for number, one in enumerate(sent):
        seq, at_s = number if is_udp else one.seq, arrived.get(number)
        yield Packet(name, seq, one.payload, one.first_s, at_s, one.identification)


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
