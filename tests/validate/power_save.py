# SPDX-License-Identifier: Apache-2.0
"""A client that dozes: its energy, and how long pings wait for it, by hand.

Pings wait for the next beacon, or the next service period of the client. What then follows is an
exchange of frames, whose times are those of one sender without errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.exactness import LUCENT_BRONZE_W
from tests.validate.high_efficiency import SCHEMES as HE_SCHEMES
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    ACK_BYTES,
    BEST_EFFORT,
    QOS_BYTES,
    Timing,
    air_us,
    station,
)
from tests.validate.throughput import SCHEMES as HT_SCHEMES

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
VOICE = Timing(9, 16, 3, 24)
"""EDCA's default for voice, the category of null frames."""
POLL_BYTES = 20
PERIOD_S = 0.1
LIMIT = 0.02
"""Of an exchange: five seeds' mean of 300 backoffs of each frame has an error of 0.4 %."""


@dataclass(frozen=True)
class Way:
    """How a client fetches packets, and what that takes by hand."""

    name: str
    radio: dict[str, Any]
    exchange_us: float
    """From the beacon's end, or the period's begin, until the access point has the answer."""
    period_s: float | None = None


def one_us(timing: Timing, frame_us: float) -> float:
    """A frame with the wait for its turn, and the time in which its receiver turns round."""
    return timing.backoff_us + frame_us + timing.sifs_us


def ways() -> Iterator[Way]:
    def old_us(size: int, rate_mbps: float) -> float:
        return air_us(size, rate_mbps) + EXTENSION_US

    ack_us = TIMING.control_us(ACK_BYTES) + EXTENSION_US
    poll_us = one_us(TIMING, old_us(POLL_BYTES, 6)) + ack_us
    ping_us = one_us(TIMING, old_us(PING_BYTES, 24))
    yield Way("ps-poll", {"profile": "80211g"}, poll_us + ping_us + ack_us + ping_us)
    for name, scheme, period_s in (
        ("u-apsd", HT_SCHEMES["HT-20-MCS-7"], None),
        ("twt", HE_SCHEMES["HE-20-MCS-11-3200"], PERIOD_S),
    ):
        ack_us = air_us(ACK_BYTES, 24)
        null_us = one_us(VOICE, air_us(NULL_BYTES + QOS_BYTES, 6)) + ack_us
        ping_us = one_us(BEST_EFFORT, scheme.air_us(PING_BYTES + QOS_BYTES))
        yield Way(name, scheme.radio, null_us + ping_us + ack_us + ping_us, period_s)


def scenario(
    listen_interval: int,
    pings: int,
    power_save: bool | str = True,
    radio: dict[str, Any] | None = None,
) -> dict[str, Any]:
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
                "power_save": power_save,
                "listen_interval": listen_interval,
                "dtim_period": listen_interval,
            }
        ],
        "radio": {**(radio or {"profile": "80211g"}), "energy": {"preset": "lucent-bronze"}},
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


def exchange_us(way: Way, results: Results) -> float:
    """The mean time from the end of a ping's wait until its answer."""
    ends = [until_s for _, until_s in beacons(results)]
    found = []
    for row in results.rows("exchanges"):
        if row["rtt_ms"] is None:
            continue
        sent_s = row["sent_s"]
        if way.period_s is None:
            begins_s = next(end for end in ends if end > sent_s)
        else:
            begins_s = math.ceil(sent_s / way.period_s) * way.period_s
        found.append(1e6 * (sent_s + row["rtt_ms"] / 1000 - begins_s))
    return sum(found) / len(found)


def periods_j(results: Results) -> tuple[float, float]:
    """An idle client's energy with target wake times, and what it is by hand. Each period has a
    trigger, and a null frame as an answer. Group frames may follow each beacon."""
    measured, by_hand = joules(1, results)
    tx_w, rx_w, idle_w = LUCENT_BRONZE_W
    null_us, ack_us = air_us(NULL_BYTES + QOS_BYTES, 6), air_us(ACK_BYTES, 24)
    idle_us = 2 * (VOICE.backoff_us + VOICE.sifs_us)
    period_j = (idle_us * idle_w + (null_us + ack_us) * (tx_w + rx_w)) / 1e6
    awake_s = (idle_us + 2 * (null_us + ack_us)) / 1e6
    periods = math.ceil(results.scenario["duration_s"] / PERIOD_S)
    return measured, by_hand + periods * (period_j - awake_s * SLEEP_W)


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
    for way in ways():
        document = scenario(1, PINGS, way.name, way.radio)
        ((*measured,),) = measure_seeds([document], SEEDS, partial(exchange_us, way))
        by_hand = [way.exchange_us] * len(SEEDS)
        yield figure(f"wifi/power-save/{way.name}_us", measured, by_hand, LIMIT)
    twt = scenario(1, 0, way.name, way.radio)
    ((*draws,),) = measure_seeds([twt], SEEDS, periods_j)
    yield figure(
        "wifi/power-save/twt-idle_J",
        [own for own, _ in draws],
        [by_hand for _, by_hand in draws],
        0.005,
    )
