# SPDX-License-Identifier: Apache-2.0
"""DualPI2 and Prague on a kernel that has them, one Prague and one Reno at a bottleneck.

Let p' be the probability of DualPI2's base controller, which holds the wait of Reno's packets at
its target. It marks these by p' squared, and Prague's by k p' with k = 2 (RFC 9332 2.1).

* Prague adds a segment to its window of a virtual round trip in such a time, and takes half of
  alpha = p of it. The next reduction waits for a virtual round trip, and then for a mark. So the
  marks in such a time, x, follow from x / 2 = 1 + 1 / x, and x is 1 + sqrt(3). The draft's 2 / p
  (2.4) leaves out the wait for a mark.
* Reno's window is sqrt(3 / 2) / p' (Mathis et al. 1997), over its own round trip.

Both give the ratio of their rates. The limits are from before the first run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate import runs

KERNEL = "7.3"
SEEDS = (1, 2, 3)
FROM_S, TO_S = 20.0, 80.0
BOTTLENECK_MBPS, DELAY_MS, TARGET_MS = 40.0, 9.0, 15.0
PAYLOAD_BYTES = 1448
FRAME_MS = 1514 * 8e-3 / BOTTLENECK_MBPS
BASE_MS = 2 * (DELAY_MS + 1.0)
VIRTUAL_MS = 25.0
MARKS = 1 + math.sqrt(3)
COUPLING = 2.0


class Course(NamedTuple):
    """What a run gave in its steady part."""

    ratio: float
    """Prague's rate over Reno's."""
    reno_rtt_ms: float
    prague_rtt_ms: float
    marks: float
    """Of Prague's segments in a virtual round trip."""
    use: float
    """Share of the bottleneck."""


def scenario(seed: int) -> dict[str, Any]:
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
                "rate_mbps": BOTTLENECK_MBPS,
                "delay_ms": DELAY_MS,
                "queue": {"kind": "dualpi2", "target_ms": TARGET_MS},
            },
        ],
        "flow": [
            {
                "name": name,
                "source": source,
                "destination": "b",
                "congestion_control": variant,
                "generator": "hoplab",
            }
            for name, source, variant in (
                ("prague", "p", "prague"),
                ("reno", "c", "linux-reno"),
            )
        ],
    }


def read(results: Results) -> Course:
    rows = {
        name: [r for r in results.rows("tcp") if r["flow"] == name and r["t_s"] >= FROM_S]
        for name in ("prague", "reno")
    }
    rates = {name: _grown(of, "acked_bytes") for name, of in rows.items()}
    rtts = {name: fmean(row["rtt_ms"] for row in of) for name, of in rows.items()}
    marked = _grown(rows["prague"], "marked")
    return Course(
        rates["prague"] / rates["reno"],
        rtts["reno"],
        rtts["prague"],
        marked * max(VIRTUAL_MS, rtts["prague"]) / 1000,
        8e-6 * sum(rates.values()) * 1514 / PAYLOAD_BYTES / BOTTLENECK_MBPS,
    )


def _grown(rows: list[dict[str, Any]], column: str) -> float:
    """Return how much a count grew in a second."""
    first, last = rows[0], rows[-1]
    return float((last[column] - first[column]) / (last["t_s"] - first["t_s"]))


def items() -> Iterator[Figure]:
    """Figures of a kernel with both, `KERNEL` unless another is named."""
    named = runs.kernel
    runs.kernel = named or KERNEL
    try:
        found = runs.measure_all([scenario(seed) for seed in SEEDS], read)
    finally:
        runs.kernel = named
    yield figure("tcp/l4s/prague/marks-in-a-round-trip", [c.marks for c in found], MARKS, 0.1)
    laws = [
        MARKS / COUPLING / math.sqrt(1.5) * c.reno_rtt_ms / max(VIRTUAL_MS, c.prague_rtt_ms)
        for c in found
    ]
    ratios = [c.ratio / law for c, law in zip(found, laws, strict=True)]
    yield figure("tcp/l4s/rate-ratio-by-its-law", ratios, 1.0, 0.15)
    waits = [c.reno_rtt_ms - BASE_MS - 2 * FRAME_MS for c in found]
    yield figure("tcp/l4s/dualpi2/wait-of-reno_ms", waits, TARGET_MS, 0.15)
    yield figure("tcp/l4s/use-of-the-bottleneck", [c.use for c in found], 1.0, 0.02)
