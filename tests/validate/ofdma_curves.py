# SPDX-License-Identifier: Apache-2.0
"""Throughput of a cell of 802.11ax over its number of stations, beside curves of others.

Magrin, Avallone, Roy and Zorzi have published curves of their ns-3 (WNS3 2021,
`tests.published.ofdma`). Those of the downlink alone, and of single users both ways, are here.
Curves of the uplink alone are of ns-3.37 (`tests/ns3/ofdma.cc`). All have 20 MHz, MCS 5 of one
stream, a guard interval of 0.8 us, payloads of 1000 octets, and TXOPs of 4.8 ms. No frame is given
up.

After a collision a station here asks for the BlockAck that it misses (IEEE 802.11-2020 10.25.6.3).
Stations of the published curves repeat their frames. A count of slots (`slotted`) does either, and
tells what of a difference that explains.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hoplab.host.results.reader import Results
from hoplab.host.statistics.samples import Sample
from hoplab.many.study.figures import Figure, figure
from tests.published import ofdma as published
from tests.validate.aggregation import BLOCK_ACK_BYTES, WINDOW
from tests.validate.aggregation import Case as Sender
from tests.validate.ns3_program import Program
from tests.validate.ofdma import BLOCK_ACK_REQUEST_BYTES
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    ACK_BYTES,
    BEST_EFFORT,
    Scheme,
    air_us,
    received_mbps,
    sender,
    station,
)

NS3 = Program("ofdma", ("core", "network", "wifi", "mobility", "propagation", "spectrum"))
SEEDS = (1, 2, 3)
PAYLOAD = 1000
TXOP_US = 4800
FULL_TXOP_US = 4736
"""37 frames and their BlockAck end 13 us before. Of 4800 us, ns-3.37 would spend the rest on a
CF-End."""
CHANNEL_MBPS = 65
"""More than any curve reaches."""
STARTED_S = 1.5
"""Until then, stations become known to the access point."""
CW_MIN, CW_MAX = 15, 1023
RADIUS_M = 5
COUNTED_S = 60
"""Virtual seconds of the count of slots."""
PUBLISHED_RUNS, PUBLISHED_Z = 20, 2.576
"""Draws of a published mean, and how many standard errors half its interval is."""
LIMIT, COUNT_LIMIT = 0.05, 0.03
"""Of the published curves, and of those that have more in common."""
Down = Literal["none", "alone", "sequential", "mu-bar"]
DOWN: tuple[Down, ...] = ("alone", "sequential", "mu-bar")
MODELLED, SIMULATED = (2, 4), (9, 17)
"""Numbers of stations at which the published downlink is saturated. Of few stations their
simulation is not, and their model is the reference."""
TRIGGERED, ALONE = (2, 4, 9, 17), (2, 5, 9, 17)
CONTENDING = (1, 9, 19)
"""Beside the access point."""
OFFERED_MBPS = 8
"""To each station, in the published downlink: so five do not saturate it, and nine do."""


@dataclass(frozen=True)
class Case:
    """So many stations, and how packets go to them and come from them."""

    stations: int
    down: Down = "none"
    up: Literal["none", "alone", "triggered"] = "none"
    mbps: float = 0
    """To each station; 0: more than goes through."""
    txop_us: int = TXOP_US
    measured_s: float = 2

    @property
    def radio(self) -> dict[str, Any]:
        keys: dict[str, Any] = {
            "profile": "80211ax",
            "width_mhz": 20,
            "mcs": 5,
            "guard_ns": 800,
            "queue_packets": 10_000,
            "retry_short": 255,
            "retry_long": 255,
            "edca": {"best_effort": {"txop_us": self.txop_us}},
        }
        if self.down in ("sequential", "mu-bar"):
            keys |= {"ofdma": "round-robin", "ofdma_ack": self.down}
        if self.up == "triggered":
            keys |= {"ofdma": "round-robin", "ofdma_uplink": True}
        return keys

    def flows(self) -> list[dict[str, Any]]:
        """As shares of the channel vary, each sender offers some times its own."""
        names = [f"n{i}" for i in range(self.stations)]
        senders = (self.stations if self.up != "none" else 0) + (self.down != "none")
        share = min(2, 3 / senders) * CHANNEL_MBPS
        each = self.mbps or share / self.stations
        down = [sender("ap", name, PAYLOAD, each) for name in names]
        up = [sender(name, "ap", PAYLOAD, share) for name in names]
        return (down if self.down != "none" else []) + (up if self.up != "none" else [])

    def scenario(self) -> dict[str, Any]:
        """Stations stand on a circle about the access point."""
        names = [f"n{i}" for i in range(self.stations)]
        turns = [2 * math.pi * i / self.stations for i in range(self.stations)]
        places = [(RADIUS_M * math.cos(turn), RADIUS_M * math.sin(turn)) for turn in turns]
        stations = [station(name, x, y) for name, (x, y) in zip(names, places, strict=True)]
        return {
            "title": f"{self.stations} stations, {self.down} down, {self.up} up",
            "duration_s": STARTED_S + self.measured_s,
            "station": [station("ap", 0.0), *stations],
            "cell": [{"access_point": "ap", "clients": names}],
            "radio": self.radio,
            "flow": self.flows(),
            "measure": {"packets": True},
        }


def both_ways(results: Results) -> tuple[float, float]:
    """Mbit/s of payload that stations and access point got, in the time that beacons left."""
    beacons_s = sum(row["airtime_beacon_s"] for row in results.rows("radios"))
    free = 1 - beacons_s / results.scenario["duration_s"]
    got = received_mbps(results, STARTED_S)
    down = sum(mbps for name, mbps in got.items() if name.startswith("ap-"))
    return down / free, (sum(got.values()) - down) / free


def measured(cases: Sequence[Case]) -> list[list[tuple[float, float]]]:
    """Of each case and seed."""
    return measure_seeds([case.scenario() for case in cases], SEEDS, both_ways)


SENDER = Sender(
    "HE-20-MCS-5",
    Scheme({"profile": "80211ax", "guard_ns": 800}, symbol_bits=936, training_fields=1),
    TXOP_US,
    rts=False,
)


def slotted(contenders: int, asks: bool, seed: int) -> float:
    """Mbit/s of saturated stations, each alone with its A-MPDUs, by their counters slot by slot.

    After a collision all wait EIFS. A station that `asks` sends a BlockAckReq in its next turn, and
    what of its A-MPDU fits behind that into the TXOP. Another one sends its A-MPDU again.
    """
    draw = random.Random(seed)
    sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
    frames = SENDER.most_frames(PAYLOAD, TXOP_US)
    data_us = SENDER.scheme.psdu_us(SENDER.psdu_bytes(frames, PAYLOAD))
    request_us = control_us(BLOCK_ACK_REQUEST_BYTES)
    answer_us = sifs + control_us(BLOCK_ACK_BYTES + WINDOW["HE"] // 8)
    asked_us = request_us + answer_us + sifs
    rest = SENDER.most_frames(PAYLOAD, TXOP_US - asked_us)
    rest_us = asked_us + SENDER.exchange_us(rest, PAYLOAD)
    windows, missing = [CW_MIN] * contenders, [False] * contenders
    counters = [draw.randint(0, CW_MIN) for _ in range(contenders)]
    time_us, got = 0.0, 0
    while time_us < COUNTED_S * 1e6:
        slots = min(counters)
        turns = [one for one, counter in enumerate(counters) if counter == slots]
        # The end of AIFS is a slot boundary at which a counter falls too (10.23.2.4).
        counters = [max(0, counter - slots - 1) for counter in counters]
        time_us += slots * BEST_EFFORT.slot_us + BEST_EFFORT.difs_us
        if len(turns) > 1:
            lost_us = max(request_us if missing[one] else data_us for one in turns)
            time_us += lost_us + sifs + air_us(ACK_BYTES, 6.0)
        elif missing[turns[0]]:
            time_us, got = time_us + rest_us, got + rest
        else:
            time_us, got = time_us + data_us + answer_us, got + frames
        for one in turns:
            collides = len(turns) > 1
            missing[one] = collides and asks
            windows[one] = min(CW_MAX, 2 * windows[one] + 1) if collides else CW_MIN
            counters[one] = draw.randint(0, windows[one])
    return 8 * PAYLOAD * got / time_us


def in_ns3(case: Case, asks: bool = True) -> list[float]:
    """Mbit/s of the uplink in ns-3.37, by the table or by ns-3 itself."""
    offered = math.ceil(2 * CHANNEL_MBPS / case.stations)
    options = [
        f"-down none -up {case.up} -stations {case.stations} -txop {case.txop_us} "
        f"-bar {asks:d} -offered {offered} -from 1 -time 6 -seed {seed}"
        for seed in SEEDS
    ]
    return [row[1] for row in NS3.rows(("down_Mbps", "up_Mbps"), options)]


def of_published(curve: str, stations: int) -> Sample:
    """The simulation's mean, with its error where the figure has one."""
    row = published.recorded()[curve][stations]
    if row.simulated is None:
        raise ValueError(f"{curve}: {stations} stations were not simulated")
    if not row.half_width:
        return Sample(row.simulated)
    return Sample(row.simulated, row.half_width / PUBLISHED_Z, PUBLISHED_RUNS)


def items() -> Iterator[Figure]:
    """Mbit/s of payload. The published curves have a limit of 5 %. Triggered uplinks of ns-3.37
    have one of 3 %, and so have counts of slots."""
    yield from _downlink()
    yield from _uplink()
    yield from _contention()


def _downlink() -> Iterator[Figure]:
    cases = [Case(n, down) for down in DOWN for n in (*MODELLED, *SIMULATED)]
    cases += [Case(5, down, mbps=OFFERED_MBPS) for down in DOWN]
    for case, draws in zip(cases, measured(cases), strict=True):
        curve = f"downlink-{case.down}"
        is_modelled = case.stations in MODELLED
        model = published.recorded()[curve][case.stations].model
        reference = Sample(model) if is_modelled else of_published(curve, case.stations)
        name = f"wifi/ofdma-curves/{curve}/{case.stations}_Mbps"
        yield figure(name, [down for down, _ in draws], reference, LIMIT)


def _uplink() -> Iterator[Figure]:
    cases = [Case(n, up="triggered") for n in TRIGGERED]
    cases += [Case(n, up="alone", txop_us=FULL_TXOP_US, measured_s=8) for n in ALONE]
    for case, draws in zip(cases, measured(cases), strict=True):
        name = f"wifi/ofdma-curves/uplink-{case.up}/{case.stations}"
        mbps = [up for _, up in draws]
        is_triggered = case.up == "triggered"
        limit = COUNT_LIMIT if is_triggered else None
        yield figure(f"{name}_Mbps", mbps, in_ns3(case), limit)
        if not is_triggered:
            counted = [slotted(case.stations, True, seed) for seed in SEEDS]
            yield figure(f"{name}/slotted_Mbps", mbps, counted, COUNT_LIMIT)
            repeated = [slotted(case.stations, False, seed) for seed in SEEDS]
            theirs = in_ns3(case, asks=False)
            yield figure(f"{name}/slotted-repeated_Mbps", repeated, theirs, None)


def _contention() -> Iterator[Figure]:
    cases = [Case(n, "alone", "alone", measured_s=8) for n in CONTENDING]
    for case, draws in zip(cases, measured(cases), strict=True):
        stations = case.stations
        name = f"wifi/ofdma-curves/contention/{stations}"
        both = [down + up for down, up in draws]
        theirs = of_published("contention-15", stations)
        yield figure(f"{name}_Mbps", both, theirs, LIMIT)
        counted = [slotted(stations + 1, True, seed) for seed in SEEDS]
        yield figure(f"{name}/slotted_Mbps", both, counted, COUNT_LIMIT)
        repeated = [slotted(stations + 1, False, seed) for seed in SEEDS]
        yield figure(f"{name}/slotted-repeated_Mbps", repeated, theirs, COUNT_LIMIT)
