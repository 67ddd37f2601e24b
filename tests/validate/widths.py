# SPDX-License-Identifier: Apache-2.0
"""A wide cell beside a narrow one on its secondary channels, through the kernel, against a
simulation of the two access functions alone.

Both access points send single frames without a pause. The wide one does not sense the narrow one,
which is beside its primary channel. Before each frame it looks back for PIFS, and leaves out what
was busy (IEEE 802.11-2020 10.23.2.5). The narrow one hears each frame that takes its channel too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    ACK_BYTES,
    BEST_EFFORT,
    HEADERS_BYTES,
    QOS_BYTES,
    Scheme,
    received_mbps,
    sender,
    station,
)

PAYLOAD = 1472
SYMBOL_BITS = {20: 312, 40: 648, 80: 1404}
"""Of VHT's MCS 8 with one stream (21.5)."""
PIFS_US = BEST_EFFORT.sifs_us + BEST_EFFORT.slot_us
CCA_US = 4.0
"""A station that starts within it of another start has not noticed that one (aCCATime, table
17-21)."""
EIFS_US = BEST_EFFORT.sifs_us + 44 + BEST_EFFORT.difs_us
"""With best effort's AIFS and an ACK at 6 Mbit/s (10.3.2.3.7)."""
STARTED_S, DURATION_S = 0.4, 2.4
SEEDS = (1, 2, 3, 4, 5)
SIMULATED_US = 20e6
MBPS_A_FRAME = 8 * PAYLOAD / SIMULATED_US

Exchange = Callable[[int], tuple[float, float]]
"""How long a frame on a width in MHz takes, and a frame with its ACK."""


@dataclass(frozen=True)
class Case:
    """The wide cell is on channel 36. ``beside`` is the narrow one's channel, and ``narrowed`` what
    the wide one has beside it."""

    wide_mhz: int
    narrow_mhz: int
    beside: int
    narrowed_mhz: int

    @property
    def name(self) -> str:
        return f"{self.wide_mhz}-MHz-beside-{self.narrow_mhz}-on-{self.beside}"


CASES = (Case(80, 20, 44, 40), Case(80, 20, 40, 20), Case(40, 20, 40, 20), Case(80, 40, 44, 40))


def exchange_us(width_mhz: int) -> tuple[float, float]:
    """Return how long a frame takes, and a frame with its ACK."""
    radio: dict[str, Any] = {"profile": "80211ac", "guard_ns": 800}
    scheme = Scheme(radio, SYMBOL_BITS[width_mhz], training_fields=1)
    data_us = scheme.air_us(PAYLOAD + HEADERS_BYTES + QOS_BYTES)
    return data_us, data_us + BEST_EFFORT.sifs_us + BEST_EFFORT.control_us(ACK_BYTES)


class Function:
    """An access function that always has a frame."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._window = BEST_EFFORT.cw_min
        self.slots = self._draw.randint(0, self._window)
        self.from_us = BEST_EFFORT.difs_us
        self.frames = 0

    @property
    def at_us(self) -> float:
        return self.from_us + self.slots * BEST_EFFORT.slot_us

    def done(self, end_us: float) -> None:
        self.frames += 1
        self._window = BEST_EFFORT.cw_min
        self._next(end_us + BEST_EFFORT.difs_us)

    def lost(self, end_us: float) -> None:
        self._window = 2 * self._window + 1
        self._next(end_us + EIFS_US)

    def _next(self, from_us: float) -> None:
        self.slots = self._draw.randint(0, self._window)
        self.from_us = from_us

    def defer(self, now_us: float, until_us: float) -> None:
        """The channel is busy; the slot that has begun is counted (10.23.2.4)."""
        if now_us >= self.from_us:
            self.slots -= math.floor((now_us - self.from_us) / BEST_EFFORT.slot_us) + 1
        self.from_us = until_us + BEST_EFFORT.difs_us


def alone_mbps(case: Case, exchange_us: Exchange = exchange_us) -> tuple[float, float]:
    """Payload of the wide cell and of the narrow one, whose frames last so long."""
    wide, narrow = Function(1), Function(2)
    whole, part, own = map(exchange_us, (case.wide_mhz, case.narrowed_mhz, case.narrow_mhz))
    busy_us = -math.inf
    """Until when the narrow cell's frame, or its ACK, is on the air."""
    while min(wide.at_us, narrow.at_us) < SIMULATED_US:
        now_us = wide.at_us
        if narrow.at_us < now_us:
            start_us = narrow.at_us
            busy_us = start_us + own[1]
            narrow.done(busy_us)
        elif now_us < busy_us + PIFS_US:
            wide.done(now_us + part[1])
        elif narrow.at_us <= now_us + CCA_US:
            busy_us = narrow.at_us + own[0]
            wide.lost(now_us + whole[0])
            narrow.lost(max(busy_us, now_us + whole[0]))
        else:
            narrow.defer(now_us, now_us + whole[1])
            wide.done(now_us + whole[1])
    return wide.frames * MBPS_A_FRAME, narrow.frames * MBPS_A_FRAME


def scenario(case: Case) -> dict[str, Any]:
    rates = alone_mbps(case)
    return {
        "title": case.name,
        "duration_s": DURATION_S,
        "station": [
            station(f"{end}{name}", x_m, y_m)
            for name, x_m in (("wide", 0.0), ("narrow", 2.0))
            for end, y_m in (("a", 0.0), ("b", 3.0))
        ],
        "radio": {"profile": "80211ac", "mcs": 8, "channel": 36, "aggregation": False},
        "cell": [
            {
                "access_point": f"a{name}",
                "clients": [f"b{name}"],
                "channel": channel,
                "width_mhz": width_mhz,
            }
            for name, channel, width_mhz in (
                ("wide", 36, case.wide_mhz),
                ("narrow", case.beside, case.narrow_mhz),
            )
        ],
        "flow": [
            sender(f"a{name}", f"b{name}", PAYLOAD, 1.5 * mbps)
            for name, mbps in zip(("wide", "narrow"), rates, strict=True)
        ],
        "measure": {"packets": True},
    }


def received(results: Results) -> dict[str, float]:
    return received_mbps(results, STARTED_S)


def items() -> Iterator[Figure]:
    """Eight figures in Mbit/s of payload, within 3 %."""
    found = measure_seeds([scenario(case) for case in CASES], SEEDS, received)
    for case, draws in zip(CASES, found, strict=True):
        for cell, mbps in zip(("wide", "narrow"), alone_mbps(case), strict=True):
            measured = [draw[f"a{cell}-b{cell}"] for draw in draws]
            yield figure(f"wifi/widths/{case.name}/{cell}_Mbps", measured, mbps, 0.03)
