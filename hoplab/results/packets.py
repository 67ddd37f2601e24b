# SPDX-License-Identifier: Apache-2.0
"""From the stations' captures to pcapng files, the table `packets` and what UDP flows came to."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import dpkt

from hoplab.scenario.plan import Conversation, Plan

SLL2_BYTES = 20
UDP_BYTES = 8
IPERF3_HEADER_BYTES = 12
PROTOCOL_UDP = 17


def gather(out: Path, plan: Plan, realtime_epoch_ns: int) -> dict[str, dict[str, Any]]:
    """On the host, after the run: write ``captures/*.pcapng`` and ``raw/packets.jsonl``.

    Returns what each UDP flow came to, by name. ``realtime_epoch_ns`` is the date of scenario
    time 0, by which tcpdump's time stamps become scenario time.
    """
    for path in sorted((out / "raw").glob("capture-*.pcap")):
        _to_pcapng(path, out / "captures" / f"{path.stem.removeprefix('capture-')}.pcapng")
    (out / "raw" / "packets.jsonl").unlink(missing_ok=True)
    summaries = {}
    for conversation in plan.followed:
        packets = _match(out / "raw", conversation, realtime_epoch_ns)
        if plan.scenario.measure.packets:
            with (out / "raw" / "packets.jsonl").open("a", encoding="utf-8") as file:
                for packet in packets:
                    file.write(json.dumps(packet._asdict()) + "\n")
        if conversation.flow.protocol == "udp":
            summaries[conversation.name] = _summary(conversation, packets)
    return summaries


def _to_pcapng(source: Path, target: Path) -> None:
    with source.open("rb") as file, target.open("wb") as output:
        reader = dpkt.pcap.Reader(file)
        description = dpkt.pcapng.InterfaceDescriptionBlockLE(
            linktype=reader.datalink(),
            opts=[
                dpkt.pcapng.PcapngOptionLE(code=dpkt.pcapng.PCAPNG_OPT_IF_TSRESOL, data=b"\x09"),
                dpkt.pcapng.PcapngOptionLE(),
            ],
        )
        output.write(bytes(dpkt.pcapng.SectionHeaderBlockLE()) + bytes(description))
        for stamp, data in reader:
            when = round(stamp * 1_000_000_000)
            block = dpkt.pcapng.EnhancedPacketBlockLE(
                ts_high=when >> 32,
                ts_low=when & 0xFFFFFFFF,
                caplen=len(data),
                pkt_len=len(data),
                pkt_data=data,
            )
            output.write(bytes(block))


class Packet(NamedTuple):
    """A packet of a flow; times in scenario seconds, ``received_s`` None when it got lost."""

    flow: str
    seq: int
    bytes: int
    sent_s: float
    received_s: float | None


@dataclass(frozen=True)
class _Seen:
    key: tuple[int, int]
    seq: int
    payload: int
    time_s: float


def _read(path: Path, epoch_ns: int) -> Iterator[_Seen]:
    """The flow's packets with payload in a capture, by what identifies them at both ends."""
    with path.open("rb") as file:
        try:
            reader = dpkt.pcap.Reader(file)
        except (ValueError, dpkt.dpkt.NeedData):
            return  # a capture that was cut before its first packet
        for stamp, data in reader:
            packet = data[SLL2_BYTES:]
            header = (packet[0] & 15) * 4
            total, identification = struct.unpack_from("!HH", packet, 2)
            time_s = float(stamp * 1_000_000_000 - epoch_ns) / 1e9
            if packet[9] == PROTOCOL_UDP:
                payload = total - header - UDP_BYTES
                if payload < IPERF3_HEADER_BYTES:
                    continue  # iperf3's greeting
                # iperf3 numbers its datagrams in the third word of the payload, after the time.
                (number,) = struct.unpack_from("!I", packet, header + UDP_BYTES + 8)
                yield _Seen((number, 0), number, payload, time_s)
            else:
                (sequence,) = struct.unpack_from("!I", packet, header + 4)
                payload = total - header - (packet[header + 12] >> 4) * 4
                if payload > 0:
                    # A retransmission has the sequence number, not the identification, again.
                    yield _Seen((sequence, identification), sequence, payload, time_s)


def _match(raw: Path, conversation: Conversation, epoch_ns: int) -> list[Packet]:
    flow, name = conversation.flow, conversation.name
    ends = [raw / f"packets-{name}-{end}.pcap" for end in (flow.source, flow.destination)]
    if not all(path.exists() for path in ends):
        return []
    received: dict[tuple[int, int], float] = {}
    for seen in _read(ends[1], epoch_ns):
        received.setdefault(seen.key, seen.time_s)
    # Of a packet that several interfaces show, as a tunnel and the one below it do, the first.
    sent: dict[tuple[int, int], _Seen] = {}
    for seen in _read(ends[0], epoch_ns):
        sent.setdefault(seen.key, seen)
    return [
        Packet(
            name,
            seen.seq,
            seen.payload,
            round(seen.time_s, 9),
            None if (at := received.get(seen.key)) is None else round(at, 9),
        )
        for seen in sent.values()
        if flow.start_s <= seen.time_s <= conversation.stop_s
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
