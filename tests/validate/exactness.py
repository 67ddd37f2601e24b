# SPDX-License-Identifier: Apache-2.0
"""What can be worked out by hand: energy, losses, ranges, the moment a link ends, the audit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_all, measure_seeds
from tests.validate.saturation import air_us, sender, station

LUCENT_BRONZE_W = (1.327, 0.967, 0.844)
"""Transmit, receive, idle: Feeney and Nilsson 2001, table 1."""
ENERGY_S = 10.0

UNIFORM = 0.1
BURST, BURST_ON_S, BURST_PERIOD_S = 0.85, 1.0, 4.0
LISTED = (10, 50, 51, 200)
LOSSES_S = 20.0
LOSS_SEEDS = (1, 2, 3, 4, 5)
APART_M = 50_000.0

TX_DBM, THRESHOLD_DBM, HEIGHT_M, FREQUENCY_HZ = 24.5, -64.37, 1.5, 914e6
SPEED_MPS = 10.0
CROSSES_S = 1.0
"""When the moving station passes the computed range."""

OUTCOMES = ("acked", "sent", "retry_limit", "queue_full", "off", "refused")


def energy() -> dict[str, Any]:
    return {
        "title": "energy of a pair",
        "duration_s": ENERGY_S,
        "station": [station("a", 0), station("b", 200)],
        "radio": {"rts_threshold": 0, "energy": {"preset": "lucent-bronze"}},
        "flow": [sender("a", "b", 1000, 0.8)],
        "measure": {"frames": True},
    }


def energy_figures(results: Results) -> list[Figure]:
    """Power times time, the time by the standard's formula from each frame's size and rate."""
    end_us = ENERGY_S * 1e6
    intervals: list[tuple[float, float, str]] = []
    for frame in results.rows("frames"):
        start_us = 1e6 * frame["t_s"]
        lasts_us = air_us(frame["bytes"], frame["rate_mbps"])
        intervals.append((start_us, min(start_us + lasts_us, end_us), frame["src"]))
    intervals.sort()
    # Beacons of both may coincide: what the other sends while oneself sends is not received.
    overlap_us = sum(max(0.0, a[1] - b[0]) for a, b in pairwise(intervals))
    tx_w, rx_w, idle_w = LUCENT_BRONZE_W
    last = {row["node"]: row for row in results.rows("nodes") if row["t_s"] == ENERGY_S}
    found = []
    for name in "ab":
        own_us = sum(end - start for start, end, source in intervals if source == name)
        busy_us = sum(end - start for start, end, _ in intervals) - overlap_us
        joules = tx_w * own_us + rx_w * (busy_us - own_us) + idle_w * (end_us - busy_us)
        found.append(
            figure(f"medium/energy/{name}_J", last[name]["energy_j"], joules * 1e-6, 0.001)
        )
    return found


def losses() -> dict[str, Any]:
    """Three pairs out of each other's reach, each with a loss model of its own."""
    kinds: list[dict[str, Any]] = [
        {"kind": "uniform", "src": "ua", "dst": "ub", "rate": UNIFORM},
        {
            "kind": "burst",
            "src": "ba",
            "dst": "bb",
            "rate": BURST,
            "on_s": BURST_ON_S,
            "period_s": BURST_PERIOD_S,
        },
        {"kind": "list", "src": "la", "dst": "lb", "frames": list(LISTED)},
    ]
    stations = []
    for i, kind in enumerate("ubl"):
        stations += [station(f"{kind}a", i * APART_M), station(f"{kind}b", i * APART_M + 100)]
    return {
        "title": "losses",
        "duration_s": LOSSES_S,
        "station": stations,
        "radio": {"profile": "80211b"},
        "flow": [sender(f"{kind}a", f"{kind}b", 100, 0.4) for kind in "ubl"],
        "loss": kinds,
        "measure": {"frames": True},
    }


@dataclass(frozen=True)
class Lost:
    """Shares of all tries; frames lost where none should be, or not where they should."""

    uniform: float
    burst: float
    outside_bursts: int
    not_as_listed: int


def lost(results: Results) -> Lost:
    data = [row for row in results.rows("frames") if row["kind"] == "data"]

    def share(rows: list[dict[str, Any]]) -> float:
        return float(sum(row["fate"] == "error-model" for row in rows) / len(rows))

    burst = [row for row in data if row["src"] == "ba"]
    # A frame is lost, or not, when it ends.
    on = [row["until_s"] % BURST_PERIOD_S >= BURST_PERIOD_S - BURST_ON_S for row in burst]
    outside = [row for row, inside in zip(burst, on, strict=True) if not inside]
    count = 0
    wrong = 0
    for row in data:
        if row["src"] == "la":
            count += row["attempt"] == 1
            wrong += (row["fate"] == "error-model") != (count in LISTED)
    return Lost(
        share([row for row in data if row["src"] == "ua"]),
        share([row for row, inside in zip(burst, on, strict=True) if inside]),
        sum(row["fate"] == "error-model" for row in outside),
        wrong,
    )


def losses_figures(draws: list[Lost]) -> Iterator[Figure]:
    """Shares of the tries within 5 %; lists exactly."""
    name = "medium/losses"
    yield figure(f"{name}/uniform", [draw.uniform for draw in draws], UNIFORM, 0.05)
    yield figure(f"{name}/burst", [draw.burst for draw in draws], BURST, 0.05)
    yield figure(f"{name}/outside-bursts_frames", [d.outside_bursts for d in draws], 0, 0)
    yield figure(f"{name}/not-as-listed_frames", [d.not_as_listed for d in draws], 0, 0)


def range_m(propagation: str) -> float:
    """Distance at which the threshold is met: Friis, or two-ray beyond its crossover."""
    budget = 10 ** ((TX_DBM - THRESHOLD_DBM) / 10)
    if propagation == "two-ray":
        return float((budget * HEIGHT_M**4) ** 0.25)
    return 299_792_458 / FREQUENCY_HZ / (4 * math.pi) * math.sqrt(budget)


def moving(propagation: str) -> dict[str, Any]:
    """A station walks out of its neighbour's range; frames are a fifth of a millisecond apart."""
    reach_m = range_m(propagation)
    start_m, end_m = reach_m - SPEED_MPS * CROSSES_S, reach_m + SPEED_MPS
    end_s = CROSSES_S + 1
    return {
        "title": f"{propagation}, a station leaves",
        "duration_s": end_s,
        "station": [
            station("a", 0),
            {**station("b", start_m), "waypoints": [[0, start_m, 0], [end_s, end_m, 0]]},
        ],
        "radio": {
            "profile": "80211g",
            "rate_mbps": 54,
            "propagation": propagation,
            "tx_power_dbm": TX_DBM,
            "frequency_mhz": FREQUENCY_HZ * 1e-6,
            "antenna_height_m": HEIGHT_M,
            "rx_threshold_dbm": THRESHOLD_DBM,
            "cs_threshold_dbm": THRESHOLD_DBM - 20,
        },
        "flow": [sender("a", "b", 100, 4.2)],
        "measure": {"frames": True},
    }


def moving_figures(results: Results) -> list[Figure]:
    """Range to 1 m, the last frame received and the first one lost to 1 ms."""
    propagation = results.scenario["radio"]["propagation"]
    reach_m = range_m(propagation)
    data = [r for r in results.rows("frames") if r["kind"] == "data" and r["src"] == "a"]
    last_s = max(row["t_s"] for row in data if row["fate"] == "delivered")
    lost_s = min(row["t_s"] for row in data if row["fate"] == "weak")
    measured_m = reach_m + SPEED_MPS * (last_s - CROSSES_S)
    name = f"medium/range/{propagation}"
    return [
        figure(f"{name}_m", measured_m, reach_m, 1 / reach_m),
        figure(f"{name}/last-received_s", last_s, CROSSES_S, 0.001 / CROSSES_S),
        figure(f"{name}/first-lost_s", lost_s, CROSSES_S, 0.001 / CROSSES_S),
    ]


def audited() -> dict[str, Any]:
    """A bit of everything: movement, fading, errors by rate, losses, a station off and on."""
    names = [f"n{i}" for i in range(12)]
    return {
        "title": "audit",
        "duration_s": 30,
        "seed": 5,
        "topology": {"kind": "random-waypoint", "stations": len(names), "width_m": 800},
        "radio": {"reception": "error-rate", "fading": "rayleigh", "rts_threshold": 500},
        "routing": {"protocol": "dsr"},
        "flow": [
            {"source": "n0", "destination": "n5"},
            {"source": "n1", "destination": "n6"},
            sender("n2", "n7", 200, 0.1),
            sender("n3", "n8", 1472, 2.0),
        ],
        "loss": [{"kind": "uniform", "rate": 0.02}],
        "event": [
            {"at_s": 10, "kind": "down", "station": "n5"},
            {"at_s": 15, "kind": "up", "station": "n5"},
        ],
    }


def audited_figures(results: Results) -> list[Figure]:
    medium = results.manifest.medium or {}
    frames, kernel = medium["frames"], medium["kernel"]
    ended = sum(frames[outcome] for outcome in OUTCOMES)
    name = "medium/audit"
    return [
        figure(f"{name}/frames_ended-or-open", ended + frames["open"], frames["accepted"], 0),
        figure(f"{name}/frames_from-kernel", kernel["frames"], frames["accepted"], 0),
        figure(f"{name}/statuses_to-kernel", kernel["statuses"], ended, 0),
        figure(f"{name}/refused-by-kernel", kernel["refused_statuses"], 0, 0),
        figure(f"{name}/doubts", len(medium["doubts"]), 0, 0),
    ]


def items() -> Iterator[Figure]:
    """All figures of this page."""
    cases = [
        (energy(), energy_figures),
        (moving("two-ray"), moving_figures),
        (moving("friis"), moving_figures),
        (audited(), audited_figures),
    ]
    readers = {document["title"]: read for document, read in cases}
    for figures in measure_all(
        [document for document, _ in cases],
        lambda results: readers[results.scenario["title"]](results),
    ):
        yield from figures
    (draws,) = measure_seeds([losses()], LOSS_SEEDS, lost)
    yield from losses_figures(draws)
