# SPDX-License-Identifier: Apache-2.0
"""One saturated sender of A-MPDUs, and saturated OFDM stations, beside ns-3.37 in the same setting.

`tests/ns3/wifi.cc` has the same AIFS, backoff, rates of answers, length of an A-MPDU and window. Ad
hoc stations in ns-3 send no beacons, and its packet sockets ask for no address. Hoplab's kernel
does both, which costs a few frames a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoplab.many.study.figures import Figure, figure
from tests.validate import recorded
from tests.validate.aggregation import (
    MOST_OCTETS,
    PAYLOADS,
    STARTED_S,
    Case,
    cases,
    received,
    scenario,
)
from tests.validate.classes import PACKET_BYTES, Class, engine, slotted
from tests.validate.ns3_program import Program
from tests.validate.runs import measure_seeds
from tests.validate.throughput import SEEDS

WIFI = Program("wifi", ("core", "network", "wifi", "mobility", "propagation"))
HEADERS_BYTES = 28
"""UDP and IP: a packet socket's packet has none of its own."""
MODES = {
    "HT-20-MCS-7": "-standard 80211n -mode HtMcs7",
    "HT-40-MCS-15-short": "-standard 80211n -mode HtMcs15 -width 40 -streams 2 -shortGuard 1",
    "VHT-80-MCS-9": "-standard 80211ac -mode VhtMcs9 -width 80",
}
STATIONS = (5, 10, 20, 50)
OFDM_MBPS = (54.0, 6.0)
ONE_CLASS_S, PAIR_S = 5, 10
"""Counted, in ns-3."""
CLASS_SEEDS = range(1, 6)
_TWENTY, _FORTY, _EIGHTY = range(1, 21), range(1, 41), range(1, 81)
EXACT_BYTES = 1498
"""Four frames of them take 1216 us at 54 Mbit/s, a multiple of 32."""


@dataclass(frozen=True)
class Pair:
    """Two classes, and draws of ns-3, as many as leave less than the limit to chance."""

    classes: tuple[Class, Class]
    seeds: Sequence[int]
    packet_bytes: int = PACKET_BYTES
    decides: bool = True


DIFFERENT = {
    "aifsn-2+aifsn-3": Pair((Class(5, 15, 1023, aifsn=2), Class(5, 15, 1023, aifsn=3)), _TWENTY),
    "aifsn-2+aifsn-7": Pair((Class(5, 15, 1023, aifsn=2), Class(5, 15, 1023, aifsn=7)), _EIGHTY),
    "txop-1216+txop-0": Pair(
        (Class(5, 15, 1023, txop_us=1216), Class(5, 15, 1023)), _EIGHTY, EXACT_BYTES
    ),
    "txop-2816+txop-0": Pair(
        (Class(5, 15, 1023, txop_us=2816), Class(5, 15, 1023)), _EIGHTY, decides=False
    ),
    "txop-3008+txop-0": Pair(
        (Class(5, 15, 1023, txop_us=3008), Class(5, 15, 1023)), CLASS_SEEDS, decides=False
    ),
    "video+best-effort": Pair(
        (Class(2, 7, 15, 2, 1216), Class(5, 15, 1023, 3, 0)), _FORTY, EXACT_BYTES
    ),
}
"""Pairs of classes by what tells them apart.

In ns-3 each frame of a TXOP reserves the medium up to the TXOP's limit. Here each reserves it up to
the next acknowledgement (IEEE 802.11-2020 9.2.5.2 allows both). So a limit decides that frames fill
to its end. Nine frames of 1500 octets take 2792 us. Of 2816 us the others wait out the rest, in
which the holder counts two slots. Of 3008 us ns-3 sends a CF-End.
"""


def in_ns3(options: Sequence[str]) -> list[recorded.Row]:
    """Frames a second of the first and the second class, by the table or by ns-3 itself."""
    return WIFI.rows(("frames/s", "frames/s-2"), options)


def options_of(case: Case, payload: int, seed: int) -> str:
    """Of ns-3's program."""
    return (
        f"{MODES[case.name]} -ampdu {MOST_OCTETS[case.scheme.kind]} "
        f"-octets {payload + HEADERS_BYTES} -classes 1:3:15:1023:{case.txop_us:g} "
        f"-rts {case.rts:d} -offered {1.2 * case.maximum_mbps(payload):.0f} "
        f"-from {STARTED_S} -time {STARTED_S + 2} -seed {seed}"
    )


def contending(
    classes: Sequence[Class], mbps: float, seed: int, packet_bytes: int = PACKET_BYTES
) -> str:
    """Options of ns-3's program. A class alone offers half more than the channel's rate, and each
    of two three quarters of it."""
    control = "OfdmRate24Mbps" if mbps > 24 else "OfdmRate6Mbps"
    counted_s = ONE_CLASS_S if len(classes) == 1 else PAIR_S
    offered = 1.5 * mbps / len(classes) / min(one.stations for one in classes)
    return (
        f"-mode OfdmRate{mbps:g}Mbps -control {control} -octets {packet_bytes} "
        f"-classes {'+'.join(one.word() for one in classes)} "
        f"-offered {offered:.3g} -from 1 -time {1 + counted_s} -seed {seed}"
    )


def alike(stations: int, mbps: float, seed: int) -> str:
    """Options of ns-3's program for one class, of which no frame survives a collision. By ns-3's
    default, a table, some of 6 Mbit/s do; and no EIFS follows where the header is lost."""
    return f"{contending([Class(stations, 15, 1023)], mbps, seed)} -errors nist"


def _asked_alone() -> list[str]:
    return [
        options_of(case, payload, seed)
        for case in cases()
        for payload in PAYLOADS
        for seed in SEEDS
    ]


def asked() -> list[str]:
    """The options of every run that a figure is compared with."""
    contended = [
        alike(one, mbps, seed) for mbps in OFDM_MBPS for one in STATIONS for seed in CLASS_SEEDS
    ]
    for pair in DIFFERENT.values():
        contended += pair_options(pair)
    return _asked_alone() + contended


def pair_options(pair: Pair) -> list[str]:
    """Of each draw in ns-3."""
    return [contending(pair.classes, OFDM_MBPS[0], seed, pair.packet_bytes) for seed in pair.seeds]


def items() -> Iterator[Figure]:
    """24 figures of one sender through the kernel and eight of OFDM stations in the engine, within
    3 %."""
    found = iter(in_ns3(_asked_alone()))
    ours = measure_seeds([scenario(case) for case in cases()], SEEDS, received)
    for case, draws in zip(cases(), ours, strict=True):
        options = f"txop-{case.txop_us:g}{'/rts' if case.rts else ''}"
        for payload in PAYLOADS:
            theirs = [8e-6 * payload * next(found)[0] for _ in SEEDS]
            name = f"wifi/ns-3/{case.name}/{options}/{payload}-B_Mbps"
            mbps = [draw[f"a{payload}-b{payload}"] for draw in draws]
            yield figure(name, mbps, theirs, 0.03)
    yield from _ofdm_items()


def _ofdm_items() -> Iterator[Figure]:
    for mbps in OFDM_MBPS:
        for stations in STATIONS:
            rows = in_ns3([alike(stations, mbps, seed) for seed in CLASS_SEEDS])
            one = [Class(stations, 15, 1023)]
            rates = [engine(one, mbps, seed)[0].frames_per_s for seed in CLASS_SEEDS]
            name = f"wifi/ns-3/{mbps:g}-Mbps/{stations}-stations_frames/s"
            yield figure(name, rates, [row[0] for row in rows], 0.03)


def edca_items() -> Iterator[Figure]:
    """Two classes that differ in AIFS, in TXOP limit, in both, beside ns-3 and the slotted
    simulation, within 3 %."""
    for name, pair in DIFFERENT.items():
        rows = in_ns3(pair_options(pair))
        setting = (pair.classes, OFDM_MBPS[0])
        ours = [engine(*setting, seed, pair.packet_bytes) for seed in CLASS_SEEDS]
        counted = [slotted(*setting, seed, pair.packet_bytes) for seed in CLASS_SEEDS]
        for at in range(len(pair.classes)):
            where = f"wifi/edca/{name}/class-{at + 1}"
            rates = [draw[at].frames_per_s for draw in ours]
            theirs = [row[at] for row in rows]
            yield figure(f"{where}_frames/s", rates, theirs, 0.03 if pair.decides else None)
            slots = [draw[at].frames_per_s for draw in counted]
            yield figure(f"{where}/slotted_frames/s", rates, slots, 0.03)
