# SPDX-License-Identifier: Apache-2.0
"""The kernel's minstrel_ht, with the medium's statuses, against the best fixed rate.

A saturated sender of A-MPDUs is at ten distances, where bit errors by SNR decide what arrives. Once
minstrel chooses among MCS 0 to 7 with either guard interval, and once each of these 16 is fixed.
The pairs of a run are out of each other's reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import received_mbps, sender, station
from tests.validate.throughput import APART_M, SEEDS

DISTANCES_M = (5, 8, 11, 14, 18, 22, 26, 32, 38, 46)
PAYLOAD = 1472
SATURATING_MBPS = 75
"""More than 72.2 Mbit/s carry."""
ADAPTED_S = 3.0
"""By then minstrel has tried its rates: it samples one in 20 ms."""
SPAN_S = 2.0
FIXED_FROM_S, FIXED_SPAN_S = 0.7, 1.0
FIXED = [(mcs, guard_ns) for mcs in range(8) for guard_ns in (800, 400)]
LIMIT = 0.15
RADIO: dict[str, Any] = {
    "profile": "80211n",
    "mcs": 7,
    "propagation": "log-distance",
    "exponent": 3.0,
    "reception": "error-rate",
    "range_m": 100,
    "carrier_sense_m": 200,
}


def scenario(changed: dict[str, Any], duration_s: float) -> dict[str, Any]:
    return {
        "title": f"Pairs at ten distances, {changed}",
        "duration_s": duration_s,
        "station": [
            station(f"{end}{m}", i * APART_M + (m if end == "b" else 0.0))
            for i, m in enumerate(DISTANCES_M)
            for end in "ab"
        ],
        "radio": {**RADIO, **changed},
        "flow": [sender(f"a{m}", f"b{m}", PAYLOAD, SATURATING_MBPS) for m in DISTANCES_M],
        "measure": {"packets": True},
    }


def _of_pairs(found: dict[str, float]) -> dict[int, float]:
    return {m: found[f"a{m}-b{m}"] for m in DISTANCES_M}


def fixed(results: Any) -> dict[int, float]:
    return _of_pairs(received_mbps(results, FIXED_FROM_S))


def adapted(results: Any) -> dict[int, float]:
    return _of_pairs(received_mbps(results, ADAPTED_S))


def items() -> Iterator[Figure]:
    """Ten shares of the best fixed rate's payload, at least 85 %."""
    chosen = measure_seeds([scenario({"rate_mbps": "auto"}, ADAPTED_S + SPAN_S)], SEEDS, adapted)
    by_rate = measure_seeds(
        [
            scenario({"mcs": mcs, "guard_ns": guard_ns}, FIXED_FROM_S + FIXED_SPAN_S)
            for mcs, guard_ns in FIXED
        ],
        SEEDS[:1],
        fixed,
    )
    for m in DISTANCES_M:
        best = max(draws[0][m] for draws in by_rate)
        shares = [draw[m] / best for draw in chosen[0]]
        yield figure(f"wifi/minstrel/{m}-m", shares, 1.0, LIMIT)
