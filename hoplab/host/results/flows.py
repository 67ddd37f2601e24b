# SPDX-License-Identifier: Apache-2.0
"""Results of each flow: the rows of table `flows`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow, connections
from hoplab.host.results.connections import Found
from hoplab.host.results.lifetimes import lines
from hoplab.model import reading
from hoplab.model.network.plan import Conversation, Plan

NANOSECONDS = 1_000_000_000
TCP_ALONE = ("retransmits", "timeouts", "rtt_ms_mean")
UDP_ALONE = (
    *("sent", "received", "lost", "latency_ms_mean"),
    *("latency_ms_p50", "latency_ms_p95", "latency_ms_p99", "jitter_ms"),
)
OF_BOTH = ("delivered_bytes", "goodput_kbps")
EXCHANGES_ALONE = ("rtt_ms_min", "rtt_ms_max", "rate_per_s")
PROGRAMS_ALONE = ("first_octet_s",)
UNKNOWN = (*OF_BOTH, *TCP_ALONE, *UDP_ALONE, *EXCHANGES_ALONE, *PROGRAMS_ALONE, "sack")


@dataclass(frozen=True)
class Course:
    """The records of a run that concern flows."""

    samples: pa.Table
    """Table `tcp`, in its files' order."""
    udp: dict[str, dict[str, Any]]
    """By flow, the results of its packets (`hoplab.host.results.packets`)."""
    monotonic_epoch_ns: int | None
    """CLOCK_MONOTONIC at time 0."""
    complete: bool
    """Whether the run reached its end; if not, a flow counts up to its last sample."""
    programs: Found
    """The connections of measured programs."""
    exchanges: pa.Table
    """Table `exchanges`, likewise."""
    datagrams: pa.Table
    """Table `udp`, likewise."""


def rows(out: Path, plan: Plan, course: Course) -> Iterator[dict[str, Any]]:
    """Yield a row for each flow of the plan and each measured program, with null for unknown
    values."""
    sack = _sack(out)
    for conversation in plan.conversations:
        flow, name = conversation.flow, conversation.name
        if flow.protocol == "udp":
            found = _udp(conversation, course.udp.get(name, {}), _of_flow(course.datagrams, name))
        elif flow.protocol == "call":
            found = _call(conversation, _of_flow(course.exchanges, name))
        elif flow.is_exchange:
            found = _exchanges(conversation, _of_flow(course.exchanges, name))
        else:
            found = _tcp(out, conversation, _of_flow(course.samples, name), course)
        yield {
            "flow": name,
            "protocol": flow.protocol,
            "src": flow.source,
            "dst": flow.destination,
            "start_s": flow.start_s,
            "stop_s": conversation.stop_s,
            "congestion_control": flow.congestion_control,
            **dict.fromkeys(UNKNOWN),
            **found,
            "sack": sack.get(name),
        }
    unknown = dict.fromkeys(("congestion_control", *UNKNOWN))
    for found in connections.flows(plan, course.programs, course.samples):
        of_program = {used for name, used in sack.items() if name.startswith(f"{found['flow']}:")}
        agreed = of_program.pop() if len(of_program) == 1 else None
        yield {**unknown, **found, "sack": agreed}


def _sack(out: Path) -> dict[str, int]:
    """Return whether each connection used SACK, by its name in table `tcp`."""
    found = {}
    for told in lines(out / "raw" / "sack.jsonl"):
        with contextlib.suppress(KeyError, TypeError):
            found[str(told["flow"])] = int(told["sack"] is True)
    return found


def _of_flow(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table["flow"], arrow.scalar(name)))


def _tcp(
    out: Path, conversation: Conversation, samples: pa.Table, course: Course
) -> dict[str, Any]:
    """Return results from the sender's samples. A counted transfer ends when its last byte has
    come."""
    last: dict[str, Any] = {"delivered_bytes": 0, "t_s": 0.0}
    if len(samples):
        (last,) = samples.slice(len(samples) - 1).to_pylist()
    elif not course.complete:
        return {}
    stop_s = max(last["t_s"], conversation.stop_s) if course.complete else last["t_s"]
    complete_s = _complete_s(out, conversation, course.monotonic_epoch_ns)
    end_s = stop_s if complete_s is None else complete_s
    rtts = samples["rtt_ms"].filter(pc.less_equal(samples["t_s"], arrow.scalar(end_s))).to_pylist()
    delivered = last["delivered_bytes"]
    going_s = end_s - conversation.flow.start_s
    return {
        "delivered_bytes": delivered,
        "retransmits": last.get("retransmits"),
        "timeouts": last.get("timeouts"),
        "rtt_ms_mean": round(sum(rtts) / len(rtts), 3) if rtts else None,
        "goodput_kbps": round(delivered * 8e-3 / going_s, 3) if going_s > 0 else None,
        "stop_s": end_s,
    }


def _udp(conversation: Conversation, found: dict[str, Any], samples: pa.Table) -> dict[str, Any]:
    """Return the results of a flow's packets, with what its receiver counted, if it did. A filter
    at its station may take packets that a capture there has seen."""
    if not found or len(samples) == 0:
        return found
    (last,) = samples.slice(len(samples) - 1).to_pylist()
    if last["t_s"] < conversation.stop_s:
        return found
    delivered, received = last["delivered_bytes"], last["received"]
    going_s = conversation.stop_s - conversation.flow.start_s
    return found | {
        "received": received,
        "lost": max(0, found["sent"] - received),
        "delivered_bytes": delivered,
        "goodput_kbps": round(delivered * 8e-3 / going_s, 3),
    }


def _call(conversation: Conversation, rows: pa.Table) -> dict[str, Any]:
    """Return the results of the frames that a call's source sent. Their numbers say how many."""
    delays = sorted(rows["delay_ms"].drop_null().to_pylist())
    octets = pc.sum(rows["received_bytes"]).as_py() or 0
    sent = pc.max(rows["number"]).as_py() or 0
    going_s = conversation.stop_s - conversation.flow.start_s
    found: dict[str, Any] = {
        "sent": sent,
        "received": len(delays),
        "lost": sent - len(delays),
        "delivered_bytes": octets,
        "goodput_kbps": round(octets * 8e-3 / going_s, 3),
        "stop_s": conversation.stop_s,
    }
    if delays:
        found["latency_ms_mean"] = connections.mean_ms(delays)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            found[f"latency_ms_{name}"] = round(delays[math.ceil(share * len(delays)) - 1], 6)
    return found


def _exchanges(conversation: Conversation, rows: pa.Table) -> dict[str, Any]:
    """Return results of echoes, or of requests and responses."""
    flow = conversation.flow
    times = rows["rtt_ms"].drop_null().to_pylist()
    stop_s = conversation.stop_s
    if len(rows) and len(rows) == (flow.packets or flow.transactions):
        stop_s = pc.max(rows["t_s"]).as_py()
    found: dict[str, Any] = {"stop_s": stop_s, "sent": len(rows), "received": len(times)}
    if times:
        mean_ms = connections.mean_ms(times)
        found |= {"rtt_ms_min": min(times), "rtt_ms_mean": mean_ms, "rtt_ms_max": max(times)}
    if flow.protocol == "ping":
        return found | {"lost": len(rows) - len(times)}
    delivered = pc.sum(rows["received_bytes"]).as_py() or 0
    going_s = stop_s - flow.start_s
    rates = {"goodput_kbps": delivered * 8e-3 / going_s, "rate_per_s": len(times) / going_s}
    return found | {
        "delivered_bytes": delivered,
        **{name: round(rate, 3) for name, rate in rates.items()},
    }


def _complete_s(out: Path, conversation: Conversation, epoch_ns: int | None) -> float | None:
    """Return when a counted transfer's last byte arrived; None before that."""
    if not conversation.is_counted or epoch_ns is None:
        return None
    answer = reading.value(out / "raw" / f"counted-{conversation.name}.json")
    end_ns = answer.get("end_ns") if isinstance(answer, dict) else None
    return float(end_ns - epoch_ns) / NANOSECONDS if isinstance(end_ns, int) else None
