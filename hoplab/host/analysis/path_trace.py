# SPDX-License-Identifier: Apache-2.0
"""What a path gave a flow, as a trace for other emulators.

A flow that always has something to send takes all that the path gives, so its arrivals are the
path's capacity over time. A trace cannot carry what reacts to load: other stations' backoff, AQM.

Mahimahi's form (mm-link, Netravali et al. 2015): a line for each opportunity to deliver
`OPPORTUNITY_BYTES`, with its time in whole milliseconds. A link begins anew after the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.keys.resolved import Resolved

OPPORTUNITY_BYTES = 1504
"""PACKET_SIZE of Mahimahi."""
HEADERS_BYTES = {"tcp": 52, "udp": 28}
"""Of IPv4 and transport; TCP's with time stamps."""
LONGER_6_BYTES = 20
BIN_S = 0.1
SUFFIXES = {"mahimahi": "trace", "csv": "csv", "netem": "sh"}
FORMS = tuple(SUFFIXES)
LEAST_KBIT = 1
"""netem takes no rate of 0."""
NETEM = """#!/bin/sh
# Usage, as root: sh {name} INTERFACE. Made by hoplab export.
tc qdisc replace dev "$1" root netem rate {kbit}kbit delay {delay_ms:.3f}ms loss {loss:.4f}%
"""
NETEM_STEP = (
    'sleep {step_s:g}; tc qdisc change dev "$1" root netem rate {kbit}kbit '
    "delay {delay_ms:.3f}ms loss {loss:.4f}%\n"
)


@dataclass(frozen=True)
class Packet:
    """A packet with its octets of IP, and its times in s after the flow's start."""

    sent_s: float
    received_s: float | None
    octets: int


@dataclass(frozen=True)
class Step:
    """What the path gave in a time of `BIN_S` from ``t_s`` on. ``loss`` is a share."""

    t_s: float
    rate_mbps: float
    delay_ms: float
    loss: float


def of_flow(run: Results, scenario: Resolved, name: str | None) -> list[Packet]:
    """Return the packets of a flow, in order of sending.

    Raises `ResultsError` if there is none, or if the run did not record packets.
    """
    flows = {flow.name: flow for flow in scenario.flow if flow.transport in HEADERS_BYTES}
    if name is None and len(flows) == 1:
        (name,) = flows
    if name not in flows:
        raise ResultsError(
            f"--flow: {name or 'not given'}; one of: {', '.join(flows) or 'none, there is no flow'}"
        )
    flow = flows[name]
    headers = HEADERS_BYTES[flow.transport] + (LONGER_6_BYTES if flow.ip == 6 else 0)
    rows = [row for row in run.rows("packets") if row["flow"] == name]
    if not rows:
        raise ResultsError(
            f"flow {name}: the run has no packets of it; run it again with --set "
            "measure.packets=true"
        )
    rows.sort(key=lambda row: float(row["sent_s"]))
    begin_s = float(rows[0]["sent_s"])
    return [
        Packet(
            float(row["sent_s"]) - begin_s,
            None if row["received_s"] is None else float(row["received_s"]) - begin_s,
            int(row["bytes"]) + headers,
        )
        for row in rows
    ]


def _arrivals(packets: list[Packet]) -> list[tuple[float, Packet]]:
    came = [(one.received_s, one) for one in packets if one.received_s is not None]
    if not came:
        raise ResultsError("the flow: none of its packets arrived, so that the path gave nothing")
    return sorted(came, key=lambda entry: entry[0])


def opportunities_ms(packets: list[Packet]) -> Iterator[int]:
    """Yield the time of each opportunity: whenever so many octets more have arrived."""
    waiting = 0
    for t_s, packet in _arrivals(packets):
        waiting += packet.octets
        while waiting >= OPPORTUNITY_BYTES:
            waiting -= OPPORTUNITY_BYTES
            yield int(t_s * 1000)


def steps(packets: list[Packet]) -> list[Step]:
    """Return what the path gave over time. Its delay is the least in all the run: the rest was the
    flow's own queue."""
    came = _arrivals(packets)
    delay_ms = 1000 * min(t_s - packet.sent_s for t_s, packet in came)
    count = int(came[-1][0] / BIN_S) + 1
    bits, sent, lost = [0] * count, [0] * count, [0] * count
    for t_s, packet in came:
        bits[int(t_s / BIN_S)] += 8 * packet.octets
    for packet in packets:
        place = min(count - 1, int(packet.sent_s / BIN_S))
        sent[place] += 1
        lost[place] += packet.received_s is None
    return [
        Step(
            round(i * BIN_S, 6),
            1e-6 * bits[i] / BIN_S,
            delay_ms,
            lost[i] / sent[i] if sent[i] else 0.0,
        )
        for i in range(count)
    ]


def text(packets: list[Packet], form: str, name: str) -> str:
    """Return the trace in one of `FORMS`, for a file called ``name``."""
    if form == "mahimahi":
        return "".join(f"{t_ms}\n" for t_ms in opportunities_ms(packets))
    found = steps(packets)
    if form == "csv":
        lines = [f"{s.t_s:g},{s.rate_mbps:.6f},{s.delay_ms:.3f},{s.loss:.6f}\n" for s in found]
        return "".join(["t_s,rate_mbps,delay_ms,loss\n", *lines])
    values = [
        {
            "kbit": max(LEAST_KBIT, round(1000 * s.rate_mbps)),
            "delay_ms": s.delay_ms,
            "loss": 100 * s.loss,
        }
        for s in found
    ]
    first, *later = values
    return NETEM.format(name=name, **first) + "".join(
        NETEM_STEP.format(step_s=BIN_S, **value) for value in later
    )
