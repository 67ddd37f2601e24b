# SPDX-License-Identifier: Apache-2.0
"""Goodput against uniform loss, beside PFTK and the square-root law.

PFTK: Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Reno Performance", IEEE/ACM ToN 8(2), 2000,
equation 30. Square root: Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997. Segments are lost one by
one and independently; acknowledgements are not lost and not delayed (b = 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Any

from hoplab.results import Results
from tests.validate.runs import measure_all

MSS = 1000
DELAY_MS = 25.0
RATE_MBPS = 50.0
WINDOW = 400
"""Segments: more than any loss here lets it grow to, mostly."""
STARTED_S = 5.0
LOSSES = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
VARIANTS = ("tahoe", "reno", "newreno", "sack", "vegas", "westwood", "tcpw")
SEGMENTS_PER_ACK = 1


def pftk(loss: float, round_trip_s: float, timeout_s: float, window: float) -> float:
    """Equation 30, in segments a second; ``timeout_s`` is T0, the first timeout's mean length."""
    b = SEGMENTS_PER_ACK
    per_segment_s = round_trip_s * sqrt(2 * b * loss / 3) + timeout_s * min(
        1.0, 3 * sqrt(3 * b * loss / 8)
    ) * loss * (1 + 32 * loss**2)
    return min(window / round_trip_s, 1 / per_segment_s)


def square_root(loss: float, round_trip_s: float) -> float:
    """Segments a second: sqrt(3 / (2 b p)) of them each round trip."""
    return sqrt(3 / (2 * SEGMENTS_PER_ACK * loss)) / round_trip_s


def duration_s(loss: float) -> float:
    """Long enough for some dozens of losses, or some hundred where that is cheap."""
    return 120.0 if loss < 1e-3 else 150.0


def scenario(variant: str, loss: float) -> dict[str, Any]:
    """One flow on a path whose rate is beyond what the loss allows."""
    return {
        "title": f"{variant}, loss {loss:g}",
        "duration_s": duration_s(loss),
        "station": [{"name": name, "radio": False} for name in ("a", "r", "b")],
        "link": [
            {"ends": ["a", "r"], "rate_mbps": 100, "delay_ms": 0.0},
            {
                "ends": ["r", "b"],
                "rate_mbps": RATE_MBPS,
                "delay_ms": DELAY_MS,
                "queue": {"kind": "droptail", "packets": 1000},
            },
        ],
        "loss": [{"kind": "uniform", "src": "a", "dst": "r", "rate": loss}],
        "tcp": {"profile": "classic", "delayed_ack": False},
        "flow": [
            {
                "source": "a",
                "destination": "b",
                "congestion_control": variant,
                "mss": MSS,
                "window": WINDOW,
            }
        ],
        "measure": {"interval_s": 0.25},
    }


@dataclass(frozen=True)
class Point:
    """Goodput in segments/s, mean round trip and mean first timeout in s, timeouts."""

    goodput: float
    round_trip_s: float
    timeout_s: float
    timeouts: int
    retransmits: int


def point(results: Results) -> Point:
    rows = [row for row in results.rows("tcp") if row["t_s"] >= STARTED_S]
    first, last = rows[0], rows[-1]
    return Point(
        (last["delivered_bytes"] - first["delivered_bytes"]) / MSS / (last["t_s"] - first["t_s"]),
        fmean(row["rtt_ms"] for row in rows) / 1000,
        # The timer's value doubles with each timeout in a row; backed off once per doubling.
        fmean(row["rto_ms"] / 2 ** row["backoff"] for row in rows) / 1000,
        last["timeouts"] - first["timeouts"],
        last["retransmits"] - first["retransmits"],
    )


def table(
    variants: Sequence[str] = VARIANTS, losses: Sequence[float] = LOSSES
) -> dict[tuple[str, float], Point]:
    """Every variant at every loss."""
    keys = [(variant, loss) for loss in losses for variant in variants]
    found = measure_all([scenario(*key) for key in keys], point)
    return dict(zip(keys, found, strict=True))
