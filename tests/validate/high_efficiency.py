# SPDX-License-Identifier: Apache-2.0
"""An access point of 802.11ax or 802.11be that sends to its client, against the formula.

All goes through the kernel. VHT on 160 MHz is there too, between two stations.

The formula is that of `tests.validate.aggregation`, with HE's preambles, symbols and window
(802.11ax-2021 27.3.4, 27.4.3; Sharon, Alpert 2017). What an access point's beacons take of the
channel is measured and taken off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import Case
from tests.validate.runs import measure_seeds
from tests.validate.saturation import Scheme, received_mbps, sender, station

PAYLOAD = 1472
SENDERS = {"HE": 4, "VHT": 4, "EHT": 16}
"""A socket holds some 90 packets by default, less than a window of 256, and of 1024."""
STARTED_S = 0.4
"""When the first windows are over."""
MEASURED_MBIT = {"HE": 450, "VHT": 450, "EHT": 1500}
"""What is to be received at least, so that an A-MPDU more or less does not matter."""
SEEDS = (1, 2, 3, 4, 5)
CCMP_BYTES = 16
"""Header and MIC of each encrypted frame (IEEE 802.11-2020 12.5.3.2)."""


def _he(
    mcs: int,
    streams: int,
    width_mhz: int,
    guard_ns: int,
    symbol_bits: int,
    profile: str = "80211ax",
    **more: float,
) -> Scheme:
    radio = {
        **more,
        "profile": profile,
        "mcs": mcs,
        "streams": streams,
        "width_mhz": width_mhz,
        "guard_ns": guard_ns,
    }
    return Scheme(radio, symbol_bits, streams)


SCHEMES = {
    "HE-20-MCS-11-3200": _he(11, 1, 20, 3200, 1950),
    "HE-40-MCS-7-2-1600": _he(7, 2, 40, 1600, 4680),
    "HE-80-MCS-11-2-800": _he(11, 2, 80, 800, 16333),
    "HE-160-MCS-9-1-800": _he(9, 1, 160, 800, 13066),
    "VHT-160-MCS-8": Scheme(
        {"profile": "80211ac", "mcs": 8, "width_mhz": 160, "guard_ns": 800, "streams": 1},
        symbol_bits=2808,
        training_fields=1,
        encoders=2,
    ),
    "HE-80-MCS-11-2-800/6-GHz": _he(11, 2, 80, 800, 16333, band_ghz=6),
    "HE-160-MCS-9-2-800/6-GHz": _he(9, 2, 160, 800, 26133, band_ghz=6),
    "EHT-20-MCS-13-3200": _he(13, 1, 20, 3200, 2340, "80211be"),
    "EHT-80-MCS-12-2-800": _he(12, 2, 80, 800, 17640, "80211be"),
    "EHT-320-MCS-13-1-800/6-GHz": _he(13, 1, 320, 800, 39200, "80211be", band_ghz=6),
}
"""Data bits of a symbol are those of the standard's tables."""


def cases() -> list[Case]:
    return [
        Case(name, scheme, txop_us=0, rts=rts)
        for name, scheme in SCHEMES.items()
        for rts in (False, True)
    ]


def is_secured(case: Case) -> bool:
    """A cell at 6 GHz must have WPA3."""
    return "band_ghz" in case.scheme.radio


def maximum_mbps(case: Case) -> float:
    """The payload's share of frames that are encrypted, if the cell is secured."""
    frame = PAYLOAD + (CCMP_BYTES if is_secured(case) else 0)
    return case.maximum_mbps(frame) * PAYLOAD / frame


def duration_s(case: Case) -> float:
    return round(STARTED_S + MEASURED_MBIT[case.scheme.kind] / maximum_mbps(case), 1)


def scenario(case: Case) -> dict[str, Any]:
    senders = SENDERS[case.scheme.kind]
    mbps = 1.1 * maximum_mbps(case) / senders
    flows = [{**sender("ap", "n0", PAYLOAD, mbps), "name": f"flow{i}"} for i in range(senders)]
    security = "wpa3" if is_secured(case) else "open"
    cell = {"cell": [{"access_point": "ap", "clients": ["n0"], "security": security}]}
    return {
        "title": f"{case.name}, RTS {'on' if case.rts else 'off'}",
        "duration_s": duration_s(case),
        "station": [station("ap", 0.0), station("n0", 20.0)],
        **({} if case.scheme.kind == "VHT" else cell),
        "radio": {**case.scheme.radio, "rts_threshold": 0 if case.rts else 2347},
        "flow": flows,
        "measure": {"packets": True},
    }


def received(results: Results, started_s: float = STARTED_S) -> tuple[float, float]:
    """Mbit/s of all flows, and the share of the time that beacons took."""
    beacons_s = sum(row["airtime_beacon_s"] for row in results.rows("radios"))
    return sum(received_mbps(results, started_s).values()), beacons_s / results.scenario[
        "duration_s"
    ]


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each case, within 1 %."""
    found = measure_seeds([scenario(case) for case in cases()], SEEDS, received)
    for case, draws in zip(cases(), found, strict=True):
        name = f"wifi/he/{case.name}{'/rts' if case.rts else ''}_Mbps"
        free = 1 - sum(share for _, share in draws) / len(draws)
        yield figure(name, [mbps for mbps, _ in draws], free * maximum_mbps(case), 0.01)
