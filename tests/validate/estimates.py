# SPDX-License-Identifier: Apache-2.0
"""What Vegas, Westwood and TCPW make of a bottleneck whose rate is known."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from hoplab.many.study.segments import segments
from tests.validate.runs import measure_all
from tests.validate.westwood import (
    Reference,
    acked_bytes,
    acknowledgements,
    integer_estimates,
)

MSS = 1000
FRAME_BYTES = MSS + 54
RATE_MBPS = 2.0
DELAY_MS = 100.0
PAYLOAD_KBPS = RATE_MBPS * 1000 * MSS / FRAME_BYTES
"""Rate of acknowledged bytes while the bottleneck is busy."""
WINDOW = 80
"""More than the 48 segments that the path holds: the bottleneck stays busy."""
BOTTLENECK = ("r", "eth1")
SETTLED_S = 25.0
"""Westwood+ filters a sample a round trip twice with 7/8: 0.34 s times 64 until 1 % is left."""
LOSS_AT = 6000
"""Data segment that is lost once everything has settled."""
VEGAS_ALPHA, VEGAS_BETA = 2, 4


def scenario(
    variant: str, lost: tuple[int, ...] = (), window: int | None = None, duration_s: float = 30.0
) -> dict[str, Any]:
    """One flow through a bottleneck that nobody else uses; only the listed segments are lost."""
    flow: dict[str, Any] = {
        "source": "a",
        "destination": "b",
        "congestion_control": variant,
        "mss": MSS,
    }
    if window is not None:
        flow["window"] = window
    document: dict[str, Any] = {
        "duration_s": duration_s,
        "station": [{"name": name, "radio": False} for name in ("a", "r", "b")],
        "link": [
            {"ends": ["a", "r"], "rate_mbps": 100, "delay_ms": 0.1},
            {
                "ends": ["r", "b"],
                "rate_mbps": RATE_MBPS,
                "delay_ms": DELAY_MS,
                "queue": {"kind": "droptail", "packets": 200},
            },
        ],
        "tcp": {"profile": "classic", "delayed_ack": False},
        "flow": [flow],
        "measure": {"interval_s": 0.05, "captures": ["a"]},
    }
    if lost:
        document["loss"] = [{"kind": "list", "src": "a", "dst": "r", "frames": list(lost)}]
    return document


def _read(results: Results) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Any]]:
    return results.rows("tcp"), results.rows("queues"), list(segments(results, "a"))


def items() -> Iterator[Figure]:
    """Vegas's queue, Westwood's and TCPW's rate, TCPW's filter on a recorded trace."""
    vegas, westwood, tcpw = measure_all(
        [
            scenario("vegas"),
            scenario("westwood", (LOSS_AT,), WINDOW),
            scenario("tcpw", (LOSS_AT,), WINDOW),
        ],
        _read,
    )
    yield from _vegas(*vegas[:2])
    yield from _rate_from_ssthresh("westwood", westwood[0])
    yield from _rate_from_ssthresh("tcpw", tcpw[0])
    yield from _told_rate(tcpw[0])
    yield from _filter(tcpw[2], tcpw[0])


def _vegas(rows: list[dict[str, Any]], queues: list[dict[str, Any]]) -> Iterator[Figure]:
    """Brakmo and Peterson 1995: between alpha and beta segments of the window wait."""
    windows = [row["cwnd"] for row in rows if row["t_s"] > SETTLED_S]
    yield figure("tcp/vegas/window-spread_segments", max(windows) - min(windows), 0, 2)
    queue = fmean(
        row["backlog_packets"]
        for row in queues
        if (row["node"], row["interface"]) == BOTTLENECK and row["t_s"] > SETTLED_S
    )
    middle = (VEGAS_ALPHA + VEGAS_BETA) / 2
    yield figure("tcp/vegas/queue_packets", queue, middle, 1 / middle)


def _rate_from_ssthresh(variant: str, rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """After the loss ssthresh is rate times RTTmin in segments, rounded down: add half a one.

    Linux's Westwood+ halves the window during recovery and sets the estimate when it is over.
    """
    after = next(row for row in rows if row["retransmits"] and row["ca_state"] == "Open")
    kbps = (after["ssthresh"] + 0.5) * MSS * 8 / after["min_rtt_ms"]
    yield figure(f"tcp/{variant}/rate-from-ssthresh_kbps", kbps, PAYLOAD_KBPS, 0.05)


def _told_rate(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """What tcp_info says while the bottleneck is busy and nothing has been lost."""
    told = [r["estimate_kbps"] for r in rows if r["t_s"] > SETTLED_S and not r["retransmits"]]
    yield figure("tcp/tcpw/told-mean_kbps", fmean(told), PAYLOAD_KBPS, 0.05)
    yield figure("tcp/tcpw/told-lowest_kbps", min(told), PAYLOAD_KBPS, 0.05)
    yield figure("tcp/tcpw/told-highest_kbps", max(told), PAYLOAD_KBPS, 0.05)


def _filter(seen: list[Any], rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """The recorded acknowledgements: integers against floating point, the kernel against both."""
    answers = acknowledgements(seen)
    trace = acked_bytes(answers, MSS)
    start_us = answers[0][0]
    reference = Reference(start_us)
    worst = 0.0
    at_time: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="hoplab-filter-") as folder:
        integers = integer_estimates(Path(folder), trace, start_us)
    for (time_us, count), integer in zip(trace, integers, strict=True):
        reference.acknowledge(time_us, count)
        worst = max(worst, abs(reference.estimate - integer) / reference.bound)
        at_time.append((time_us / 1e6, reference.estimate))
    # 0 is equal, 1 is at the bound.
    yield figure("tcp/tcpw/filter-error_of-bound", worst, 0, 1)
    # The kernel's time stamps are its own, and the handshake's round trip precedes the trace.
    worst = 0.0
    for row in rows:
        if row["t_s"] > SETTLED_S:
            wanted = [rate for t, rate in at_time if t <= row["t_s"]][-1]
            worst = max(worst, abs(row["estimate_kbps"] * 125 / wanted - 1))
    yield figure("tcp/tcpw/kernel-against-reference", worst, 0, 0.001)
