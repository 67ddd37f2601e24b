# SPDX-License-Identifier: Apache-2.0
"""The documents of `hoplab-traffic` for the two ends of a flow (`daemons/traffic`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.guest.system.processes import program
from hoplab.model.keys import documents
from hoplab.model.keys.resolved import (
    AnyFlow,
    CallFlow,
    MptcpFlow,
    PingFlow,
    RequestFlow,
    TcpFlow,
    UdpFlow,
)
from hoplab.model.keys.traffic import Draw
from hoplab.model.keys.variants import kernel_congestion_control
from hoplab.model.network.plan import Conversation
from hoplab.model.streams import stream_seed


@dataclass(frozen=True)
class Ends:
    """Writes the documents of a run's flows."""

    out: Path
    epoch_ns: int
    """CLOCK_MONOTONIC at time 0."""
    interval_s: float
    """Between rows of table `udp`."""
    home: str
    """Where an end runs, and what starts it (`hoplab.model.keys.stations.Network.routing`)."""

    def server(self, conversation: Conversation) -> list[str]:
        """Return the command of the end at the flow's destination."""
        return self._command(conversation, "server", *self._serving(conversation))

    def client(self, conversation: Conversation) -> list[str]:
        """Return the command of the end at the flow's source. It stays when all has been sent."""
        return self._command(conversation, "client", *self._asking(conversation))

    def _serving(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        flow = conversation.flow
        own = {"own": _end(conversation.destination_address, conversation.server_port)}
        marked = {**own, "traffic_class": _class(conversation)}
        if isinstance(flow, UdpFlow):
            times = {
                "begin_ns": self._ns(flow.start_s),
                "end_ns": self._ns(conversation.stop_s),
                "interval_ns": documents.nanoseconds(self.interval_s),
            }
            return "udp_receive", {**own, "rows": self._rows(conversation, "udp"), **times}
        if isinstance(flow, CallFlow):
            return "call", {**marked, **self._calling(conversation, flow, from_source=False)}
        if isinstance(flow, RequestFlow):
            return "respond", {**marked, **_sizes(conversation, flow)}
        counted = None
        if isinstance(flow, TcpFlow) and flow.counted_bytes is not None:
            report = self.out / "raw" / f"counted-{conversation.name}.json"
            counted = {"octets": flow.counted_bytes, "report": str(report)}
        return "tcp_receive", {**marked, "counted": counted, "multipath": _is_multipath(flow)}

    def _asking(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        flow = conversation.flow
        both: dict[str, Any] = {
            "own": _end(conversation.source_address, conversation.client_port),
            "to": _end(conversation.destination_address, conversation.server_port),
            "traffic_class": _class(conversation),
        }
        if isinstance(flow, UdpFlow):
            return "udp_send", {**both, **_datagrams(conversation, flow)}
        if isinstance(flow, TcpFlow):
            return "tcp_send", {**both, **_transfer(flow)}
        if isinstance(flow, CallFlow):
            return "call", {**both, **self._calling(conversation, flow, from_source=True)}
        both["rows"] = self._rows(conversation, "exchanges")
        both["end_ns"] = self._ns(conversation.stop_s)
        if isinstance(flow, PingFlow):
            return "ping", {**both, **_echoes(conversation, flow)}
        think = {"think": _draw(flow.think), "transactions": flow.transactions}
        return "request", {**both, **_sizes(conversation, flow), **think}

    def _calling(
        self, conversation: Conversation, flow: CallFlow, from_source: bool
    ) -> dict[str, Any]:
        """Return the values of an end of a call. Its rows are of the other end's frames."""
        far = conversation.destination_address, conversation.server_port
        if not from_source:
            far = conversation.source_address, conversation.client_port
        rows = self._rows(conversation, "exchanges")
        if from_source:
            back = self.out / "raw" / f"exchanges-{conversation.name}.back.jsonl"
            rows |= {"flow": f"{conversation.name}<", "table": str(back)}
        return {
            "to": _end(*far),
            "rows": rows,
            "most_bps": 1000 * flow.rate_kbps,
            "seed": stream_seed(conversation.seed, "source" if from_source else "destination"),
            "begin_ns": self._ns(flow.start_s),
            "end_ns": self._ns(conversation.stop_s),
            "late_ns": documents.nanoseconds(flow.late_ms / 1000),
        }

    def _ns(self, t_s: float) -> int:
        return self.epoch_ns + documents.nanoseconds(t_s)

    def _rows(self, conversation: Conversation, table: str) -> dict[str, Any]:
        path = self.out / "raw" / f"{table}-{conversation.name}.jsonl"
        return {"flow": conversation.name, "table": str(path), "epoch_ns": self.epoch_ns}

    def _command(
        self, conversation: Conversation, role: str, what: str, end: dict[str, Any]
    ) -> list[str]:
        path = self.out / "raw" / f"traffic-{conversation.name}-{role}.json"
        document = {"resident": self.home != "daemon", "end": {what: end}}
        return [program("hoplab-traffic"), str(documents.write(path, document))]


def _datagrams(conversation: Conversation, flow: UdpFlow) -> dict[str, Any]:
    return {
        "buffer_bytes": flow.buffer_bytes,
        "packet_bytes": flow.packet_bytes,
        "packets": flow.packets,
        "rate_bps": None if flow.rate_kbps is None else 1000 * flow.rate_kbps,
        "spacing": "even" if flow.spacing is None else flow.spacing,
        "pauses": None
        if flow.on is None or flow.off is None
        else {"on": _draw(flow.on), "off": _draw(flow.off)},
        "seed": conversation.seed,
    }


def _transfer(flow: TcpFlow) -> dict[str, Any]:
    counted = None
    if flow.packets is not None:
        counted = {"packets": flow.packets, "packet_bytes": flow.packet_bytes}
    return {
        # The kernel's sockets of MPTCP do not take it.
        "mss": None if _is_multipath(flow) else flow.mss,
        "multipath": _is_multipath(flow),
        "congestion_control": kernel_congestion_control(flow.congestion_control),
        "counted": counted,
    }


def _is_multipath(flow: AnyFlow) -> bool:
    return isinstance(flow, MptcpFlow)


def _echoes(conversation: Conversation, flow: PingFlow) -> dict[str, Any]:
    return {
        "identifier": conversation.client_port,
        "packet_bytes": flow.packet_bytes,
        "packets": flow.packets,
        "interval_ns": documents.nanoseconds(flow.interval_s),
        "timeout_ns": documents.nanoseconds(flow.timeout_s),
    }


def _sizes(conversation: Conversation, flow: RequestFlow) -> dict[str, Any]:
    """Return what both ends draw alike."""
    draws = {"request": _draw(flow.request), "response": _draw(flow.response)}
    return {"seed": conversation.seed, **draws}


def _draw(draw: Draw) -> dict[str, dict[str, float | None]]:
    counting = [name for name, (_, kinds) in draw.only.items() if draw.kind in kinds]
    return {draw.kind: {name: getattr(draw, name) for name in counting}}


def _class(conversation: Conversation) -> int | None:
    """Return the traffic class of the flow's packets, if the flow has its own."""
    flow = conversation.flow
    return None if flow.dscp is None else flow.traffic_class


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
