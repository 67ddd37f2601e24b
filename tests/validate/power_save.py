# SPDX-License-Identifier: Apache-2.0
"""A client that dozes: its energy, and how long pings wait for it, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.exactness import LUCENT_BRONZE_W
from tests.validate.runs import measure_seeds
from tests.validate.saturation import ACK_BYTES, Timing, air_us, station

SLEEP_W = 0.066
"""Of the same card: Feeney and Nilsson 2001, table 1."""
INTERVAL_S, BEACONS = 0.1024, 201
"""Fewer than in the 30 s after which mac80211 sends a null frame to show that it is there."""
AHEAD_S = 0.001
EXTENSION_US = 6
"""Of OFDM at 2.4 GHz (IEEE 802.11-2020 18.3.2.4)."""
PINGS, PING_BYTES, NULL_BYTES = 60, 120, 28
SEEDS = (1, 2, 3, 4, 5)
TIMING = Timing(9, 10, 15, 6)


def scenario(listen_interval: int, pings: int) -> dict[str, Any]:
    flow = {
        "source": "ap",
        "destination": "n0",
        "protocol": "ping",
        "interval_s": 1.0,
        "start_s": 0.5,
    }
    return {
        "title": f"dozing, every {listen_interval} beacons, {pings} pings",
        "duration_s": pings + 0.5 if pings else INTERVAL_S * BEACONS,
        "station": [station("ap", 0.0), station("n0", 10.0)],
        "cell": [
            {
                "access_point": "ap",
                "clients": ["n0"],
                "power_save": True,
                "listen_interval": listen_interval,
                "dtim_period": listen_interval,
            }
        ],
        "radio": {"profile": "80211g", "energy": {"preset": "lucent-bronze"}},
        "flow": [flow] if pings else [],
        "measure": {"frames": True},
    }


def beacons(results: Results) -> list[tuple[float, float]]:
    rows = [row for row in results.rows("frames") if row["kind"] == "beacon"]
    return [(row["t_s"], row["until_s"]) for row in rows if row["src"] == "ap"]


def joules(listen_interval: int, results: Results) -> tuple[float, float]:
    """The client's energy, and what it is by hand: awake ahead of a beacon and during it."""
    (row,) = (row for row in results.rows("radios") if row["node"] == "n0")
    measured = sum(row[f"energy_{state}_j"] for state in ("tx", "rx", "idle", "sleep"))
    _, rx_w, idle_w = LUCENT_BRONZE_W
    sent = beacons(results)
    heard, air_s = len(sent) / listen_interval, sent[0][1] - sent[0][0]
    asleep_s = results.scenario["duration_s"] - heard * (AHEAD_S + air_s)
    return measured, heard * (AHEAD_S * idle_w + air_s * rx_w) + asleep_s * SLEEP_W


def waits_ms(results: Results) -> tuple[float, float]:
    """The mean round trip of pings, and what it is by hand. A ping waits for the end of the next
    beacon. Then the client says that it is awake, and request and response follow."""
    ends = [until_s for _, until_s in beacons(results)]
    rows = [row for row in results.rows("exchanges") if row["rtt_ms"] is not None]
    waits = [next(end for end in ends if end > row["sent_s"]) - row["sent_s"] for row in rows]
    answer_us = TIMING.sifs_us + TIMING.control_us(ACK_BYTES) + EXTENSION_US
    sizes = (NULL_BYTES, PING_BYTES, PING_BYTES)
    data_us = sum(air_us(size, 24) + EXTENSION_US for size in sizes)
    exchanges_ms = (data_us + len(sizes) * (TIMING.backoff_us + answer_us)) / 1000
    mean_ms = sum(row["rtt_ms"] for row in rows) / len(rows)
    return mean_ms, 1000 * sum(waits) / len(waits) + exchanges_ms


def items() -> Iterator[Figure]:
    for listen_interval in (1, 3):
        ((*draws,),) = measure_seeds(
            [scenario(listen_interval, 0)],
            SEEDS,
            partial(joules, listen_interval),
        )
        name = f"wifi/power-save/{listen_interval}-beacons_J"
        yield figure(name, [own for own, _ in draws], [by_hand for _, by_hand in draws], 0.005)
    ((*draws,),) = measure_seeds([scenario(1, PINGS)], SEEDS, waits_ms)
    name = "wifi/power-save/round-trip_ms"
    yield figure(name, [own for own, _ in draws], [by_hand for _, by_hand in draws], 0.01)
