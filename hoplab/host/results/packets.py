# SPDX-License-Identifier: Apache-2.0
"""From the stations' captures to pcapng files, the table `packets` and the results of UDP flows."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import dpkt

from hoplab.host.results import rings
from hoplab.host.results.transport import (
    FRAGMENT_OFFSET,
    IPV6,
    IPV6_BYTES,
    MORE_FRAGMENTS,
    UDP_BYTES,
    header_bytes,
)
from hoplab.model.records import writer
from hoplab.model.scenario.plan import ANY, Capture, Conversation, Plan

LINKTYPES = {1: 1, 772: 1, 65534: 101, 801: 105, 803: 127}
"""Link types by an interface's ARPHRD_ type: Ethernet, loopback, none (IP), 802.11, radiotap."""
LINKTYPE_ETHERNET, LINKTYPE_SLL2 = 1, 276
TIMESTAMP_BYTES = 8
IPERF3_HEADER_BYTES = 12
PROTOCOL_UDP = 17
REASSEMBLY_S = 30.0
"""Seconds that Linux waits for the rest of a packet (ipfrag_time); identifications come again."""


def gather(out: Path, plan: Plan, realtime_epoch_ns: int) -> dict[str, dict[str, Any]]:
    """On the host, after the run: write ``captures/*.pcapng`` and ``raw/packets.jsonl``.

    Returns the results of each UDP flow, by name. ``realtime_epoch_ns`` is the date of scenario
    time 0. It turns the rings' time stamps into scenario time.
    """
    for capture in plan.captures:
        name = f"{capture.station}-{capture.interface}"
        source = out / "raw" / f"capture-{name}.ring"
        if source.exists():
            _to_pcapng(capture, source, out / "captures" / f"{name}.pcapng")
    (out / "raw" / "packets.jsonl").unlink(missing_ok=True)
    summaries = {}
    for conversation in plan.followed:
        packets = _match(out / "raw", conversation, realtime_epoch_ns)
        if plan.scenario.measure.packets:
            writer.write(out / "raw", "packets", map(Packet._asdict, packets), add=True)
        if conversation.flow.protocol == "udp":
            summaries[conversation.name] = _summary(conversation, packets)
    return summaries


def _to_pcapng(capture: Capture, source: Path, target: Path) -> None:
    seen = list(rings.packets(source))
    cooked = capture.interface == ANY
    hardware = seen[0].hardware if seen else 1
    linktype = LINKTYPE_SLL2 if cooked else LINKTYPES.get(hardware, LINKTYPE_ETHERNET)
    description = dpkt.pcapng.InterfaceDescriptionBlockLE(
        linktype=linktype,
        opts=[
            dpkt.pcapng.PcapngOptionLE(code=dpkt.pcapng.PCAPNG_OPT_IF_TSRESOL, data=b"\x09"),
            dpkt.pcapng.PcapngOptionLE(),
        ],
    )
    with target.open("wb") as output:
        output.write(bytes(dpkt.pcapng.SectionHeaderBlockLE()) + bytes(description))
        for packet in seen:
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

    key: Hashable
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


def _match(raw: Path, conversation: Conversation, epoch_ns: int) -> list[Packet]:
    flow, name = conversation.flow, conversation.name
    ends = [raw / f"packets-{name}-{end}.ring" for end in (flow.source, flow.destination)]
    if not all(path.exists() for path in ends):
        return []
    received: dict[Hashable, float] = {}
    for seen in _read(ends[1], epoch_ns):
        if seen.last_s is not None:
            received.setdefault(seen.key, seen.last_s)
    # If several interfaces show a packet, as a tunnel and the one below it do, the first counts.
    sent: dict[Hashable, Seen] = {}
    for seen in _read(ends[0], epoch_ns):
        sent.setdefault(seen.key, seen)
    return [
        Packet(
            name,
            seen.seq,
            seen.payload,
            round(seen.first_s, 9),
            None if (at := received.get(seen.key)) is None else round(at, 9),
            seen.identification,
        )
        for seen in sorted(sent.values(), key=lambda seen: seen.first_s)
        if flow.start_s <= seen.first_s <= conversation.stop_s
    ]


def _summary(conversation: Conversation, packets: list[Packet]) -> dict[str, Any]:
    stop_s = conversation.stop_s
    arrived = [p for p in packets if p.received_s is not None and p.received_s <= stop_s]
    delivered = sum(packet.bytes for packet in arrived)
    delays = [(p.received_s - p.sent_s) * 1e3 for p in arrived if p.received_s is not None]
    return {
        "sent": len(packets),
        "received": len(arrived),
        "lost": len(packets) - len(arrived),
        "delivered_bytes": delivered,
        "goodput_kbps": round(delivered * 8e-3 / (stop_s - conversation.flow.start_s), 3),
        "latency_ms_mean": round(sum(delays) / len(delays), 6) if delays else None,
    }
