# SPDX-License-Identifier: Apache-2.0
"""A multi-link device of 802.11be that sends to another one, against the sum of its links.

Each link has the formula of `tests.validate.high_efficiency`. What beacons take of the first
link's channel is measured and taken off there.

For information stand the delays of a device whose second link others use, beside those of the
first link alone. Carrascosa et al. (arXiv 2305.02052) found them longer in some cases, where
packets are given to a link before its backoff. Here a link takes them when it wins its channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate import high_efficiency
from tests.validate.aggregation import Case
from tests.validate.high_efficiency import PAYLOAD, SEEDS, STARTED_S, received
from tests.validate.runs import measure_seeds
from tests.validate.saturation import Scheme, sender, station

SYMBOL_BITS = {20: 1950, 40: 3900, 80: 8166, 160: 16333}
"""Of MCS 11 with one stream (802.11be-2024 36.5)."""
CHANNELS = (36, 149, 165)
CASES = ((80,), (80, 80), (80, 20), (20, 80), (160, 40), (80, 40, 20))
"""How wide the links of a device are, the first one first. A lone link is what others add up."""
SENDERS = high_efficiency.SENDERS["EHT"]
MEASURED_MBIT = 900
UNEVEN = {"one-link": None, "idle": 0.0, "busy": 60.0, "saturated": 400.0}
"""What others send on the second link's channel in Mbit/s; None without that link. A link carries
some 150."""
LOAD_MBPS, LOADED_S = 60.0, 6
PERCENTILES = (50, 99)


def maxima_mbps(widths: tuple[int, ...]) -> list[float]:
    """Return what each link carries alone."""
    radio = {"profile": "80211be", "guard_ns": 800}
    schemes = [Scheme(radio, SYMBOL_BITS[width], training_fields=1) for width in widths]
    cases = [Case("", scheme, txop_us=0, rts=False) for scheme in schemes]
    return [case.maximum_mbps(PAYLOAD) for case in cases]


def name_of(widths: tuple[int, ...]) -> str:
    return "+".join(map(str, widths))


def scenario(widths: tuple[int, ...]) -> dict[str, Any]:
    first, *further = widths
    links = [
        {"channel": channel, "width_mhz": width}
        for channel, width in zip(CHANNELS[1:], further, strict=False)
    ]
    most_mbps = sum(maxima_mbps(widths))
    flow = sender("ap", "n0", PAYLOAD, 1.1 * most_mbps / SENDERS)
    return {
        "title": f"Links of {name_of(widths)} MHz",
        "duration_s": round(STARTED_S + MEASURED_MBIT / most_mbps, 1),
        "station": [station("ap", 0.0), station("n0", 20.0)],
        "cell": [
            {"access_point": "ap", "clients": ["n0"], "width_mhz": first, "links": links},
        ],
        "radio": {"profile": "80211be", "mcs": 11, "width_mhz": max(widths)},
        "flow": [{**flow, "name": f"flow{i}"} for i in range(SENDERS)],
        "measure": {"packets": True},
    }


def uneven(others_mbps: float | None) -> dict[str, Any]:
    """A device with datagrams at random times, and others on the channel of its second link."""
    links = [] if others_mbps is None else [{"channel": 149, "width_mhz": 40}]
    own = {**sender("ap", "n0", PAYLOAD, LOAD_MBPS), "name": "own", "spacing": "poisson"}
    others = {**sender("ap2", "n1", PAYLOAD, others_mbps or 0.0), "name": "others"}
    return {
        "title": f"Others send {others_mbps} Mbit/s beside a device's second link",
        "duration_s": LOADED_S,
        "station": [
            station("ap", 0.0),
            station("n0", 10.0),
            station("ap2", 0.0, 10.0),
            station("n1", 10.0, 10.0),
        ],
        "cell": [
            {"access_point": "ap", "clients": ["n0"], "channel": 36, "links": links},
            {"access_point": "ap2", "clients": ["n1"], "channel": 149},
        ],
        "radio": {"profile": "80211be", "mcs": 7, "width_mhz": 40},
        "flow": [own, others] if others_mbps else [own],
        "measure": {"packets": True},
    }


def delays_ms(found: Results) -> list[float]:
    """Return percentiles of the datagrams' one-way times."""
    times_ms = sorted(
        1000 * (row["received_s"] - row["sent_s"])
        for row in found.rows("packets")
        if row["flow"] == "own" and row["received_s"] is not None
    )
    return [times_ms[percent * (len(times_ms) - 1) // 100] for percent in PERCENTILES]


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each case, within 3 %. Delays beside those of one link."""
    found = measure_seeds([scenario(widths) for widths in CASES], SEEDS, received)
    for widths, draws in zip(CASES, found, strict=True):
        first_mbps, *further_mbps = maxima_mbps(widths)
        free = 1 - sum(share for _, share in draws) / len(draws)
        expected = free * first_mbps + sum(further_mbps)
        mbps = [mbps for mbps, _ in draws]
        yield figure(f"wifi/multilink/{name_of(widths)}_Mbps", mbps, expected, 0.03)
    scenarios = [uneven(others_mbps) for others_mbps in UNEVEN.values()]
    percentiles = measure_seeds(scenarios, SEEDS, delays_ms)
    for at, percent in enumerate(PERCENTILES):
        alone, *beside = [[draw[at] for draw in draws] for draws in percentiles]
        for name, delays in zip(list(UNEVEN)[1:], beside, strict=True):
            yield figure(f"wifi/multilink/{name}/p{percent}_ms", delays, alone, None)
