# SPDX-License-Identifier: Apache-2.0
"""One saturated sender against the theoretical maximum throughput.

J. Jun, P. Peddabachagari, M. Sichitiu, "Theoretical Maximum Throughput of IEEE 802.11 and its
Applications", IEEE NCA 2003. The four payloads run at once, in pairs of stations out of each
other's reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    BEST_EFFORT,
    DSSS,
    DSSS_MBPS,
    HEADERS_BYTES,
    OFDM,
    QOS_BYTES,
    SHORT,
    Scheme,
    Timing,
    air_us,
    maximum_mbps,
    received_mbps,
    sender,
    station,
)

PAYLOADS = (100, 500, 1000, 1472)
RATES_MBPS = (*DSSS_MBPS, 6.0, 24.0, 54.0)
SHORT_MBPS = ((2.0, 2), (5.5, 2), (11.0, 2), (11.0, 1))
"""Rates with short preambles, and of their control frames."""
SCHEMES = {
    "HT-20-MCS-7": Scheme(
        {"profile": "80211n", "mcs": 7, "width_mhz": 20, "guard_ns": 800},
        symbol_bits=260,
        training_fields=1,
    ),
    "HT-40-MCS-15-short": Scheme(
        {"profile": "80211n", "mcs": 15, "width_mhz": 40, "guard_ns": 400},
        symbol_bits=1080,
        training_fields=2,
    ),
    "VHT-80-MCS-9": Scheme(
        {"profile": "80211ac", "mcs": 9, "width_mhz": 80, "guard_ns": 800, "streams": 1},
        symbol_bits=1560,
        training_fields=1,
    ),
    "VHT-80-MCS-9-2-short": Scheme(
        {"profile": "80211ac", "mcs": 9, "width_mhz": 80, "guard_ns": 400, "streams": 2},
        symbol_bits=3120,
        training_fields=2,
        encoders=2,
    ),
}
APART_M = 50_000.0
SEEDS = (1, 2, 3)
STARTED_S = {True: 1.0, False: 0.7}
DURATION_S = {True: 5.0, False: 2.0}
"""By whether it is DSSS: OFDM has five times the frames a second."""


@dataclass(frozen=True)
class Case:
    """A rate."""

    name: str
    radio: dict[str, Any]
    timing: Timing
    data_us: Callable[[int], float]
    """Time on the air of a frame with so many octets of payload."""

    def maximum_mbps(self, payload: int, rts: bool) -> float:
        return maximum_mbps(self.timing, payload, self.data_us(payload), rts)


def legacy_us(rate_mbps: float, short: bool, payload: int) -> float:
    return air_us(payload + HEADERS_BYTES, rate_mbps, short)


def ht_us(scheme: Scheme, payload: int) -> float:
    return scheme.air_us(payload + HEADERS_BYTES + QOS_BYTES)


def cases() -> list[Case]:
    before_ht = [
        Case(
            f"{rate:g}-Mbps",
            {"profile": "80211b" if rate in DSSS_MBPS else "80211a", "rate_mbps": rate},
            DSSS if rate in DSSS_MBPS else OFDM,
            partial(legacy_us, rate, False),
        )
        for rate in RATES_MBPS
    ]
    short = [
        Case(
            f"{rate:g}-Mbps-short-{basic}",
            {
                "profile": "80211b",
                "rate_mbps": rate,
                "basic_rate_mbps": basic,
                "preamble": "short",
            },
            SHORT[basic],
            partial(legacy_us, rate, True),
        )
        for rate, basic in SHORT_MBPS
    ]
    of_ht = [
        Case(
            name,
            {**scheme.radio, "aggregation": False},
            BEST_EFFORT,
            partial(ht_us, scheme),
        )
        for name, scheme in SCHEMES.items()
    ]
    return before_ht + short + of_ht


def scenario(case: Case, rts: bool) -> dict[str, Any]:
    return {
        "title": f"{case.name}, RTS {'on' if rts else 'off'}",
        "duration_s": DURATION_S[case.radio["profile"] == "80211b"],
        "station": [
            station(f"{end}{payload}", i * APART_M + (50.0 if end == "b" else 0.0))
            for i, payload in enumerate(PAYLOADS)
            for end in "ab"
        ],
        "radio": {**case.radio, "rts_threshold": 0 if rts else 2347},
        "flow": [
            sender(f"a{payload}", f"b{payload}", payload, 1.1 * case.maximum_mbps(payload, rts))
            for payload in PAYLOADS
        ],
        "measure": {"packets": True},
    }


def received(results: Results) -> dict[str, float]:
    """Once the queues are filling."""
    return received_mbps(results, STARTED_S[results.scenario["radio"]["profile"] == "80211b"])


def items() -> Iterator[Figure]:
    """120 figures in Mbit/s of payload, within 1.5 %."""
    pairs = [(case, rts) for case in cases() for rts in (False, True)]
    found = measure_seeds([scenario(case, rts) for case, rts in pairs], SEEDS, received)
    for (case, rts), draws in zip(pairs, found, strict=True):
        for payload in PAYLOADS:
            name = f"medium/maximum/{case.name}/{payload}-B{'/rts' if rts else ''}_Mbps"
            mbps = [draw[f"a{payload}-b{payload}"] for draw in draws]
            yield figure(name, mbps, case.maximum_mbps(payload, rts), 0.015)
