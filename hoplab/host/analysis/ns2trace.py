# SPDX-License-Identifier: Apache-2.0
"""A run as ns-2's wireless trace, in the old format of the Monarch extensions (``CMUTrace``, ns-2
manual, "Trace support"; `docs/traces.md` has it field by field):

    s 2.000000000 _0_ AGT  --- 7 tcp 1460 [0 0 0 0] ------- [0:20001 3:5201 64 0] [10220 0] 0 0

Lines come from the tables `packets` (AGT), `frames` (RTR, MAC) and `events` (drops). Tables stay in
Arrow's form, and lines are made one after the other. Packets are kept until their identification
comes again, at most 2^16 of them between two ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from hoplab.host.analysis.trace import fields, not_of_run
from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.keys.routers import ROUTERS
from hoplab.model.keys.scenario import SETTINGS_OF
from hoplab.model.network.plan import Plan, plan

BATCH = 8192
"""Rows that are Python objects at a time."""
DEFAULT_TTL = 64
"""Linux's default."""
OVERHEAD_BYTES = 24 + 8 + 4
"""Octets of a frame around its packet: MAC header, LLC and SNAP, FCS (IEEE 802.11-2020 9.2)."""
EVERYBODY = -1
PROTOCOLS = {"tcp": 6, "udp": 17, "batman": 17, "babel": 17, "icmp": 1, "dsr": 48}
PROTOCOLS |= dict.fromkeys(ROUTERS, 17)
TYPES = {"udp": "cbr", "dsr": "DSR", "arp": "ARP", "icmp": "icmp", "other": "other"}
TYPES |= {name: name.upper() for name in ROUTERS}
"""ns-2's names for packets of a protocol; others are a "message"."""
CONTROL = {"rts": "RTS", "cts": "CTS", "ack": "ACK", "beacon": "BCN"}
OF_ROUTING = {
    "ttl": "TTL",
    "loop": "LOOP",
    "no-route": "NRTE",
    "send-buffer-timeout": "TOUT",
    "send-buffer-full": "IFQ",
    "queue-full": "IFQ",
    "link-broken": "CBK",
    "salvage-limit": "SAL",
    "arp": "ARP",
    "malformed": "ERR",
    "unknown-option": "FIL",
    "too-big": "FIL",
    "multicast": "OUT",
    "not-for-us": "OUT",
    "rebooting": "NRTE",
}
"""ns-2's reasons (trace/cmu-trace.h) for those of Hoplab's routing daemons."""
OF_RADIO = {
    "queue-full": ("IFQ", "IFQ"),
    "retry-limit": ("MAC", "RET"),
    "off": ("MAC", "SLP"),
    "refused": ("MAC", "STA"),
}
"""Level and reason of a frame that a radio gave up."""
OF_FATE = {
    "collided": "COL",
    "capture-lost": "COL",
    "weak": "ERR",
    "error-model": "ERR",
    "deaf": "BSY",
    "off": "SLP",
    "nobody": "DST",
}
"""Why a frame did not reach its receiver."""
SEND, BEGIN, END, DROP, RECEIVE = range(5)
"""Order of events at the same time."""
TABLE_OF = {
    SEND: "packets",
    BEGIN: "frames",
    END: "frames",
    DROP: "events",
    RECEIVE: "packets",
}
SENT = ("sent_s", "flow", "seq", "bytes", "packet_id", "uid")
RECEIVED = ("received_s", "flow", "seq", "bytes", "packet_id", "uid")
FRAME = (
    *("t_s", "until_s", "src", "dst", "kind", "bytes", "attempt", "fate", "protocol"),
    *("packet_src", "packet_dst", "packet_id", "ttl", "src_port", "dst_port", "seq", "ack"),
    "payload_bytes",
)


class Frame(NamedTuple):
    """The columns of table `frames` that lines need."""

    t_s: float
    until_s: float
    src: str
    dst: str | None
    kind: str
    bytes: int
    attempt: int
    fate: str
    protocol: str | None
    packet_src: str | None
    packet_dst: str | None
    packet_id: int | None
    ttl: int | None
    src_port: int | None
    dst_port: int | None
    seq: int | None
    ack: int | None
    payload_bytes: int | None


@dataclass
class Packet:
    """A packet under way."""

    uid: int
    kind: str
    source: int
    destination: int
    source_port: int
    destination_port: int
    number: str
    """ns-2's fields behind the IP header: sequence numbers."""
    flow: str | None
    hops: int = 0
    ttl: int = DEFAULT_TTL
    link: tuple[int, int] | None = None
    """Receiver and sender of the last frame that carried it."""
    is_followed: bool = False
    """Whether it is in the table `packets`."""


def lines(
    results: Results, flow: str | None = None, mac: bool = False
) -> Iterator[tuple[float, str]]:
    """Yield (time in s, line) in order of time. With ``flow``, only its packets and
    acknowledgements. With ``mac``, also every try of every frame.

    Raises `ResultsError` if the run kept neither packets nor frames, or has no such flow.
    """
    return _Trace(results, flow, mac).lines()


class _Trace:
    def __init__(self, results: Results, flow: str | None, mac: bool) -> None:
        measured = results.resolved.measure
        if not (measured.packets or measured.frames):
            raise ResultsError(
                f"{results.run_dir}: kept neither packets nor frames; run it again with --set "
                "measure.packets=true for AGT, --set measure.frames=true for RTR, IFQ and MAC"
            )
        if mac and not measured.frames:
            raise ResultsError(
                f"{results.run_dir}: kept no frames; run it again with --set measure.frames=true"
            )
        self.plan: Plan = plan(results.resolved)
        self.flows = {one.name: one for one in self.plan.conversations}
        if flow is not None and flow not in self.flows:
            there = ", ".join(self.flows) or "none"
            raise ResultsError(f"{results.run_dir}: no flow {flow!r}; there are: {there}")
        self.run_dir = results.run_dir
        self.flow, self.mac, self.has_frames = flow, mac, measured.frames
        self.nodes = {name: number for number, name in enumerate(self.plan.address)}
        self.at = {address: self.nodes[name] for name, address in self.plan.address.items()}
        self.at |= {address: self.nodes[name] for name, address in self.plan.address_6.items()}
        for cable in self.plan.cables:
            self.at.update({end.address: self.nodes[end.station] for end in cable.ends})
        self.by_ports = {}
        for one in self.flows.values():
            protocol = PROTOCOLS[one.flow.transport]
            there_back = (one.client_port, one.server_port), (one.server_port, one.client_port)
            self.by_ports.update({(protocol, *ports): one.name for ports in there_back})
        table = results.packets.sort_by("sent_s")
        self.packets = table.append_column("uid", pa.array(range(len(table)), pa.int64()))
        self.first = self._first_numbers()
        self.frames = results.frames
        self.events = results.events
        self.next_uid = len(table)
        self.known: dict[tuple[Any, ...], Packet] = {}
        self.in_service: dict[str, Packet | None] = {}
        """Contents of each sender's last frame."""
        self.has_arrived: dict[str, bool] = {}
        """For each sender, whether a try of that frame has reached its receiver."""

    def _first_numbers(self) -> dict[str, int]:
        """Return TCP's first sequence number of each flow: the number of its first packet."""
        first: dict[str, int] = {}
        for batch in self.packets.select(["flow", "seq"]).to_batches(BATCH):
            names, numbers = (column.to_pylist() for column in batch.columns)
            for name in set(names) - first.keys():
                first[name] = numbers[names.index(name)]
            if len(first) == len(self.flows):
                break
        return first

    def lines(self) -> Iterator[tuple[float, str]]:
        received = self.packets.filter(self.packets["received_s"].is_valid()).sort_by("received_s")
        ends = self.frames.sort_by("until_s")
        makers = {
            SEND: self._sent,
            BEGIN: self._begins,
            END: self._ends,
            DROP: self._dropped,
            RECEIVE: self._received,
        }
        every = heapq.merge(
            _rows(SEND, self.packets, SENT),
            _rows(BEGIN, self.frames, FRAME),
            _rows(END, ends, ("until_s", *FRAME)),
            _rows(DROP, self.events, ("t_s", "node", "source", "kind", "detail")),
            _rows(RECEIVE, received, RECEIVED),
        )
        for t_s, what, row in every:
            try:
                made = list(makers[what](row))
            except (LookupError, TypeError, ValueError) as error:
                table = TABLE_OF[what]
                raise not_of_run(self.run_dir, table, t_s, error) from None
            for line in made:
                yield t_s, line

    # AGT

    def _sent(self, row: tuple[Any, ...]) -> Iterator[str]:
        t_s, name, seq, size, identification, uid = row
        one = self.flows[name]
        protocol = PROTOCOLS[one.flow.transport]
        ends = (one.source_address, one.destination_address)
        packet = Packet(
            uid,
            "tcp" if protocol == PROTOCOLS["tcp"] else "cbr",
            self.at[ends[0]],
            self.at[ends[1]],
            one.client_port,
            one.server_port,
            self._number(name, seq),
            name,
            is_followed=True,
        )
        self._remember(packet, (protocol, *ends, identification))
        if self._wanted(packet):
            yield _line(At("s", t_s, packet.source, "AGT", size), packet)
            if self.has_frames:
                yield _line(At("r", t_s, packet.source, "RTR", size), packet)

    def _received(self, row: tuple[Any, ...]) -> Iterator[str]:
        t_s, name, seq, size, identification, uid = row
        one = self.flows[name]
        ends = (one.source_address, one.destination_address)
        ports = (one.client_port, one.server_port)
        protocol = PROTOCOLS[one.flow.transport]
        packet = self.known.get((protocol, *ends, identification, *ports))
        if packet is None or packet.uid != uid:  # its identification has come again
            kind = "tcp" if protocol == PROTOCOLS["tcp"] else "cbr"
            nodes = (self.at[ends[0]], self.at[ends[1]])
            packet = Packet(uid, kind, *nodes, *ports, self._number(name, seq), name)
        if self._wanted(packet):
            yield _line(At("r", t_s, packet.destination, "AGT", size), packet)

    def _number(self, name: str, seq: int) -> str:
        if self.flows[name].flow.protocol == "udp":
            return f"[{seq}]"
        return f"[{(seq - self.first[name]) % (1 << 32)} 0]"

    # RTR and MAC

    def _begins(self, row: tuple[Any, ...]) -> Iterator[str]:
        frame = Frame(*row)
        node = self.nodes[frame.src]
        if frame.kind in CONTROL:
            if self.mac and self.flow is None:
                yield self._control("s", frame.t_s, node, frame)
            return
        if frame.attempt == 1 or frame.src not in self.in_service:
            self.has_arrived[frame.src] = False
            self.in_service[frame.src] = self._carried(frame)
        packet = self.in_service[frame.src]
        if packet is None or not self._wanted(packet):
            return
        if frame.attempt == 1 and packet.kind != "ARP":
            op = "s" if packet.source == node else "f"
            size = frame.bytes - OVERHEAD_BYTES
            at = At(op, frame.t_s, node, "RTR", size)
            yield _line(at, packet, next_hop=self._receiver(frame))
        if self.mac:
            yield self._on_air("s", frame.t_s, node, frame, packet)

    def _ends(self, row: tuple[Any, ...]) -> Iterator[str]:
        frame = Frame(*row[1:])
        if frame.dst is None or frame.dst == "*":
            return  # no table says who received a broadcast
        node = self.nodes[frame.dst]
        if frame.kind in CONTROL:
            if self.mac and self.flow is None:
                why = OF_FATE.get(frame.fate)
                op = "r" if why is None else "D"
                yield self._control(op, frame.until_s, node, frame, why or "---")
            return
        packet = self.in_service.get(frame.src)
        if packet is None:
            return
        wanted = self._wanted(packet)
        if frame.fate != "delivered" or self.has_arrived.get(frame.src):
            if self.mac and wanted:
                why = OF_FATE.get(frame.fate, "DUP")
                yield self._on_air("D", frame.until_s, node, frame, packet, why)
            return
        self.has_arrived[frame.src] = True
        packet.hops += 1
        packet.link = node, self.nodes[frame.src]
        if not wanted:
            return
        if self.mac:
            yield self._on_air("r", frame.until_s, node, frame, packet)
        if packet.kind != "ARP":
            at = At("r", frame.until_s, node, "RTR", frame.bytes - OVERHEAD_BYTES)
            yield _line(at, packet)

    def _receiver(self, frame: Frame) -> int:
        return EVERYBODY if frame.dst in (None, "*") else self.nodes[frame.dst or ""]

    def _on_air(
        self, op: str, t_s: float, node: int, frame: Frame, packet: Packet, why: str = "---"
    ) -> str:
        link = self._receiver(frame), self.nodes[frame.src]
        return _line(At(op, t_s, node, "MAC", frame.bytes, why), packet, link, link[0])

    def _control(self, op: str, t_s: float, node: int, frame: Frame, why: str = "---") -> str:
        to = self._receiver(frame) % (1 << 32)
        kind, size, sender = CONTROL[frame.kind], frame.bytes, self.nodes[frame.src]
        return f"{op} {t_s:.9f} _{node}_ MAC {why:>4} 0 {kind} {size} [0 {to:x} {sender:x} 0] "

    def _carried(self, frame: Frame) -> Packet | None:
        """Return the packet in a frame, or None if the frame carries none."""
        if frame.protocol is None:
            return None
        # IPv6 has no identification, which would identify the packet at the next hop.
        if frame.packet_src is None or ":" in frame.packet_src:
            return self._new(frame, self.nodes[frame.src], EVERYBODY)
        protocol = PROTOCOLS.get(frame.protocol, 0)
        ends = (frame.packet_src, frame.packet_dst, frame.packet_id)
        ports = () if frame.src_port is None else (frame.src_port, frame.dst_port)
        packet = self.known.get((protocol, *ends, *ports))
        if packet is None or self._is_another(packet, frame):
            source, destination = (self.at.get(address or "", EVERYBODY) for address in ends[:2])
            packet = self._new(frame, source, destination)
            self._remember(packet, (protocol, *ends))
        packet.ttl = frame.ttl if frame.ttl is not None else packet.ttl
        return packet

    def _is_another(self, packet: Packet, frame: Frame) -> bool:
        """Return whether a frame that leaves its source is another packet with an earlier packet's
        identification. A packet that DSR sends again also has the same numbers."""
        if packet.is_followed or packet.source != self.nodes[frame.src]:
            return False
        return not packet.number or packet.number != self._numbers(frame)

    def _new(self, frame: Frame, source: int, destination: int) -> Packet:
        uid, self.next_uid = self.next_uid, self.next_uid + 1
        kind = TYPES.get(frame.protocol or "", "message")
        if frame.protocol == "tcp":
            kind = "tcp" if frame.payload_bytes else "ack"
        ports = (frame.src_port or 0, frame.dst_port or 0)
        name = self.by_ports.get((PROTOCOLS.get(frame.protocol or "", 0), *ports))
        return Packet(uid, kind, source, destination, *ports, self._numbers(frame), name)

    def _numbers(self, frame: Frame) -> str:
        """Return the numbers that ns-2 writes behind a packet of this kind. For an acknowledgement
        it is the acknowledged number. DSR's options are not in the table."""
        if frame.protocol == "dsr":
            return "0 [0 0] [0 0 0 0->0] [0 0 0 0->0]"
        if frame.protocol == "udp":
            return "[0]"
        if frame.protocol != "tcp" or frame.seq is None or frame.ack is None:
            return ""
        ports = (frame.src_port or 0, frame.dst_port or 0)
        name = self.by_ports.get((PROTOCOLS["tcp"], *ports))
        base = self.first.get(name or "", 0)
        acknowledges = name is not None and ports[0] == self.flows[name].server_port
        number = (frame.ack if acknowledges else frame.seq) - base
        return f"[{number % (1 << 32)} {number % (1 << 32) if acknowledges else 0}]"

    # Drops

    def _dropped(self, row: tuple[Any, ...]) -> Iterator[str]:
        t_s, station, source, kind, detail = row
        if kind != "drop" or source not in (*SETTINGS_OF, "medium"):
            return
        told = fields(detail)
        if source != "medium":
            level, why = "RTR", OF_ROUTING.get(told["cause"], "---")
        else:
            level, why = OF_RADIO.get(told["cause"], ("MAC", "---"))
        node = self.nodes[station]
        packet = self._told(told, node)
        if self._wanted(packet):
            size = int(told.get("bytes", 0))
            yield _line(At("D", t_s, node, level, size, why), packet)

    def _told(self, told: dict[str, str], node: int) -> Packet:
        """Return the packet that the detail of a drop at ``node`` describes."""
        if "src" not in told:
            uid, self.next_uid = self.next_uid, self.next_uid + 1
            kind = TYPES.get(told.get("kind", "other"), "message")
            return Packet(uid, kind, node, EVERYBODY, 0, 0, "", None)
        protocol = int(told["protocol"])
        key = (protocol, told["src"], told["dst"], int(told["id"]))
        client, server = (int(port) for port in told.get("ports", "0>0").split(">"))
        packet = self.known.get((*key, client, server) if "ports" in told else key)
        if packet is not None:
            return packet
        uid, self.next_uid = self.next_uid, self.next_uid + 1
        names = {number: name for name, number in reversed(PROTOCOLS.items())}
        kind = names.get(protocol, "other")
        flow = self.by_ports.get((protocol, client, server))
        kind = "tcp" if kind == "tcp" else TYPES.get(kind, "message")
        source, destination = (self.at.get(told[end], EVERYBODY) for end in ("src", "dst"))
        number = {"tcp": "[0 0]", "cbr": "[0]"}.get(kind, "")
        if kind == "tcp" and flow is not None and "seq" in told:
            number = self._number(flow, int(told["seq"]))
        packet = Packet(uid, kind, source, destination, client, server, number, flow)
        self._remember(packet, key)
        return packet

    def _remember(self, packet: Packet, key: tuple[Any, ...]) -> None:
        """Remember a packet with its ports, and without them for records that do not state
        ports."""
        self.known[key] = packet
        if packet.source_port or packet.destination_port:
            self.known[*key, packet.source_port, packet.destination_port] = packet

    def _wanted(self, packet: Packet) -> bool:
        return self.flow is None or packet.flow == self.flow


class At(NamedTuple):
    """An event of a packet: kind, time, node, level, the packet's size there, and the reason of a
    drop."""

    op: str
    t_s: float
    node: int
    level: str
    size: int
    why: str = "---"


def _line(
    at: At, packet: Packet, link: tuple[int, int] | None = None, next_hop: int | None = None
) -> str:
    """``link`` is receiver and sender of the frame, if these differ from the packet's last frame.
    ``next_hop`` is the node that will get the packet, if that is not its present node."""
    head = f"{at.op} {at.t_s:.9f} _{at.node}_ {at.level} {at.why:>4} {packet.uid} {packet.kind}"
    head += f" {at.size}"
    to, sender = link or packet.link or (0, 0)
    if packet.kind == "ARP":
        return f"{head} [0 {to % (1 << 32):x} {sender:x} 806] "
    known = link is not None or packet.link is not None
    mac = f"0 {to % (1 << 32):x} {sender:x} 800" if known else "0 0 0 0"
    line = (
        f"{head} [{mac}] ------- [{packet.source}:{packet.source_port} "
        f"{packet.destination}:{packet.destination_port} {packet.ttl} "
        f"{max(to if next_hop is None else next_hop, 0)}] "
    )
    if packet.kind in ("tcp", "ack", "cbr"):
        return f"{line}{packet.number} {packet.hops} 0"
    return line + packet.number


def _rows(
    what: int, table: pa.Table, names: tuple[str, ...]
) -> Iterator[tuple[float, int, tuple[Any, ...]]]:
    """Yield (time, what, row) of a table in order of its first column, a batch at a time."""
    for batch in table.select(list(dict.fromkeys(names))).to_batches(BATCH):
        columns = dict(zip(batch.schema.names, (c.to_pylist() for c in batch.columns), strict=True))
        for row in zip(*(columns[name] for name in names), strict=True):
            yield row[0], what, row
