# SPDX-License-Identifier: Apache-2.0
"""DualPI2 and Prague on a kernel that has them: pairs of a Prague and a Reno at a bottleneck.

Let p' be the probability of DualPI2's base controller, which holds the wait of Reno's packets at
its target. It marks these by p' squared, and Prague's by k p' with k = 2 (RFC 9332 2.1).

* Prague adds a segment to its window of a virtual round trip in such a time, and takes half of
  alpha = p of it. The next reduction waits for a virtual round trip, and then for a mark. So the
  marks in such a time, x, follow from x / 2 = 1 + 1 / x, and x is 1 + sqrt(3). The draft's 2 / p
  (2.4) leaves out the wait for a mark.
* Reno's window is 1.3098 / sqrt(p_C) on average over time, where marks with probability p_C are
  independent (Ott, Kemperman, Mathis 1996).
* p' varies, most with a single pair. Reno feels the mean of its square, which is more than the
  square of its mean. Prague's own marks tell the course of p'. Let m of n packets in a sample be
  marked: m (m - 1) / (n (n - 1)) estimates (k p') squared without bias.

All three give the ratio of the rates. Its limit, and those of wait, marks and use, are from before
the first run. The coupling and Reno's window came later, with the limit of the marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate import runs

KERNEL = "7.3"
SEEDS = range(1, 9)
FROM_S, TO_S = 20.0, 80.0
PAIRS = (1, 4)
PAIR_MBPS, DELAY_MS, TARGET_MS = 40.0, 9.0, 15.0
"""The bottleneck's rate for each pair."""
APART_S = 0.37
"""Between the beginnings of two pairs."""
PAYLOAD_BYTES, FRAME_BYTES = 1448, 1514
BASE_MS = 2 * (DELAY_MS + 1.0)
VIRTUAL_MS = 25.0
MARKS = 1 + math.sqrt(3)
RENO = 1.3098
COUPLING = 2.0


class Course(NamedTuple):
    """What a run gave in its steady part. Rates, windows and round trips are means over flows."""

    ratio: float
    """Prague's rate over Reno's."""
    law: float
    """The same, from how p' went."""
    spread: float
    """Mean of p' squared for Reno's packets, over the square of its mean for Prague's."""
    reno_rtt_ms: float
    marks: float
    """Of a Prague's segments in a virtual round trip."""
    reno: float
    """Reno's window times the root of its packets' share of marks."""
    coupling: float
    """Share of marks of Reno's packets, over the mean of p' squared for them."""
    use: float
    """Share of the bottleneck."""


def scenario(seed: int, pairs: int) -> dict[str, Any]:
    stations = [{"name": name, "radio": False} for name in ("p", "c", "r", "b")]
    access = {"rate_mbps": 1000, "delay_ms": 1.0, "queue": {"packets": 10_000}}
    return {
        "seed": seed,
        "duration_s": TO_S,
        "tcp": {"ecn": True},
        "station": stations,
        "link": [
            *({"ends": [name, "r"], **access} for name in ("p", "c")),
            {
                "ends": ["r", "b"],
                "rate_mbps": PAIR_MBPS * pairs,
                "delay_ms": DELAY_MS,
                "queue": {"kind": "dualpi2", "target_ms": TARGET_MS},
            },
        ],
        "flow": [
            {
                "name": f"{name}-{pair}",
                "source": source,
                "destination": "b",
                "congestion_control": variant,
                "generator": "hoplab",
                "start_s": APART_S * pair,
            }
            for pair in range(pairs)
            for name, source, variant in (
                ("prague", "p", "prague"),
                ("reno", "c", "linux-reno"),
            )
        ],
    }


def read(results: Results) -> Course:
    flows: dict[str, list[dict[str, Any]]] = {}
    for row in results.rows("tcp"):
        if row["t_s"] >= FROM_S:
            flows.setdefault(row["flow"], []).append(row)
    prague, reno = (
        [rows for name, rows in flows.items() if name.startswith(kind)]
        for kind in ("prague", "reno")
    )
    rates = [fmean(_grown(rows, "acked_bytes") for rows in of) for of in (prague, reno)]
    prague_ms, reno_ms = (
        fmean(row["rtt_ms"] for rows in of for row in rows) for of in (prague, reno)
    )
    round_s = max(VIRTUAL_MS, prague_ms) / 1000
    window = rates[1] / PAYLOAD_BYTES * reno_ms / 1000

    marked = _steps(prague, "marked")
    packets = [octets / PAYLOAD_BYTES for octets in _steps(prague, "acked_bytes")]
    bottleneck = [row for row in results.rows("queues") if row["node"] == "r" and row["marks"]]
    marks = _steps([[row for row in bottleneck if row["t_s"] >= FROM_S]], "marks")
    classic = _steps(
        [
            [
                row
                for row in results.rows("queue_parts")
                if row["node"] == "r" and row["part"] == "classic" and row["t_s"] >= FROM_S
            ]
        ],
        "packets",
    )
    squares = [m * (m - 1) / (n * (n - 1)) for m, n in zip(marked, packets, strict=True)]
    weighted = sum(w * square for w, square in zip(classic, squares, strict=True))
    square = weighted / sum(classic) / COUPLING**2
    share_l, share_c = sum(marked) / sum(packets), (sum(marks) - sum(marked)) / sum(classic)
    return Course(
        rates[0] / rates[1],
        MARKS / share_l / round_s * reno_ms / 1000 * math.sqrt(square) / RENO,
        square / (share_l / COUPLING) ** 2,
        reno_ms,
        share_l * rates[0] / PAYLOAD_BYTES * round_s,
        window * math.sqrt(share_c),
        share_c / square,
        8e-6 * sum(rates) * FRAME_BYTES / PAYLOAD_BYTES / PAIR_MBPS,
    )


def _grown(rows: list[dict[str, Any]], column: str) -> float:
    """Return how much a count grew in a second."""
    first, last = rows[0], rows[-1]
    return float((last[column] - first[column]) / (last["t_s"] - first["t_s"]))


def _steps(series: list[list[dict[str, Any]]], column: str) -> list[float]:
    """Return how much the sum of a count grew from sample to sample."""
    sums = [sum(row[column] for row in rows) for rows in zip(*series, strict=True)]
    return [after - before for before, after in pairwise(sums)]


def items() -> Iterator[Figure]:
    """Figures of a kernel with both, `KERNEL` unless another is named."""
    named = runs.kernel
    runs.kernel = named or KERNEL
    try:
        found = {
            pairs: runs.measure_all([scenario(seed, pairs) for seed in SEEDS], read)
            for pairs in PAIRS
        }
    finally:
        runs.kernel = named
    for pairs, own in found.items():
        name = f"tcp/l4s/{pairs}-pairs" if pairs > 1 else "tcp/l4s/1-pair"
        frame_ms = FRAME_BYTES * 8e-3 / PAIR_MBPS / pairs
        waits = [c.reno_rtt_ms - BASE_MS - 2 * frame_ms for c in own]
        yield figure(f"{name}/dualpi2/wait-of-reno_ms", waits, TARGET_MS, 0.15)
        if pairs == max(PAIRS):  # Reno's packets of a single pair bear too few marks
            yield figure(f"{name}/dualpi2/coupling", [c.coupling for c in own], 1.0, 0.1)
        yield figure(f"{name}/prague/marks-in-a-round-trip", [c.marks for c in own], MARKS, 0.1)
        yield figure(f"{name}/reno/window-by-its-marks", [c.reno for c in own], RENO, 0.1)
        ratios = [c.ratio / c.law for c in own]
        yield figure(f"{name}/rate-ratio-by-its-law", ratios, 1.0, 0.15)
        spreads = [c.spread for c in own]
        yield figure(f"{name}/spread-of-p", spreads, 1.0, None)
        steady = [ratio * math.sqrt(c.spread) for ratio, c in zip(ratios, own, strict=True)]
        yield figure(f"{name}/rate-ratio-by-a-steady-p", steady, 1.0, None)
        yield figure(f"{name}/use-of-the-bottleneck", [c.use for c in own], 1.0, 0.02)
