# SPDX-License-Identifier: Apache-2.0
"""From the packets at the stations of measured programs: a summary of each connection."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import datagrams
from hoplab.host.results.datagrams import Arrival
from hoplab.host.results.lifetimes import EVER, lines, of_programs
from hoplab.host.results.round_trips import RoundTrips
from hoplab.host.results.transport import IPV6, IPV6_BYTES, UDP_BYTES, Carried, of_station
from hoplab.model.network.plan import Plan

FIN, SYN, ACK = 1, 2, 16
NOBODY = "0.0.0.0"
SENDING, RECEIVING = ">", "<"
"""Directions of a connection, from its program's side, in names."""
UNKNOWN = "?"
"""A name that no program has."""
Key = tuple[str, int, str, int]
"""Protocol, port at the station, address and port of the other end."""


@dataclass
class _Half:
    """The payload of TCP in one direction. Sequence numbers count from its first octet."""

    base: int | None = None
    """Sequence number of the first octet of payload."""
    next: int = 0
    """Octets received without a gap."""
    beyond: list[tuple[int, int]] = field(default_factory=list)
    """Payload beyond a gap: begin and end."""
    acknowledged: int = 0
    end: int | None = None
    """The place of the FIN."""

    def place(self, sequence: int) -> int:
        """Return the place of a sequence number, which wraps, near those already seen."""
        if self.base is None:
            self.base = sequence
        seen = max(self.next, self.acknowledged)
        offset = (sequence - self.base - seen + (1 << 31)) % (1 << 32) - (1 << 31)
        return seen + offset

    def came(self, begin: int, end: int) -> bool:
        """Add payload from ``begin`` to ``end``. Returns whether some of it is new."""
        if end <= self.next or any(a <= begin and end <= b for a, b in self.beyond):
            return False
        begin = max(begin, self.next)
        # Join it with the parts that it touches.
        apart = [(a, b) for a, b in self.beyond if b < begin or a > end]
        touched = [pair for pair in self.beyond if pair not in apart]
        begin, end = min([begin, *(a for a, _ in touched)]), max([end, *(b for _, b in touched)])
        if begin == self.next:
            self.next = end
        else:
            apart.append((begin, end))
        self.beyond = sorted(apart)
        return True

    def acknowledge(self, place: int) -> bool:
        """Acknowledge everything before ``place``. Returns whether this covers new payload."""
        upto = place if self.end is None else min(place, self.end)
        if upto <= self.acknowledged:
            return False
        self.acknowledged = upto
        return True


@dataclass
class Connection:
    """A connection of a station, from its packets. Times are scenario time in s."""

    key: Key
    start_s: float
    first_octet_s: float | None = None
    end_s: float | None = None
    received_packets: int = 0
    sent_packets: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    round_trips: RoundTrips = field(default_factory=RoundTrips)
    """Only for UDP, because TCP's sockets measure theirs; so are its arrivals."""
    arrivals: list[Arrival] = field(default_factory=list)
    _in: _Half = field(default_factory=_Half)
    _out: _Half = field(default_factory=_Half)
    _opened: dict[bool, int] = field(default_factory=dict)
    """Sequence numbers of the SYNs; the key says whether it was sent from here."""

    def is_new(self, went_out: bool, packet: bytes, header: int) -> bool:
        """Return whether a packet begins another connection between the same ports."""
        if self.key[0] != "tcp" or not packet[header + 13] & SYN:
            return False
        (sequence,) = struct.unpack_from("!I", packet, header + 4)
        return bool(self._opened.get(went_out, sequence) != sequence)

    def add(self, t_s: float, went_out: bool, packet: bytes, header: int) -> None:
        """Add a packet, from its IP header on, which is ``header`` octets long."""
        if self.key[0] == "udp":
            (length,) = struct.unpack_from("!H", packet, header + 4)
            self._count(t_s, went_out, max(0, length - UDP_BYTES))
            self.round_trips.add(t_s, went_out, packet[header + UDP_BYTES :])
            self.end_s = t_s
            if went_out:
                self.sent_bytes += max(0, length - UDP_BYTES)
            else:
                self.received_bytes += max(0, length - UDP_BYTES)
                if length > UDP_BYTES:
                    self.arrivals.append(Arrival(t_s, length - UDP_BYTES))
            return
        if packet[0] >> 4 == IPV6:
            total = IPV6_BYTES + struct.unpack_from("!H", packet, 4)[0]
        else:
            (total,) = struct.unpack_from("!H", packet, 2)
        sequence, acknowledged = struct.unpack_from("!II", packet, header + 4)
        flags = packet[header + 13]
        payload = total - header - (packet[header + 12] >> 4) * 4
        near, far = (self._out, self._in) if went_out else (self._in, self._out)
        if flags & SYN:
            self._opened[went_out] = sequence
            near.base = (sequence + 1) % (1 << 32)
        place = near.place(sequence)
        if payload > 0:
            self._count(t_s, went_out, payload)
            if near.came(place, place + payload) and not went_out:
                self.end_s = t_s
        if flags & FIN:
            near.end = place + payload
        if (
            flags & ACK
            and far.base is not None
            and far.acknowledge(far.place(acknowledged))
            and not went_out
        ):
            self.end_s = t_s
        self.received_bytes, self.sent_bytes = self._in.next, self._out.acknowledged

    def _count(self, t_s: float, went_out: bool, payload: int) -> None:
        if payload <= 0:
            return
        if went_out:
            self.sent_packets += 1
            return
        self.received_packets += 1
        if self.first_octet_s is None:
            self.first_octet_s = t_s


@dataclass(frozen=True)
class Found:
    """The connections of measured programs, as rows. ``unknown`` counts a station's connections
    that could belong to any program, because they were shorter than a sample's interval."""

    rows: list[dict[str, Any]]
    unknown: dict[str, int]
    round_trips_ms: dict[str, list[float]] = field(default_factory=dict)
    """Round-trip times of UDP, by program."""
    arrivals: dict[str, list[Arrival]] = field(default_factory=dict)
    """Datagrams that came, by connection and direction, as table `udp` names them. Numbers and
    delays are known where both ends were seen."""
    sent: dict[str, int] = field(default_factory=dict)
    """Datagrams sent, by the same names, where both ends were seen."""

    def warnings(self) -> list[str]:
        return [
            f"{count} connections at {station} were too short to tell whose they are, and count "
            "for no program; lower measure.interval_s or give each program a station"
            for station, count in sorted(self.unknown.items())
        ]


def gather(out: Path, plan: Plan, realtime_epoch_ns: int) -> Found:
    """Return, on the host, after the run, the rows of table `connections`."""
    owners = _owners(out / "raw" / "sockets.jsonl")
    times_of = of_programs(out)
    names = stations_of(plan)
    rows: list[dict[str, Any]] = []
    unknown: dict[str, int] = {}
    round_trips_ms: dict[str, list[float]] = {}
    arrivals: dict[str, list[Arrival]] = {}
    own_ports = {port for c in plan.conversations for port in (c.client_port, c.server_port)}
    measured = [program for program in plan.scenario.program if program.measure]
    for station in sorted({program.station for program in measured}):
        here = [p.name for p in plan.scenario.program if p.station == station]
        path = out / "raw" / f"programs-{station}.ring"
        if not path.exists():
            continue
        packets = of_station(path, plan, station, names, realtime_epoch_ns)
        for connection in _connections(packets, plan.scenario.duration_s):
            protocol, port, peer, peer_port = connection.key
            if {port, peer_port} & own_ports:
                continue
            owner = _owner(owners, station, connection.key)
            if owner == UNKNOWN:
                lasted = [p for p in here if times_of.get(p, EVER).includes(connection.start_s)]
                owner = lasted[0] if len(lasted) == 1 else UNKNOWN
            if owner == UNKNOWN:
                unknown[station] = unknown.get(station, 0) + 1
            elif any(owner == program.name for program in measured):
                times = connection.round_trips.ms
                round_trips_ms.setdefault(str(owner), []).extend(times)
                row = {
                    "flow": owner,
                    "protocol": protocol,
                    "node": station,
                    "port": port,
                    "peer": names.get(peer, peer),
                    "peer_port": peer_port,
                    "start_s": connection.start_s,
                    "first_octet_s": connection.first_octet_s,
                    "end_s": connection.end_s,
                    "received_bytes": connection.received_bytes,
                    "sent_bytes": connection.sent_bytes,
                    "received_packets": connection.received_packets,
                    "sent_packets": connection.sent_packets,
                    "rtt_ms_min": round(min(times), 6) if times else None,
                    "rtt_ms_mean": mean_ms(times),
                }
                rows.append(row)
                if connection.arrivals:
                    arrivals[name_of(row, RECEIVING)] = connection.arrivals
    rows.sort(key=lambda row: (row["start_s"], row["flow"], row["port"], row["peer_port"]))
    return Found(rows, unknown, round_trips_ms, arrivals)


def name_of(row: Mapping[str, Any], sign: str) -> str:
    """Return the name that a row of table `connections` has in tables `tcp` and `udp`, in the
    direction of `SENDING` or `RECEIVING`."""
    return f"{row['flow']}:{row['port']}{sign}{row['peer']}:{row['peer_port']}"


def stations_of(plan: Plan) -> dict[str, str]:
    """Return the station of every address."""
    names = {address: name for name, address in plan.address.items()}
    names |= {address: name for name, address in plan.address_6.items()}
    names |= {end.address: name for name, ends in plan.ends.items() for end in ends}
    names |= {end.address_6: name for name, ends in plan.ends.items() for end in ends}
    return names


def mean_ms(times: list[float]) -> float | None:
    """Return the mean to the nanosecond, None of no times."""
    return round(math.fsum(times) / len(times), 6) if times else None


def _connections(packets: Iterable[Carried], duration_s: float) -> list[Connection]:
    going: dict[Key, Connection] = {}
    found: list[Connection] = []
    for one in packets:
        if one.t_s > duration_s:
            continue
        near, far = (one.source, one.target) if one.went_out else (one.target, one.source)
        key: Key = (one.protocol, near[1], *far)
        connection = going.get(key)
        if connection is None or connection.is_new(one.went_out, one.packet, one.header):
            connection = going[key] = Connection(key, one.t_s)
            found.append(connection)
        connection.add(one.t_s, one.went_out, one.packet, one.header)
    return found


def _owners(path: Path) -> dict[tuple[str, Key], str | None]:
    """Return the lab's notes on sockets. Lines in another form are left out."""
    found: dict[tuple[str, Key], str | None] = {}
    for told in lines(path):
        try:
            key: Key = (
                str(told["protocol"]),
                int(told["port"]),
                str(told["peer"]),
                int(told["peer_port"]),
            )
            name = told["program"]
            found[str(told["node"]), key] = None if name is None else str(name)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _owner(owners: Mapping[tuple[str, Key], str | None], station: str, key: Key) -> str | None:
    """Return the owner of the socket with these ends, or of a socket that waited for such
    connections. None if it was no program's, and `UNKNOWN` if no sample saw it."""
    protocol, port, _, _ = key
    waiting = owners.get((station, (protocol, port, NOBODY, 0)), UNKNOWN)
    return owners.get((station, key), waiting)


def flows(plan: Plan, found: Found, samples: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield, for each measured program, the known columns of table `flows`: by TCP if the program
    uses it, else by UDP."""
    for program in plan.scenario.program:
        if not program.measure:
            continue
        mine = [row for row in found.rows if row["flow"] == program.name]
        by_tcp = [row for row in mine if row["protocol"] == "tcp"]
        received, sent = (
            sum(row[way] for row in by_tcp or mine) for way in ("received_bytes", "sent_bytes")
        )
        takes = received >= sent
        peer = _main_peer(by_tcp or mine, "received_bytes" if takes else "sent_bytes")
        ends = (peer or program.station, program.station)
        start_s = min((row["start_s"] for row in mine), default=program.begin_s)
        stop_s = max((row["end_s"] for row in mine if row["end_s"] is not None), default=start_s)
        first_octets = (row["first_octet_s"] for row in by_tcp or mine)
        is_udp = bool(mine) and not by_tcp
        row: dict[str, Any] = {
            "flow": program.name,
            "protocol": "udp" if is_udp else "tcp",
            "src": ends[0] if takes else ends[1],
            "dst": ends[1] if takes else ends[0],
            "start_s": start_s,
            "stop_s": stop_s,
            "first_octet_s": min((s for s in first_octets if s is not None), default=None),
        }
        if is_udp:
            row["rtt_ms_mean"] = mean_ms(found.round_trips_ms.get(program.name, []))
            yield row | _of_datagrams(mine, takes, row, found)
            continue
        samples_of = _of_sockets(f"{program.name}:", RECEIVING if takes else SENDING, samples)
        yield row | samples_of | _rate(max(received, sent), stop_s - start_s)


def _rate(delivered: int, going_s: float) -> dict[str, Any]:
    rate_kbps = round(delivered * 8e-3 / going_s, 3) if going_s > 0 else 0.0
    return {"delivered_bytes": delivered, "goodput_kbps": rate_kbps}


def _of_datagrams(
    rows: Sequence[dict[str, Any]], takes: bool, flow: Mapping[str, Any], found: Found
) -> dict[str, Any]:
    """Return the values of a program by UDP, in the direction in which it ``takes`` or gives most.
    Losses and delays are known where both ends of all its connections were seen."""
    sign, here = (RECEIVING, "received") if takes else (SENDING, "sent")
    mine = [row for row in rows if row[f"{here}_packets"]]
    names = [name_of(row, sign) for row in mine]
    counted = {here: sum(row[f"{here}_packets"] for row in mine)}
    if not mine or not all(name in found.sent for name in names):
        if not takes:
            return counted  # the sender of a datagram does not learn of its fate
        return counted | _rate(
            sum(row["received_bytes"] for row in mine), flow["stop_s"] - flow["start_s"]
        )
    courses = [found.arrivals.get(name, []) for name in names]
    came = list(chain.from_iterable(courses))
    delays_ms = [[one.delay_ms for one in course if one.delay_ms is not None] for course in courses]
    sent = sum(found.sent[name] for name in names)
    stop_s = max([flow["stop_s"], *(one.at_s for one in came)])
    return {
        "stop_s": stop_s,
        **_rate(sum(one.bytes for one in came), stop_s - flow["start_s"]),
        **{"sent": sent, "received": len(came), "lost": max(0, sent - len(came))},
        **datagrams.delays(list(chain.from_iterable(delays_ms))),
        "jitter_ms": datagrams.jitter_ms(*delays_ms),
    }


def _main_peer(rows: list[dict[str, Any]], way: str) -> str | None:
    """Return the peer with which most octets were exchanged, in one direction."""
    by_peer: dict[str, int] = {}
    for row in rows:
        by_peer[row["peer"]] = by_peer.get(row["peer"], 0) + row[way]
    return max(by_peer, key=lambda name: by_peer[name], default=None)


def _of_sockets(prefix: str, sign: str, samples: pa.Table) -> dict[str, Any]:
    """Return the values from the sending sockets, of all connections together."""
    names = samples["flow"]
    mine = samples.filter(pc.and_(pc.starts_with(names, prefix), pc.match_substring(names, sign)))
    if len(mine) == 0:
        return {}
    flows, retransmits, timeouts, rtts = (
        mine[name].to_pylist() for name in ("flow", "retransmits", "timeouts", "rtt_ms")
    )
    last = dict(zip(flows, zip(retransmits, timeouts, strict=True), strict=True)).values()
    counted = all(number is not None for _, number in last)
    return {
        "retransmits": sum(number for number, _ in last),
        "timeouts": sum(number for _, number in last) if counted else None,
        "rtt_ms_mean": round(sum(rtts) / len(rtts), 3),
    }
