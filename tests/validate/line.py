# SPDX-License-Identifier: Apache-2.0
"""Stations on a line beside ns-3.37: ranges, hidden terminals, capture, and chains of hops.

IEEE 802.11a with bit errors by ns-3's NIST model, in `tests/ns3/line.cc` and through the kernel.
Four of ns-3's ways are brought to Hoplab's (`ALIKE`), and no frame of a chain is given up. The
chains with ns-3's own ways stand beside as information.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.host.statistics.samples import jain
from hoplab.many.study.figures import Figure, figure
from tests.validate.ns3_program import Program
from tests.validate.runs import goodput_kbps, measure_seeds
from tests.validate.saturation import received_mbps, sender, station

LINE = Program(
    "line",
    (
        *("core", "network", "wifi", "mobility", "propagation", "internet", "applications"),
        "traffic-control",
    ),
)
COLUMNS = ("kbit/s", "kbit/s-2")
ALIKE = "-errors nist -host 40 -navReset 0 -senseAll 1"
"""Options with which ns-3 does as Hoplab does. Its relays by themselves forward when a frame ends,
before their ACK and without backoff. After 40 us they are sending the ACK, and so draw a backoff,
as Hoplab's do. An RTS without data after it ends no NAV (IEEE 802.11-2020 10.3.2.4 permits both).
A frame that a radio cannot follow, as it came with or during another, keeps its channel busy, and
EIFS follows. By itself ns-3.37 counts on where a header fails, and waits DIFS. Its default model of
errors is a table."""
OWN = "-errors table -host 0 -navReset 1 -senseAll 0"
"""ns-3's own ways."""
NEVER = 255
"""Tries of a frame that is not given up. An RTS is never given up in ns-3.37: it counts failed RTS,
but then compares the count of failed data frames."""
TRIES = 7
SINCE_S = 1.0
DATAGRAM, SEGMENT = 1000, 1448
SEEDS = range(1, 6)
CHAIN_SEEDS = {True: SEEDS, False: range(1, 21)}
"""By whether it is TCP: as many as leave less than the limit to chance."""
HOPS = range(1, 8)
HOP_M = 12.0
"""With exponent 4: -74.9 dBm over a hop, -86.9 over two, so only neighbours hear each other."""
SENSED_DBM = -82.0
ANY_DBM = -110.0
"""Below what can be received at any rate."""
HALF_M = {
    ("log-distance", 6): 92.0,
    ("log-distance", 24): 44.4,
    ("log-distance", 54): 22.1,
    ("two-ray", 6): 656.0,
    ("two-ray", 24): 296.0,
    ("two-ray", 54): 104.0,
}
"""About where half of the frames of a rate in Mbit/s are lost. Around it are receivers."""
STEPS = [1 + 0.01 * k for k in range(-5, 6)]
RANGE_PACKETS_S = 40.0


@dataclass(frozen=True)
class Setting:
    """The same in both worlds. A flow is a pair of stations, numbered along the line."""

    places_m: Sequence[float]
    flows: Sequence[tuple[int, int]]
    tcp: bool = False
    rts: bool = False
    tries: int = NEVER
    rate_mbps: int = 6
    packets_s: float = 750.0
    """Offered by a UDP flow; more than the channel takes at 6 Mbit/s."""
    propagation: str = "log-distance"
    exponent: float = 3.0
    sensed_dbm: float = SENSED_DBM
    seconds: int = 21

    @property
    def octets(self) -> int:
        return SEGMENT if self.tcp else DATAGRAM

    def scenario(self) -> dict[str, Any]:
        names = [f"n{i}" for i in range(len(self.places_m))]
        radio = {
            "profile": "80211a",
            "rate_mbps": self.rate_mbps,
            "reception": "error-rate",
            "propagation": self.propagation,
            **({"exponent": self.exponent} if self.propagation == "log-distance" else {}),
            "rx_threshold_dbm": self.sensed_dbm,
            "cs_threshold_dbm": self.sensed_dbm,
            "retry_rules": "standard",
            "retry_short": self.tries,
            "retry_long": self.tries,
            "rts_threshold": 0 if self.rts else 2347,
        }
        ends = [(names[a], names[b]) for a, b in self.flows]
        document: dict[str, Any] = {
            "title": "stations on a line",
            "duration_s": self.seconds,
            "station": [station(name, x) for name, x in zip(names, self.places_m, strict=True)],
            "radio": radio,
            "measure": {"packets": not self.tcp},
        }
        if not self.tcp:
            mbps = 8e-6 * DATAGRAM * self.packets_s
            return {**document, "flow": [sender(*pair, DATAGRAM, mbps) for pair in ends]}
        return {
            **document,
            "tcp": {"profile": "classic", "delayed_ack": False, "initial_window": 10},
            "flow": [
                {
                    "source": source,
                    "destination": destination,
                    "window": 8,
                    "mss": SEGMENT,
                    "congestion_control": "reno",
                }
                for source, destination in ends
            ],
        }

    def options(self, seed: int, ways: str = ALIKE) -> str:
        """Of ns-3's program."""
        return (
            f"-kind {'tcp' if self.tcp else 'udp'} "
            f"-places {'+'.join(f'{x:g}' for x in self.places_m)} "
            f"-flows {'+'.join(f'{a}:{b}' for a, b in self.flows)} "
            f"-mode OfdmRate{self.rate_mbps}Mbps -rts {self.rts:d} -tries {self.tries} "
            f"-octets {self.octets} -mbps {8e-6 * DATAGRAM * self.packets_s:g} "
            f"-sense {self.sensed_dbm:g} -propagation {self.propagation} "
            f"-exponent {self.exponent:g} {ways} "
            f"-from {0 if self.tcp else SINCE_S:g} -time {self.seconds} -seed {seed}"
        )


def _in_ns3(
    setting: Setting, ways: str = ALIKE, seeds: Sequence[int] = SEEDS
) -> list[tuple[float, ...]]:
    """Kbit/s of the first two flows, by seed."""
    return LINE.rows(COLUMNS, [setting.options(seed, ways) for seed in seeds])


def _rates(results: Results) -> list[float]:
    """Kbit/s of each flow, in order."""
    found = received_mbps(results, SINCE_S)
    return [1000 * found[flow["name"]] for flow in results.scenario["flow"]]


HIDDEN = Setting((0, 30, 60), ((0, 1), (2, 1)), tries=TRIES)
"""-76 dBm over 30 m, -85 over 60, so the senders do not hear each other."""
TERMINALS = {
    "hidden/basic": HIDDEN,
    "hidden/rts": replace(HIDDEN, rts=True, tries=NEVER),
    "capture": Setting((0, 10, 40), ((0, 1), (2, 1))),
}
"""In the last, senders hear each other, and the near one is 14 dB stronger at the receiver."""


def chain(hops: int, tcp: bool, rts: bool, tries: int = NEVER) -> Setting:
    """From one end to the other by all stations between."""
    places = [HOP_M * i for i in range(hops + 1)]
    return Setting(places, [(0, hops)], tcp, rts, tries, exponent=4.0)


def chains(tcp: bool, tries: int = NEVER) -> dict[str, Setting]:
    """By name of the figure."""
    return {
        f"chain/{'tcp' if tcp else 'udp'}/{'rts' if rts else 'basic'}/{hops}-hops": chain(
            hops, tcp, rts, tries
        )
        for rts in (False, True)
        for hops in HOPS
    }


def _ranges() -> dict[str, tuple[Setting, list[Setting]]]:
    """By name: all receivers around one sender, as here; and each alone, as in ns-3."""
    found = {}
    for (propagation, rate), half_m in HALF_M.items():
        distances = [round(half_m * step, 2) for step in STEPS]
        one = Setting(
            (0.0,),
            (),
            tries=1,
            rate_mbps=rate,
            packets_s=RANGE_PACKETS_S,
            propagation=propagation,
            sensed_dbm=ANY_DBM,
        )
        everyone = replace(
            one,
            places_m=(0.0, *distances),
            flows=[(0, i + 1) for i in range(len(distances))],
        )
        alone = [replace(one, places_m=(0.0, d), flows=((0, 1),)) for d in distances]
        found[f"range/{propagation}/{rate}-Mbps"] = (everyone, alone)
    return found


def half_m(shares: Mapping[float, float]) -> float:
    """Distance at which half is received, between the two neighbours of it in ``shares``, which
    has the received share by distance in m."""
    for (near, more), (far, less) in pairwise(sorted(shares.items())):
        if more >= 0.5 > less:
            return near + (far - near) * (more - 0.5) / (more - less)
    raise ValueError(f"no distance loses half: {shares}")


def asked() -> list[str]:
    """The options of every run that a figure is compared with."""
    own = [HIDDEN, *chains(True, TRIES).values()]
    found = [one.options(seed) for one in TERMINALS.values() for seed in SEEDS]
    found += [one.options(seed, OWN) for one in own for seed in SEEDS]
    for tcp, seeds in CHAIN_SEEDS.items():
        found += [one.options(seed) for one in chains(tcp).values() for seed in seeds]
    for _, alone in _ranges().values():
        found += [one.options(seed) for one in alone for seed in SEEDS]
    return found


def items() -> Iterator[Figure]:
    """Terminals within 3 %, ranges within 2 %, chains within 5 %; ns-3's own ways for
    information."""
    yield from _terminals()
    yield from _half_distances()
    for tcp in (True, False):
        yield from _chains(chains(tcp), ALIKE, CHAIN_SEEDS[tcp], 0.05)
    own = {f"own-ways/{name}": one for name, one in chains(True, TRIES).items()}
    yield from _chains(own, OWN, SEEDS, None)


def _terminals() -> Iterator[Figure]:
    ours = measure_seeds([one.scenario() for one in TERMINALS.values()], SEEDS, _rates)
    for (name, setting), draws in zip(TERMINALS.items(), ours, strict=True):
        theirs = _in_ns3(setting)
        where = f"wifi/ns-3-line/{name}"
        if name == "capture":
            for at, which in enumerate(("near", "far")):
                rates = [draw[at] for draw in draws]
                yield figure(f"{where}/{which}_kbps", rates, [row[at] for row in theirs], 0.03)
            fair = [jain(draw) for draw in draws]
            yield figure(f"{where}_jain", fair, [jain(row) for row in theirs], 0.01)
        else:
            totals = [sum(draw) for draw in draws]
            yield figure(f"{where}_kbps", totals, [sum(row) for row in theirs], 0.03)
    own = [sum(row) for row in _in_ns3(HIDDEN, OWN)]
    yield figure("wifi/ns-3-line/own-ways/hidden/basic_kbps", [sum(d) for d in ours[0]], own, None)


def _half_distances() -> Iterator[Figure]:
    found = _ranges()
    ours = measure_seeds([everyone.scenario() for everyone, _ in found.values()], SEEDS, _rates)
    offered_kbps = 8e-3 * DATAGRAM * RANGE_PACKETS_S
    for (name, (everyone, alone)), draws in zip(found.items(), ours, strict=True):
        distances = everyone.places_m[1:]
        here = [
            half_m({d: kbps / offered_kbps for d, kbps in zip(distances, draw, strict=True)})
            for draw in draws
        ]
        rows = iter(LINE.rows(COLUMNS, [one.options(seed) for seed in SEEDS for one in alone]))
        there = [half_m({d: next(rows)[0] / offered_kbps for d in distances}) for _ in SEEDS]
        yield figure(f"wifi/ns-3-line/{name}_m", here, there, 0.02)


def _chains(
    settings: Mapping[str, Setting], ways: str, seeds: Sequence[int], limit: float | None
) -> Iterator[Figure]:
    read = goodput_kbps if next(iter(settings.values())).tcp else _first
    ours = measure_seeds([one.scenario() for one in settings.values()], seeds, read)
    for (name, setting), draws in zip(settings.items(), ours, strict=True):
        theirs = [row[0] for row in _in_ns3(setting, ways, seeds)]
        yield figure(f"wifi/ns-3-line/{name}_kbps", draws, theirs, limit)


def _first(results: Results) -> float:
    return _rates(results)[0]
