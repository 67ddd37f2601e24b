# SPDX-License-Identifier: Apache-2.0
"""An access point that polls its stations' queues (BSRP), against the times of one poll by hand.

The trigger asks all stations at once, and each answers by a QoS Null frame in its resource unit
(IEEE 802.11ax-2021 9.3.1.22.6, 26.5.5). Uploads by TCP with polls stand beside those without, for
information: how much of them triggers ask for, and what the stations get.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.ofdma import ANSWER_SYMBOL_US, WIDTH_MHZ
from tests.validate.runs import measure_seeds
from tests.validate.saturation import BEST_EFFORT, DELIMITER_BYTES, sender, station

SEEDS = (1, 2, 3)
TRIGGER_BYTES, TRIGGER_USER_BYTES = 28, 5
BUFFER_STATUS_BYTES = 34
"""A QoS Null frame with a BSR Control field: header with QoS and HT control, and FCS."""
TRIGGERED_PREAMBLE_US = 40 + 8
BSRP_MS = 5
STARTED_S = 1.0
"""Until then TCP is in slow start, and stations become known."""
UPLOADS = (2, 4, 8)
ALONE_MBPS = 4900 / 13.6
"""Of a station that has won the channel. One that is asked alone has a longer guard interval."""


@dataclass(frozen=True)
class Poll:
    """Of so many stations at once on 80 MHz."""

    stations: int
    tones: int
    """Data tones of the unit of each (802.11ax-2021 table 27-15)."""

    def lasts_us(self) -> float:
        """From the start of the trigger to the end of the answers, at MCS 3 (16-QAM 1/2)."""
        trigger_us = BEST_EFFORT.control_us(TRIGGER_BYTES + TRIGGER_USER_BYTES * self.stations)
        bits = 8 * (DELIMITER_BYTES + BUFFER_STATUS_BYTES) + 16
        symbols = math.ceil(bits / (2 * self.tones))
        answers_us = TRIGGERED_PREAMBLE_US + ANSWER_SYMBOL_US * symbols
        return trigger_us + BEST_EFFORT.sifs_us + answers_us


POLLS = (Poll(2, 468), Poll(4, 234), Poll(8, 102), Poll(16, 48), Poll(20, 24))
"""20 stations do not fill 37 units of 26 tones, but are too many for 16 of 52."""


def _scenario(stations: int, flows: list[dict[str, Any]], bsrp_ms: float) -> dict[str, Any]:
    names = [f"n{i}" for i in range(stations)]
    return {
        "title": f"{stations} stations whose queues are polled",
        "duration_s": 3.0,
        "station": [
            station("ap", 0.0),
            *(station(name, 20.0, float(i)) for i, name in enumerate(names)),
        ],
        "cell": [{"access_point": "ap", "clients": names}],
        "radio": {
            "profile": "80211ax",
            "width_mhz": WIDTH_MHZ,
            "mcs": 7,
            "queue_packets": 10_000,
            "ofdma": "round-robin",
            "ofdma_uplink": True,
            "ofdma_bsrp_ms": bsrp_ms,
        },
        "flow": flows,
        "measure": {"frames": True},
    }


def quiet(poll: Poll) -> dict[str, Any]:
    """Stations send little, so that nothing is known of their queues when they are polled."""
    names = [f"n{i}" for i in range(poll.stations)]
    flows = [sender(name, "ap", 200, 0.02) for name in names]
    return _scenario(poll.stations, flows, BSRP_MS)


def uploads(stations: int, bsrp_ms: float) -> dict[str, Any]:
    """Each station sends one file without end by TCP."""
    names = [f"n{i}" for i in range(stations)]
    flows = [{"source": name, "destination": "ap", "congestion_control": "cubic"} for name in names]
    return _scenario(stations, flows, bsrp_ms)


def polls_us(results: Results) -> dict[int, list[float]]:
    """How long each poll lasted, by how many stations it asked and all of them answered."""
    asked: dict[float, int] = defaultdict(int)
    answers: dict[float, list[float]] = defaultdict(list)
    begins_s = 0.0
    for row in results.rows("frames"):
        if row["kind"] == "trigger":
            begins_s = row["t_s"]
            asked[begins_s] += 1
        elif row["kind"] == "buffer-status":
            answers[begins_s].append(row["until_s"])
    found: dict[int, list[float]] = defaultdict(list)
    for begins_s, ends in answers.items():
        if len(ends) == asked[begins_s]:
            found[len(ends)].append(1e6 * (max(ends) - begins_s))
    return found


def uploaded(results: Results) -> tuple[float, float]:
    """Mbit/s of all flows, and the share of their full frames that triggers have asked for."""
    triggered = [
        row["rate_mbps"] < ALONE_MBPS - 1
        for row in results.rows("frames")
        if row["kind"] == "data" and row["bytes"] > 1500 and row["t_s"] > STARTED_S
    ]
    mbps = sum(row["goodput_kbps"] for row in results.rows("flows")) / 1000
    return mbps, fmean(triggered)


def items() -> Iterator[Figure]:
    """A figure in us for each number of stations, within 1 %; then pairs for information."""
    found = measure_seeds([quiet(poll) for poll in POLLS], SEEDS, polls_us)
    for poll, draws in zip(POLLS, found, strict=True):
        lasted = [fmean(draw[poll.stations]) for draw in draws]
        yield figure(f"wifi/bsrp/{poll.stations}/poll_us", lasted, poll.lasts_us(), 0.01)
    scenarios = [uploads(n, bsrp_ms) for n in UPLOADS for bsrp_ms in (0, BSRP_MS)]
    pairs = measure_seeds(scenarios, SEEDS, uploaded)
    for stations, without, polled in zip(UPLOADS, pairs[::2], pairs[1::2], strict=True):
        for place, name in enumerate(("Mbps", "asked")):
            yield figure(
                f"wifi/bsrp/{stations}/{name}",
                [draw[place] for draw in polled],
                [draw[place] for draw in without],
                None,
            )
