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
    CTS_BYTES,
    QOS_BYTES,
    RTS_BYTES,
    Scheme,
    Timing,
    air_us,
    station,
)
from tests.validate.throughput import SCHEMES as HT_SCHEMES

HT, HE = HT_SCHEMES["HT-20-MCS-7"], HE_SCHEMES["HE-20-MCS-11-3200"]

SLEEP_W = 0.066
"""Of the same card: Feeney and Nilsson 2001, table 1."""
INTERVAL_S, BEACONS = 0.1024, 201
"""Fewer than in the 30 s after which mac80211 sends a null frame to show that it is there."""
AHEAD_S = 0.001
EXTENSION_US = 6
"""Of OFDM at 2.4 GHz (IEEE 802.11-2020 18.3.2.4)."""
PINGS, MANY_PINGS, PING_BYTES, NULL_BYTES = 60, 300, 120, 28
SEEDS = (1, 2, 3, 4, 5)
TIMING = Timing(9, 10, 15, 6)
VOICE = Timing(9, 16, 3, 24)
"""EDCA's default for voice, the category of null frames."""
POLL_BYTES, POLL_MBPS = 20, 1
"""mac80211 sends control frames at the lowest rate."""
PERIOD_S = 0.1
BESIDE_PERIODS_S = 0.53
LIMIT = 0.02
"""Of an exchange: five seeds' mean of 300 pings' backoffs has an error of 0.8 %."""


@dataclass(frozen=True)
class Way:
    """How a client fetches packets, and what that takes by hand."""

    name: str
    radio: dict[str, Any]
    exchange_us: float
    """From the beacon's end, or the period's begin, until the access point has the answer."""
    period_s: float | None = None


def one_us(timing: Timing, frame_us: float, ack_us: float) -> float:
    """A frame with the wait for its turn and its acknowledgement. At its end the host has it."""
    return timing.backoff_us + frame_us + timing.sifs_us + ack_us


def saved_us(timing: Timing) -> float:
    """What a sender waits less in the mean that has just sent another frame. Its backoff after that
    (IEEE 802.11-2020 10.3.4.3) counts down with that of the frame between, and may not be over."""
    window = range(timing.cw_min + 1)
    left = [own - other for own in window for other in window if own > other]
    slots = sum(timing.cw_min / 2 - each for each in left) / len(window) ** 2
    return slots * timing.slot_us


def protection_us() -> float:
    """RTS and CTS, by which mac80211 wakes the antennas of a client that saves power (SMPS). That
    is for rates of several streams, which it believes to use."""
    return VOICE.control_us(RTS_BYTES) + VOICE.control_us(CTS_BYTES) + 2 * VOICE.sifs_us


def trigger_us(scheme: Scheme) -> float:
    """A QoS null frame on the air, which has the rate of data."""
    return scheme.air_us(NULL_BYTES + QOS_BYTES)


def ways() -> Iterator[Way]:
    ack_us = TIMING.control_us(ACK_BYTES) + EXTENSION_US
    poll_us = one_us(TIMING, air_us(POLL_BYTES, POLL_MBPS), ack_us)
    ping_us = one_us(TIMING, air_us(PING_BYTES, 24) + EXTENSION_US, ack_us)
    together_us = poll_us + 2 * ping_us - 2 * saved_us(TIMING)
    yield Way("ps-poll", {"profile": "80211g"}, together_us)
    for name, scheme, period_s in (("u-apsd", HT, None), ("twt", HE, PERIOD_S)):
        # At the begin of a period the channel is idle, after a beacon it has just been busy.
        wait_us = VOICE.backoff_us if period_s is None else 0.0
        ask_us = wait_us + trigger_us(scheme) + VOICE.sifs_us + VOICE.control_us(ACK_BYTES)
        ping_us = one_us(
            BEST_EFFORT,
            scheme.air_us(PING_BYTES + QOS_BYTES),
            BEST_EFFORT.control_us(ACK_BYTES),
        )
        more_us = protection_us() if scheme == HE else 0.0
        yield Way(name, scheme.radio, ask_us + more_us + 2 * ping_us, period_s)


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
        "start_s": BESIDE_PERIODS_S if power_save == "twt" else 0.5,
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
    found: list[float] = []
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
    sent_us = trigger_us(HE) + VOICE.control_us(ACK_BYTES)
    rts_us, cts_us = VOICE.control_us(RTS_BYTES), VOICE.control_us(CTS_BYTES)
    idle_us = VOICE.backoff_us + 4 * VOICE.sifs_us
    own_us, heard_us = sent_us + cts_us, sent_us + rts_us
    period_j = (idle_us * idle_w + own_us * tx_w + heard_us * rx_w) / 1e6
    awake_s = (idle_us + own_us + heard_us) / 1e6
    periods = math.ceil(results.scenario["duration_s"] / PERIOD_S)
    return measured, by_hand + periods * (period_j - awake_s * SLEEP_W)


PHONE_S = 20.0
PACKETS, PACKET_BYTES = 200, 1448
"""Of a transfer, which TCP's slow start doubles round trip by round trip."""
PHONES: tuple[bool | str, ...] = (False, True, "ps-poll", "u-apsd", "twt")


def phone(power_save: bool | str, flow: dict[str, Any] | None) -> dict[str, Any]:
    """A client of 802.11ax, and a server behind 20 ms of wire there and back."""
    own = {"source": "server", "destination": "phone"}
    return {
        "title": f"a phone, power save {power_save}",
        "duration_s": PHONE_S,
        "station": [station("ap", 0.0), station("phone", 10.0), {"name": "server", "radio": False}],
        "cell": [{"access_point": "ap", "clients": ["phone"], "power_save": power_save}],
        "link": [{"ends": ["ap", "server"], "rate_mbps": 100.0, "delay_ms": 10.0}],
        "radio": {"profile": "80211ax", "energy": {"preset": "lucent-bronze"}},
        "flow": [] if flow is None else [{**own, "start_s": 1.03, **flow}],
    }


def phone_j(results: Results) -> float:
    (row,) = (row for row in results.rows("radios") if row["node"] == "phone")
    return float(sum(row[f"energy_{state}_j"] for state in ("tx", "rx", "idle", "sleep")))


def phone_ms(results: Results) -> float:
    found = [row["rtt_ms"] for row in results.rows("exchanges") if row["rtt_ms"] is not None]
    return float(sum(found) / len(found))


def transfer_s(results: Results) -> float:
    (row,) = results.rows("flows")
    return float(row["stop_s"] - row["start_s"])


def phones() -> Iterator[Figure]:
    """What each way costs and saves beside a phone that is always awake, for information."""
    transfer = {"protocol": "tcp", "packets": PACKETS, "packet_bytes": PACKET_BYTES}
    ping = {"protocol": "ping", "interval_s": 1.0}
    for what, flow, read in (
        ("idle_J", None, phone_j),
        ("ping_ms", ping, phone_ms),
        ("ping_J", ping, phone_j),
        ("transfer_s", transfer, transfer_s),
        ("transfer_J", transfer, phone_j),
    ):
        documents = [phone(each, flow) for each in PHONES]
        awake, *others = measure_seeds(documents, SEEDS, read)
        for name, found in zip(("dynamic", *PHONES[2:]), others, strict=True):
            yield figure(f"wifi/power-save/{name}/{what}", found, awake, None)


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
        document = scenario(1, MANY_PINGS, way.name, way.radio)
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
    yield from phones()
