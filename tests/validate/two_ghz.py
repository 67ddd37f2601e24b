# SPDX-License-Identifier: Apache-2.0
"""802.11n at 2.4 GHz: one saturated sender against the formula, and overlapping channels by hand.

The formula is that of `tests.validate.aggregation`. SIFS is 10 us there, and OFDM's frames end with
6 us of silence (IEEE 802.11-2020 18.3.2.4, 19.4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import PAYLOADS, Case, received, scenario
from tests.validate.air import overlaps
from tests.validate.runs import measure_seeds
from tests.validate.throughput import SCHEMES, SEEDS

CHANNELS = {"HT-20-MCS-7": 6, "HT-40-MCS-15-short": 11}
"""The other half of 40 MHz is below channel 11."""


def _slope(mhz: float, from_db: float, to_db: float) -> float:
    """MHz at 0 dBr with as much power as a stretch that falls by so many dB."""
    first, last = 10 ** (from_db / 10), 10 ** (to_db / 10)
    return mhz * (first - last) / math.log(first / last)


def _half(width_mhz: float) -> float:
    """Half of HT's mask by 19.3.18.1, whose flat top ends 1 MHz before the channel."""
    steep = _slope(2, 0, -20) + _slope(width_mhz / 2 - 1, -20, -28)
    return width_mhz / 2 - 1 + steep + _slope(width_mhz / 2, -28, -45)


def _at(mhz: float, width_mhz: float) -> float:
    """dBr of HT's mask between one half and one width from its centre."""
    begin, last = width_mhz / 2 + 1, width_mhz
    return -20 - 8 * (mhz - begin) / (last - begin)


OVERLAPS = {
    # Of 802.11n at 10 MHz the filter takes 1 to 19 MHz from the sender's centre. On 40 MHz the
    # channels of 1 and 6 are 25 MHz apart, and it takes 6 to 44 MHz.
    "80211n/1-3": 10
    * math.log10((8 + _slope(2, 0, -20) + _slope(8, -20, _at(19, 20))) / (2 * _half(20))),
    "80211n/1-6/40-MHz": 10
    * math.log10(
        (13 + _slope(2, 0, -20) + _slope(19, -20, -28) + _slope(4, -28, -28 - 17 * 4 / 20))
        / (2 * _half(40))
    ),
}


def cases() -> list[Case]:
    return [
        Case(name, replace(scheme, radio={**scheme.radio, "channel": channel}), 0, rts)
        for name, channel in CHANNELS.items()
        for rts in (False, True)
        if (scheme := SCHEMES[name])
    ]


def items() -> Iterator[Figure]:
    """Eight figures in Mbit/s of payload, within 1 %, and four shares of the time."""
    found = measure_seeds([scenario(case) for case in cases()], SEEDS, received)
    for case, draws in zip(cases(), found, strict=True):
        for payload in PAYLOADS:
            name = f"wifi/2-ghz/{case.name}{'/rts' if case.rts else ''}/{payload}-B_Mbps"
            mbps = [draw[f"a{payload}-b{payload}"] for draw in draws]
            yield figure(name, mbps, case.maximum_mbps(payload), 0.01)
    yield from overlaps("wifi/2-ghz/overlap", OVERLAPS)
