# SPDX-License-Identifier: Apache-2.0
"""Cells of 802.11be that puncture subchannels, through the kernel, against formulas.

A saturated access point on each kind of pattern has the formula of
`tests.validate.high_efficiency`. Its symbols have the data subcarriers of the large multiple
resource unit that is left (802.11be-2024 table 36-19).

Stations that its access point serves together have units on what is left, by the times of
`tests.validate.eht_ofdma`.

A cell of 80 MHz beside a cell of 20 MHz on its last subchannel sends single frames. If it punctures
that subchannel, both carry what each carries alone. If not, they have the simulation of
`tests.validate.widths`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate import eht_ofdma, high_efficiency, widths
from tests.validate.aggregation import Case
from tests.validate.high_efficiency import PAYLOAD, SEEDS, maximum_mbps, received
from tests.validate.runs import measure_seeds
from tests.validate.saturation import BEST_EFFORT, Scheme, received_mbps, sender, station

MCS = 11
CODED_BITS, CODE = {7: 6, 11: 10}, (5, 6)
"""Bits on a subcarrier by MCS, and both codes (table 36-71)."""
TONES = {20: 234, 40: 468, 80: 980}
"""Data subcarriers of whole channels."""
PATTERNS = {
    "80-20/484+242": (80, 0x8, 702, 11),
    "80-20-beside-the-primary/484+242": (80, 0x2, 702, 11),
    "160-40/996+484": (160, 0x30, 1448, 11),
    "160-20/996+484+242": (160, 0x80, 1682, 11),
    "320-120/2x996+484": (320, 0xF00C, 2428, 7),
    "320-80/3x996": (320, 0x00F0, 2940, 7),
    "320-40/3x996+484": (320, 0x000C, 3408, 7),
}
"""Width in MHz, bitmap, data subcarriers of what is left (table 36-19), and MCS. At a higher one
the 8 us between the starts of frames would limit all of 320 MHz alike."""
BITMAP = 0x8
"""Of 80 MHz on channel 36 it leaves out channel 48."""
SHARED_TONES = {3: 234, 6: 102, 12: 48}
"""Data subcarriers of the unit that each of so many stations has on the other three subchannels."""
BESIDE = widths.Case(80, 20, 48, 40)
PUNCTURED_TONES = 702
STARTED_S, DURATION_S = 0.4, 2.4


def scheme(tones: int, mcs: int, **radio: Any) -> Scheme:
    """Return a rate of one stream on so many data subcarriers."""
    data, coded = CODE
    whole = {**radio, "profile": "80211be", "mcs": mcs, "streams": 1, "guard_ns": 800}
    return Scheme(whole, tones * CODED_BITS[mcs] * data // coded, training_fields=1)


def cases() -> list[tuple[Case, int]]:
    """Return each pattern's case, without RTS and with, and its bitmap."""
    found = []
    for name, (width_mhz, bitmap, tones, mcs) in PATTERNS.items():
        radio = {"width_mhz": width_mhz, **({"band_ghz": 6} if width_mhz == 320 else {})}
        for rts in (False, True):
            case = Case(name, scheme(tones, mcs, **radio), txop_us=0, rts=rts)
            found.append((case, bitmap))
    return found


def scenario(case: Case, bitmap: int) -> dict[str, Any]:
    whole = high_efficiency.scenario(case)
    (cell,) = whole["cell"]
    return {**whole, "cell": [{**cell, "punct_bitmap": bitmap}]}


@dataclass(frozen=True)
class Sharing(eht_ofdma.Case):
    """So many stations together on 80 MHz, of which 20 are punctured."""

    @property
    def tones(self) -> int:
        return SHARED_TONES[self.stations]


def sharing_cases(uplink: bool) -> list[Sharing]:
    return [Sharing(80, stations, uplink) for stations in ((3,) if uplink else SHARED_TONES)]


def sharing(case: Sharing) -> dict[str, Any]:
    whole = eht_ofdma.scenario(case)
    (cell,) = whole["cell"]
    return {**whole, "cell": [{**cell, "punct_bitmap": BITMAP}]}


def exchange_us(tones: int) -> tuple[float, float]:
    """Return how long a frame on so many data subcarriers takes, and a frame with its ACK."""
    one = Case("", scheme(tones, MCS), txop_us=0, rts=False)
    return one.scheme.psdu_us(one.psdu_bytes(1, PAYLOAD)), one.exchange_us(1, PAYLOAD)


def alone_mbps(tones: int) -> float:
    """Return what single frames carry on so many data subcarriers."""
    _, spent_us = exchange_us(tones)
    return 8 * PAYLOAD / (BEST_EFFORT.backoff_us + spent_us)


def expected_mbps(punctures: bool) -> dict[str, float]:
    """Return what the wide cell and the narrow one carry."""
    if punctures:
        return {"wide": alone_mbps(PUNCTURED_TONES), "narrow": alone_mbps(TONES[20])}
    wide, narrow = widths.alone_mbps(BESIDE, lambda width_mhz: exchange_us(TONES[width_mhz]))
    return {"wide": wide, "narrow": narrow}


def beside(punctures: bool) -> dict[str, Any]:
    """A cell of 80 MHz on channel 36, and one of 20 MHz on channel 48."""
    cells = {"wide": {"channel": 36}, "narrow": {"channel": BESIDE.beside, "width_mhz": 20}}
    if punctures:
        cells["wide"]["punct_bitmap"] = BITMAP
    return {
        "title": f"80 MHz beside 20, which it {'punctures' if punctures else 'takes'}",
        "duration_s": DURATION_S,
        "station": [
            station(f"{end}{name}", x_m, y_m)
            for name, x_m in (("wide", 0.0), ("narrow", 2.0))
            for end, y_m in (("a", 0.0), ("b", 3.0))
        ],
        "radio": {"profile": "80211be", "mcs": MCS, "guard_ns": 800, "aggregation": False},
        "cell": [
            {"access_point": f"a{name}", "clients": [f"b{name}"], **keys}
            for name, keys in cells.items()
        ],
        "flow": [
            sender(f"a{name}", f"b{name}", PAYLOAD, 1.5 * mbps)
            for name, mbps in expected_mbps(True).items()
        ],
        "measure": {"packets": True},
    }


def carried(results: Results) -> tuple[dict[str, float], dict[str, float]]:
    """Mbit/s of each flow, and the share of the time that each station's beacons took."""
    duration_s = results.scenario["duration_s"]
    beacons = dict[str, float]()
    for row in results.rows("radios"):
        share = row["airtime_beacon_s"] / duration_s
        beacons[row["node"]] = beacons.get(row["node"], 0.0) + share
    return received_mbps(results, STARTED_S), beacons


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each pattern, and each number of stations together, within
    1 %. Two for each pair of cells, within 1 % of a formula or 3 % of a simulation."""
    yield from _of_patterns()
    for uplink in (False, True):
        yield from _of_sharing(uplink)
    for punctures in (True, False):
        yield from _of_neighbours(punctures)


def _of_patterns() -> Iterator[Figure]:
    found = measure_seeds([scenario(*case) for case in cases()], SEEDS, received)
    for (case, _), draws in zip(cases(), found, strict=True):
        name = f"wifi/puncture/{case.name}{'/rts' if case.rts else ''}_Mbps"
        free = 1 - sum(share for _, share in draws) / len(draws)
        yield figure(name, [mbps for mbps, _ in draws], free * maximum_mbps(case), 0.01)


def _of_sharing(uplink: bool) -> Iterator[Figure]:
    own = sharing_cases(uplink)
    read = partial(received, started_s=own[0].started_s)
    found = measure_seeds([sharing(case) for case in own], SEEDS, read)
    for case, draws in zip(own, found, strict=True):
        free = 1 - sum(share for _, share in draws) / len(draws)
        mbps = [mbps for mbps, _ in draws]
        name = f"wifi/puncture/ofdma/{case.name}_Mbps"
        yield figure(name, mbps, free * case.maximum_mbps(), 0.01)


def _of_neighbours(punctures: bool) -> Iterator[Figure]:
    (draws,) = measure_seeds([beside(punctures)], SEEDS, carried)
    how, limit = ("punctured", 0.01) if punctures else ("shared", 0.03)
    for name, mbps in expected_mbps(punctures).items():
        free = 1 - sum(beacons[f"a{name}"] for _, beacons in draws) / len(draws)
        measured = [flows[f"a{name}-b{name}"] for flows, _ in draws]
        expected = free * mbps if punctures else mbps
        yield figure(f"wifi/puncture/beside-20/{how}/{name}_Mbps", measured, expected, limit)
