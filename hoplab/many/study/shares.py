# SPDX-License-Identifier: Apache-2.0
"""Results of each TCP flow of a run: rate, share of its packets lost, their mean delay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from hoplab.many.study.swept import Tables


@dataclass(frozen=True)
class Share:
    """Results of a TCP flow: Mbit/s, percentage of its packets lost, their mean delay in ms."""

    mbps: float
    lost_percent: float
    delay_ms: float
    sent: int = 0
    lost: int = 0


def shares(run: Tables, measured_s: float, scale: float = 1.0) -> Iterator[Share]:
    """Yield each TCP flow's results over the first ``measured_s`` from its first packet, slow start
    included.

    Rates are delivered payload times ``scale``. Needs the tables packets and tcp.
    """
    packets, samples = run.rows("packets"), run.rows("tcp")
    for flow in run.rows("flows"):
        if flow["protocol"] != "tcp":
            continue
        data = [packet for packet in packets if packet["flow"] == flow["flow"]]
        began_s = min(packet["sent_s"] for packet in data)
        until_s = began_s + measured_s
        sent = [packet for packet in data if packet["sent_s"] <= until_s]
        arrived = [p["received_s"] - p["sent_s"] for p in sent if p["received_s"] is not None]
        last = [s for s in samples if s["flow"] == flow["flow"] and s["t_s"] <= until_s][-1]
        mbps = last["delivered_bytes"] * 8e-6 / (last["t_s"] - began_s)
        yield Share(
            mbps * scale,
            100 * (1 - len(arrived) / len(sent)),
            1000 * fmean(arrived) if arrived else 0.0,
            len(sent),
            len(sent) - len(arrived),
        )
