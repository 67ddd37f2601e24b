# SPDX-License-Identifier: Apache-2.0
"""The documents of `hoplab-traffic` for a UDP flow (`daemons/traffic`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hoplab.guest.system.processes import program
from hoplab.model.keys import documents
from hoplab.model.network.plan import Conversation


def receiver(conversation: Conversation, out: Path, epoch_ns: int, interval_s: float) -> list[str]:
    """Return the command of the receiving end, whose rows of table `udp` are ``interval_s`` apart.
    ``epoch_ns`` is CLOCK_MONOTONIC at time 0."""
    name, flow = conversation.name, conversation.flow
    what = {
        "own": _end(conversation.destination_address, conversation.server_port),
        "flow": name,
        "table": str(out / "raw" / f"udp-{name}.jsonl"),
        "epoch_ns": epoch_ns,
        "begin_ns": epoch_ns + documents.nanoseconds(flow.start_s),
        "end_ns": epoch_ns + documents.nanoseconds(conversation.stop_s),
        "interval_ns": documents.nanoseconds(interval_s),
    }
    return _command({"udp_receive": what}, out / "raw" / f"traffic-{name}-server.json")


def sender(conversation: Conversation, out: Path) -> list[str]:
    """Return the command of the sending end. It stays when all has been sent."""
    flow = conversation.flow
    what = {
        "own": _end(conversation.source_address, conversation.client_port),
        "to": _end(conversation.destination_address, conversation.server_port),
        "traffic_class": None if flow.dscp is None else flow.traffic_class,
        "buffer_bytes": flow.buffer_bytes,
        "packet_bytes": flow.packet_bytes,
        "packets": flow.packets,
        "rate_bps": None if flow.rate_kbps is None else 1000 * flow.rate_kbps,
        "seed": conversation.seed if flow.spacing == "random" else None,
    }
    return _command({"udp_send": what}, out / "raw" / f"traffic-{conversation.name}-client.json")


def _command(document: dict[str, Any], path: Path) -> list[str]:
    return [program("hoplab-traffic"), str(documents.write(path, document))]


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
