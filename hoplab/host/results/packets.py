# SPDX-License-Identifier: Apache-2.0
"""From the stations' captures to pcapng files, the table `packets` and the results of UDP flows."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow, datagrams, rings
from hoplab.host.results.transport import (
    FRAGMENT_OFFSET,
    IPV6,
    IPV6_BYTES,
    MORE_FRAGMENTS,
    UDP_BYTES,
    header_bytes,
)
from hoplab.model import writing
from hoplab.model.network.plan import ANY, Capture, Conversation, Plan
from hoplab.model.records.schema import TABLES

LINKTYPES = {1: 1, 772: 1, 65534: 101, 801: 105, 803: 127}
"""Link types by an interface's ARPHRD_ type: Ethernet, loopback, none (IP), 802.11, radiotap."""
LINKTYPE_ETHERNET, LINKTYPE_SLL2 = 1, 276
TIMESTAMP_BYTES = 8
IPERF3_HEADER_BYTES = 12
PROTOCOL_UDP = 17
REASSEMBLY_S = 30.0
"""Seconds that Linux waits for the rest of a packet (ipfrag_time); identifications come again."""


@dataclass(frozen=True)
class Gathered:
    """What the captured packets say."""

    packets: pa.Table
    """Rows of table `packets`; none without ``measure.packets``."""
    udp: dict[str, dict[str, Any]]
    """The results of each UDP flow, by name."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    """Rows of table `udp` for flows whose receiver writes none: iperf3's."""


def gather(out: Path, plan: Plan, realtime_epoch_ns: int) -> Gathered:
    """On the host, after the run: write ``captures/*.pcapng``, evaluate the packets of flows.

    ``realtime_epoch_ns`` is the date of scenario time 0. It turns the rings' time stamps into
    scenario time.
    """
    for capture in plan.captures:
        name = f"{capture.station}-{capture.interface}"
        source = out / "raw" / f"capture-{name}.ring"
        if source.exists():
            _to_pcapng(capture, source, out / "captures" / f"{name}.pcapng")
    (out / "raw" / "packets.jsonl").unlink(missing_ok=True)
    found, udp = [arrow.empty("packets")], {}
    samples: list[dict[str, Any]] = []
    for conversation in plan.followed:
        packets = _match(out / "raw", conversation, realtime_epoch_ns)
        if plan.scenario.measure.packets:
            found.append(packets)
        if conversation.flow.protocol == "udp":
            udp[conversation.name] = _summary(conversation, packets)
        if conversation.flow.protocol == "udp" and conversation.is_iperf3:
            times = (conversation.flow.start_s, conversation.stop_s)
            interval_s = plan.scenario.measure.interval_s
            samples += datagrams.of_packets(conversation.name, packets, *times, interval_s)
    return Gathered(pa.concat_tables(found), udp, samples)


def _to_pcapng(capture: Capture, source: Path, target: Path) -> None:
    # It loads dozens of protocols, which only runs with packets need.
    import dpkt

    seen = rings.packets(source)
    first = next(seen, None)
    cooked = capture.interface == ANY
    hardware = 1 if first is None else first.hardware
    linktype = LINKTYPE_SLL2 if cooked else LINKTYPES.get(hardware, LINKTYPE_ETHERNET)
    description = dpkt.pcapng.InterfaceDescriptionBlockLE(
        linktype=linktype,
        opts=[
            dpkt.pcapng.PcapngOptionLE(code=dpkt.pcapng.PCAPNG_OPT_IF_TSRESOL, data=b"\x09"),
            dpkt.pcapng.PcapngOptionLE(),
        ],
    )
    with writing.new(target) as output:
        output.write(bytes(dpkt.pcapng.SectionHeaderBlockLE()) + bytes(description))
        for packet in () if first is None else chain([first], seen):
            header = packet.cooked if cooked else b""
            block = dpkt.pcapng.EnhancedPacketBlockLE(
                ts_high=packet.date_ns >> 32,
                ts_low=packet.date_ns & 0xFFFFFFFF,
                caplen=len(header) + len(packet.data),
                pkt_len=len(header) + packet.length,
                pkt_data=header + packet.data,
            )
            output.write(bytes(block))


class Packet(NamedTuple):
    """A packet of a flow. Times are in scenario seconds; ``received_s`` is None if it was lost."""

    flow: str
    seq: int
    bytes: int
    sent_s: float
    received_s: float | None
    packet_id: int | None


@dataclass(frozen=True)
class Seen:
    """A packet with payload at one end of its flow, with the fields that identify it at both
    ends."""

    key: tuple[Any, ...]
    seq: int
    """The sequence number; 0 for a datagram without a number."""
    payload: int
    first_s: float
    """When it came; for a packet in fragments, when its first one came."""
    last_s: float | None
    """When all of it had come; None if a fragment is missing."""
    identification: int | None
    """Identification from IPv4's header; IPv6 has none."""


@dataclass
class _Parts:
    """The fragments of a packet that have come."""

    first_s: float
    number: int | None = None
    payload: int = 0
    size: int | None = None
    """The packet's size, known from its last fragment."""
    bytes_at: dict[int, int] = field(default_factory=dict)
    last_s: float | None = None


def _read(path: Path, epoch_ns: int) -> Iterator[Seen]:
    """Yield the flow's packets with payload in a ring. Packets in fragments come at the capture's
    end."""
    parts: dict[int, list[_Parts]] = {}
    for kept in rings.packets(path):
        packet = kept.data
        time_s = float(kept.date_ns - epoch_ns) / 1e9
        header, is_ipv6 = header_bytes(packet), packet[0] >> 4 == IPV6
        identification, place = (None, 0) if is_ipv6 else struct.unpack_from("!HH", packet, 4)
        if place & (MORE_FRAGMENTS | FRAGMENT_OFFSET):
            _put_together(parts.setdefault(identification, []), packet, time_s)
        elif packet[6 if is_ipv6 else 9] == PROTOCOL_UDP:
            (length,) = struct.unpack_from("!H", packet, header + 4)
            payload = length - UDP_BYTES
            if payload >= IPERF3_HEADER_BYTES:  # less is iperf3's greeting
                number = _number(packet, header)
                yield Seen((number, 0), number, payload, time_s, time_s, identification)
        elif (segment := of_tcp(packet, header, time_s)) is not None:
            yield segment
    for identification, packets in parts.items():
        for whole in packets:
            if whole.number is not None:
                number = whole.number
                first_s, last_s = whole.first_s, whole.last_s
                yield Seen((number, 0), number, whole.payload, first_s, last_s, identification)


def of_tcp(packet: bytes, header: int, time_s: float) -> Seen | None:
    """Return a segment, from its IP header on, which is ``header`` octets long; None without
    payload.

    A retransmission has the same sequence number, and in IPv4 another identification. IPv6 has
    none, but there it has another timestamp (RFC 7323).
    """
    (sequence,) = struct.unpack_from("!I", packet, header + 4)
    options_end = header + (packet[header + 12] >> 4) * 4
    if packet[0] >> 4 == IPV6:
        total = IPV6_BYTES + struct.unpack_from("!H", packet, 4)[0]
        identification, mark = None, _timestamp(packet[header + 20 : options_end])
    else:
        total, identification = struct.unpack_from("!HH", packet, 2)
        mark = identification
    payload = total - options_end
    if payload <= 0:
        return None
    return Seen((sequence, mark), sequence, payload, time_s, time_s, identification)


def _timestamp(options: bytes) -> int:
    """Return TSval of TCP's options, 0 if there is none."""
    import dpkt  # as above

    for kind, value in dpkt.tcp.parse_opts(options):
        if kind == dpkt.tcp.TCP_OPT_TIMESTAMP and len(value) == TIMESTAMP_BYTES:
            return int(struct.unpack_from("!I", value)[0])
    return 0


def _number(packet: bytes, header: int) -> int:
    """Return iperf3's number of a datagram: the third word of the payload, after the time."""
    return int(struct.unpack_from("!I", packet, header + UDP_BYTES + 8)[0])


def _put_together(packets: list[_Parts], packet: bytes, time_s: float) -> None:
    """Add a fragment of UDP to its packet, by the identification (RFC 791)."""
    if not packets or time_s - packets[-1].first_s > REASSEMBLY_S:
        packets.append(_Parts(time_s))
    whole = packets[-1]
    header = header_bytes(packet)
    (total, _, place) = struct.unpack_from("!HHH", packet, 2)
    offset = (place & FRAGMENT_OFFSET) * 8
    if offset == 0:
        whole.number = _number(packet, header)
        (length,) = struct.unpack_from("!H", packet, header + 4)
        whole.payload = length - UDP_BYTES
    # By offset. If several interfaces show a fragment, the first counts.
    whole.bytes_at.setdefault(offset, total - header)
    if not place & MORE_FRAGMENTS:
        whole.size = offset + total - header
    if whole.last_s is None and whole.size == sum(whole.bytes_at.values()):
        whole.last_s = time_s


def _match(raw: Path, conversation: Conversation, epoch_ns: int) -> pa.Table:
    """Return the flow's rows of table `packets`, by the time when they were sent."""
    flow, name = conversation.flow, conversation.name
    ends = [raw / f"packets-{name}-{end}.ring" for end in (flow.source, flow.destination)]
    if not all(path.exists() for path in ends):
        return arrow.empty("packets")
    sent = _sent(_read(ends[0], epoch_ns))
    times = sent["first_s"]
    in_time = pc.and_(
        pc.greater_equal(times, arrow.scalar(flow.start_s)),
        pc.less_equal(times, arrow.scalar(conversation.stop_s)),
    )
    sent = sent.filter(in_time)
    sent = sent.take(pc.sort_indices(sent, [("first_s", "ascending"), ("place", "ascending")]))
    keys, at_s = array("q"), array("d")
    for seen in _read(ends[1], epoch_ns):
        if seen.last_s is not None:
            keys.extend(seen.key)
            at_s.append(seen.last_s)
    came_as = pc.index_in(sent["key"], value_set=_keys(keys))
    numbered = pc.not_equal(sent["identification"], arrow.scalar(NONE))
    columns = [
        pa.repeat(arrow.scalar(name), len(sent)),
        *(sent[column] for column in ("seq", "payload", "first_s")),
        arrow.numbers(at_s).take(came_as),
        pc.if_else(numbered, sent["identification"], pa.nulls(len(sent), pa.int64())),
    ]
    return pa.Table.from_arrays(columns, schema=arrow.schema(TABLES["packets"]))


NONE = -1
"""Stands for an identification that a packet does not have."""


def _sent(packets: Iterable[Seen]) -> pa.Table:
    """Return packets as a table, which as objects need ten times the memory. If several interfaces
    show a packet, as a tunnel and the one below it do, the first counts."""
    integers = ("seq", "payload", "identification", "place")
    keys, first_s, columns = array("q"), array("d"), [array("q") for _ in integers]
    for place, seen in enumerate(packets):
        keys.extend(seen.key)
        first_s.append(seen.first_s)
        identification = NONE if seen.identification is None else seen.identification
        for column, value in zip(
            columns, (seen.seq, seen.payload, identification, place), strict=True
        ):
            column.append(value)
    arrays = {name: arrow.numbers(of) for name, of in zip(integers, columns, strict=True)}
    table = pa.table({"key": _keys(keys), "first_s": arrow.numbers(first_s), **arrays})
    # Arrow tells a key's first place.
    first = pc.index_in(table["key"], value_set=table["key"].combine_chunks())
    return table.filter(pc.equal(first, table["place"]))


def _keys(pairs: array[int]) -> pa.Array:
    """Return pairs of numbers as values that can be compared."""
    return pa.Array.from_buffers(pa.binary(16), len(pairs) // 2, [None, pa.py_buffer(pairs)])


def _summary(conversation: Conversation, packets: pa.Table) -> dict[str, Any]:
    stop_s = conversation.stop_s
    arrived = packets.filter(pc.less_equal(packets["received_s"], arrow.scalar(stop_s)))
    delivered = pc.sum(arrived["bytes"]).as_py() or 0
    arrived = arrived.take(pc.sort_indices(arrived, [("received_s", "ascending")]))
    delays_s = pc.subtract(arrived["received_s"], arrived["sent_s"])
    times_ms = pc.multiply(delays_s, arrow.scalar(1e3)).to_pylist()
    return {
        "sent": len(packets),
        "received": len(arrived),
        "lost": len(packets) - len(arrived),
        "delivered_bytes": delivered,
        "goodput_kbps": round(delivered * 8e-3 / (stop_s - conversation.flow.start_s), 3),
        **datagrams.delays(times_ms),
        "jitter_ms": datagrams.jitter_ms(times_ms),
    }
