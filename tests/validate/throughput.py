# SPDX-License-Identifier: Apache-2.0
"""One saturated sender against the theoretical maximum throughput.

J. Jun, P. Peddabachagari, M. Sichitiu, "Theoretical Maximum Throughput of IEEE 802.11 and its
Applications", IEEE NCA 2003. The four payloads run at once, in pairs of stations out of each
other's reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoplab.results.reader import Results
from hoplab.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    DSSS,
    DSSS_MBPS,
    OFDM,
    maximum_mbps,
    received_mbps,
    sender,
    station,
)

PAYLOADS = (100, 500, 1000, 1472)
RATES_MBPS = (*DSSS_MBPS, 6.0, 24.0, 54.0)
APART_M = 50_000.0
SEEDS = (1, 2, 3)
STARTED_S = {True: 1.0, False: 0.7}
DURATION_S = {True: 5.0, False: 2.0}
"""By whether it is DSSS: OFDM has five times the frames a second."""


def scenario(rate_mbps: float, rts: bool) -> dict[str, Any]:
    dsss = rate_mbps in DSSS_MBPS
    timing = DSSS if dsss else OFDM
    return {
        "title": f"{rate_mbps:g} Mbit/s, RTS {'on' if rts else 'off'}",
        "duration_s": DURATION_S[dsss],
        "station": [
            station(f"{end}{payload}", i * APART_M + (50.0 if end == "b" else 0.0))
            for i, payload in enumerate(PAYLOADS)
            for end in "ab"
        ],
        "radio": {
            "profile": "80211b" if dsss else "80211a",
            "rate_mbps": rate_mbps,
            "rts_threshold": 0 if rts else 2347,
        },
        "flow": [
            sender(
                f"a{payload}",
                f"b{payload}",
                payload,
                1.1 * maximum_mbps(timing, payload, rate_mbps, rts),
            )
            for payload in PAYLOADS
        ],
        "measure": {"packets": True},
    }


def received(results: Results) -> dict[str, float]:
    """Once iperf3 has connected and the queues are filling."""
    rate_mbps = float(results.scenario["radio"]["rate_mbps"])
    return received_mbps(results, STARTED_S[rate_mbps in DSSS_MBPS])


def items() -> Iterator[Figure]:
    """56 figures in Mbit/s of payload, within 1.5 %."""
    cases = [(rate, rts) for rate in RATES_MBPS for rts in (False, True)]
    documents = [scenario(rate, rts) for rate, rts in cases]
    found = measure_seeds(documents, SEEDS, received)
    for (rate, rts), draws in zip(cases, found, strict=True):
        timing = DSSS if rate in DSSS_MBPS else OFDM
        for payload in PAYLOADS:
            name = f"medium/maximum/{rate:g}-Mbps/{payload}-B{'/rts' if rts else ''}_Mbps"
            theory = maximum_mbps(timing, payload, rate, rts)
            mbps = [draw[f"a{payload}-b{payload}"] for draw in draws]
            yield figure(name, mbps, theory, 0.015)
