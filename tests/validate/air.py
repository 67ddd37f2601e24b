# SPDX-License-Identifier: Apache-2.0
"""Walls, channels of 2.4 GHz that overlap, and transmitters that are no radios, by hand."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_all, measure_seeds
from tests.validate.saturation import sender, station

TX_DBM, EXPONENT = 15.0, 2.0
WALLS_DB = (3.0, 7.25, 12.5)
FIRST_WALL_M, APART_M = 10.0, 60.0
WALK_S, SPEED_MPS = 8.0, 4.0
EXACT_DB = 1e-6

DURATION_S = 5.0
SEEDS = (1, 2, 3, 4, 5)
LISTENS_M = 20.0
BESIDE_DB = 0.1
"""How far the threshold of energy is from what a radio gets of the other channel."""
OVERLAPS = {
    # The mask's part of 22 MHz by 16.3.7.5, and of 18 MHz by 17.3.9.3, worked out by hand. It is
    # the MHz at each level that fall into the filter, over those of the whole mask.
    "80211b/1-3": 10 * math.log10((12 + 10 * 1e-3) / (22 + 22 * 1e-3)),
    "80211b/1-5": 10 * math.log10((2 + 11 * 1e-3 + 9 * 1e-5) / (22 + 22 * 1e-3)),
}
SHADOWING_DB, CORRELATION_M = 6.0, 1.0
LAGS_M = (0.5, 1.0, 2.0)
SHADOWED_SEEDS = tuple(range(1, 41))
"""A surrounding is one draw of 64 waves."""
PASSES_M, ACROSS_M, STEP_S = 100.0, 100.0, 0.005
OVEN_SHARE = 0.5
HOPS, HEARD_HOPS, HOP_DUTY = 79, 19, 366 / 625
"""Bluetooth's channels, those whose middle lies within 9 MHz of 2412 MHz, and a packet's part of a
slot."""
FREE_SPACE = {
    "profile": "80211a",
    "propagation": "friis",
    "tx_power_dbm": TX_DBM,
    "frequency_mhz": 5180.0,
    "range_m": 1000.0,
    "carrier_sense_m": 2000.0,
}
"""A radio that reaches far."""


def free_dbm(distance_m: float, mhz: float) -> float:
    """Free space, without antenna gains (Friis 1946)."""
    return TX_DBM + 20 * math.log10(299.792458 / mhz / (4 * math.pi * distance_m))


def walls() -> dict[str, Any]:
    """Receivers behind one wall more each, and one that walks past the end of all walls."""
    places = [FIRST_WALL_M * (i + 0.5) for i in range(len(WALLS_DB) + 1)]
    walls = [
        {
            "corners": [[FIRST_WALL_M * (i + 1), -50], [FIRST_WALL_M * (i + 1), 20]],
            "loss_db": loss_db,
        }
        for i, loss_db in enumerate(WALLS_DB)
    ]
    walker = {
        **station("w", APART_M),
        "waypoints": [[0, APART_M, 0], [WALK_S, APART_M, SPEED_MPS * WALK_S]],
    }
    return {
        "title": "walls",
        "duration_s": WALK_S,
        "station": [
            station("a", -5),
            *(station(f"b{i}", x_m) for i, x_m in enumerate(places)),
            walker,
        ],
        "radio": FREE_SPACE,
        "wall": walls,
        "flow": [sender("a", name, 200, 0.1) for name in ("b0", "b1", "b2", "b3", "w")],
        "measure": {"frames": True},
    }


def walls_figures(results: Results) -> Iterator[Figure]:
    """Powers in dB less than free space, behind 0 to 3 walls. Of the walker, the frames whose
    power is not that of the straight line to it."""
    rows = [row for row in results.rows("frames") if row["kind"] == "data" and row["src"] == "a"]
    passed = [0.0, *accumulate(WALLS_DB)]
    for i, loss_db in enumerate(passed):
        levels = {row["signal_dbm"] for row in rows if row["dst"] == f"b{i}"}
        (dbm,) = levels
        measured_db = free_dbm(FIRST_WALL_M * (i + 0.5) + 5, 5180) - dbm
        yield figure(f"medium/walls/{i}_dB", measured_db, loss_db, 0 if i == 0 else EXACT_DB)
    off = seen = 0
    for row in rows:
        if row["dst"] != "w":
            continue
        y_m = SPEED_MPS * row["t_s"]
        # Where the way to it crosses each wall.
        crossed = [(FIRST_WALL_M * (i + 1) + 5) / (APART_M + 5) * y_m for i in range(len(WALLS_DB))]
        loss_db = sum(db for db, at_m in zip(WALLS_DB, crossed, strict=True) if at_m < 20)
        expected = free_dbm(math.hypot(APART_M + 5, y_m), 5180) - loss_db
        off += abs(row["signal_dbm"] - expected) > EXACT_DB
        seen += 1
    assert seen > 100
    yield figure("medium/walls/walker_frames-off", off, 0, 0)


def shadowed() -> dict[str, Any]:
    """A station that passes another one, over 200 times the way of correlation."""
    way = [[0, -PASSES_M, ACROSS_M], [WALK_S, PASSES_M, ACROSS_M]]
    return {
        "title": "correlated shadowing",
        "duration_s": WALK_S,
        "station": [station("a", 0), {**station("w", -PASSES_M, ACROSS_M), "waypoints": way}],
        "radio": {
            **FREE_SPACE,
            "shadowing_db": SHADOWING_DB,
            "shadowing_correlation_m": CORRELATION_M,
        },
        "flow": [{**sender("a", "w", 100, 8e-4 / STEP_S), "spacing": "even"}],
        "measure": {"frames": True},
    }


def shadowing(results: Results) -> tuple[float, ...]:
    """The mean square of the deviation in dB from free space, and over it the mean product of two
    that are a lag apart."""
    found = []
    for row in results.rows("frames"):
        if row["kind"] == "data" and row["src"] == "a":
            x_m = -PASSES_M + 2 * PASSES_M / WALK_S * row["t_s"]
            free = free_dbm(math.hypot(x_m, ACROSS_M), 5180)
            found.append((x_m, row["signal_dbm"] - free))
    power = sum(db * db for _, db in found) / len(found)
    lags = []
    for lag_m in LAGS_M:
        pairs = [
            (db, found[at][1])
            for x_m, db in found
            if (at := bisect_left(found, (x_m + lag_m - 0.05, -math.inf))) < len(found)
            and found[at][0] - x_m < lag_m + 0.1
        ]
        assert len(pairs) > len(found) / 2
        lags.append(sum(one * other for one, other in pairs) / len(pairs) / power)
    return power, *lags


def overlap(name: str, heard_db: float, energy_db: float) -> dict[str, Any]:
    """A sender on one channel, and a cell that listens on another, which gets ``heard_db`` of it.
    The threshold of energy is ``energy_db`` above that."""
    profile, channels, *wide = name.split("/")
    own, other = map(int, channels.split("-"))
    heard_dbm = free_dbm(LISTENS_M, 2412) + heard_db
    return {
        "title": f"overlap {name}",
        "duration_s": DURATION_S,
        "station": [
            station("a", 0),
            station("b", -40),
            station("c", LISTENS_M),
            # As far from the sender as its access point.
            station("d", 0, LISTENS_M),
        ],
        "cell": [
            {"access_point": "a", "clients": ["b"], "channel": own},
            {"access_point": "c", "clients": ["d"], "channel": other},
        ],
        "radio": {
            "profile": profile,
            "propagation": "friis",
            "tx_power_dbm": TX_DBM,
            "frequency_mhz": 2412.0,
            "channel": own,
            **({"width_mhz": 40} if wide else {}),
            "leakage": "mask",
            "cs_threshold_dbm": -90.0,
            "rx_threshold_dbm": -80.0,
            "ed_threshold_dbm": heard_dbm + energy_db,
        },
        "flow": [sender("a", "b", 1000, 0.5)],
        "measure": {"frames": True},
    }


def heard_share(results: Results) -> float:
    """How much of the sender's time on the air made the listener's channel busy. What both cells
    send at once, as beacons of one time, is not in it."""
    frames = results.rows("frames")

    def air_s(names: str) -> float:
        """Time for which at least one of these stations sent."""
        total = last = 0.0
        for begin, end in sorted(
            (row["t_s"], row["until_s"]) for row in frames if row["src"] in names
        ):
            total += max(0.0, end - max(begin, last))
            last = max(last, end)
        return total

    (busy_s,) = (row["busy_s"] for row in results.rows("radios") if row["node"] == "d")
    return float((busy_s - air_s("cd")) / (air_s("acd") - air_s("cd")))


KINDS = ("data", "ack", "rts", "cts", "beacon", "broadcast")


def disturbed(interferer: dict[str, Any]) -> dict[str, Any]:
    """Two stations without traffic beside another transmitter."""
    return {
        "title": f"{interferer['kind']}",
        "duration_s": DURATION_S * 2,
        "station": [station("a", 0), station("b", 10)],
        "radio": {
            "profile": "80211g",
            "propagation": "friis",
            "channel": 1,
            "ed_threshold_dbm": -70.0,
        },
        "interferer": [{"name": "x", "x_m": 5.0, "y_m": 5.0, "power_dbm": 10.0, **interferer}],
    }


def disturbed_share(results: Results) -> float:
    """The share of the time for which the other transmitter made a channel busy."""
    radios = {row["node"]: row for row in results.rows("radios")}
    sent_s = sum(radios[name][f"airtime_{kind}_s"] for name in "ab" for kind in KINDS)
    return float((radios["a"]["busy_s"] - sent_s) / (DURATION_S * 2))


def overlaps(part: str, heard_db: dict[str, float]) -> Iterator[Figure]:
    """What makes the listener's channel busy, with a threshold just below and above the energy that
    it gets."""
    cases = [(name, side * BESIDE_DB) for name in heard_db for side in (-1, 1)]
    scenarios = [overlap(name, heard_db[name], side_db) for name, side_db in cases]
    shares = measure_seeds(scenarios, SEEDS, heard_share)
    for (name, side_db), measured in zip(cases, shares, strict=True):
        where, expected, limit = ("below", 1, 0.01) if side_db < 0 else ("above", 0, 0.001)
        yield figure(f"{part}/{name}/{where}_share", measured, expected, limit)


def shadowing_items() -> Iterator[Figure]:
    """Variance and correlation of the deviations along a way, in many surroundings."""
    draws = measure_seeds([shadowed()], SHADOWED_SEEDS, shadowing)[0]
    powers, *lags = zip(*draws, strict=True)
    yield figure("medium/shadowing/variance_dB2", powers, SHADOWING_DB**2, 0.1)
    for lag_m, products in zip(LAGS_M, lags, strict=True):
        off = [product - math.exp(-lag_m / CORRELATION_M) for product in products]
        yield figure(f"medium/shadowing/{lag_m:g}-m_correlation-off", off, 0, 0.06)


def items() -> Iterator[Figure]:
    for found in measure_all([walls()], lambda results: list(walls_figures(results))):
        yield from found
    yield from overlaps("medium/overlap", OVERLAPS)
    oven = {"kind": "microwave", "low_mhz": 2403.0, "high_mhz": 2421.0}
    shares = measure_seeds(
        [disturbed(oven), disturbed({"kind": "bluetooth"})], SEEDS, disturbed_share
    )
    yield figure("medium/interferer/oven_share", shares[0], OVEN_SHARE, 0.005)
    hops = HEARD_HOPS / HOPS * HOP_DUTY
    yield figure("medium/interferer/bluetooth_share", shares[1], hops, 0.03)
