# SPDX-License-Identifier: Apache-2.0
"""AODV, OLSR and DSDV beside those of ns-3.37: moving stations, and a relay that leaves a ring.

Both worlds follow the same ns-2 movement files, with the radio of the profile ``wavelan`` and
link-layer addresses that are known. `tests/ns3/routing.cc` is ns-3's side. `OURS` and `THEIRS`
bring the two to one set of rules where both can be set. The protocols' pages say what is left.

Delivery: datagrams that arrived of those that the flows offered. Overhead: packets and IP octets of
the routing protocol, counted anew at each hop, per delivered datagram. Hops: of the datagrams that
arrived. Silence: from the last datagram before the relay leaves to the first one after it.

``python -m tests.validate.routing FILE`` draws the figure of the three pages.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import plot
from hoplab.many.study.figures import Figure, figure
from hoplab.model import movement
from tests.validate import mobile, recorded
from tests.validate.ns3_program import FOLDER, Program
from tests.validate.runs import measure_all

ROUTING = Program(
    "routing",
    (
        *("core", "network", "wifi", "mobility", "propagation", "internet"),
        *("aodv", "olsr", "dsdv"),
    ),
)
COLUMNS = ("sent", "delivered", "packets", "octets", "hops", "silence-ms")
SPEEDS_MPS = (2, 20)
SEEDS = range(1, 13)
"""Of movement and of everything else. Both worlds run each pattern: its difference is a draw."""
RING_SEEDS = {"aodv": SEEDS, "olsr": SEEDS, "dsdv": range(1, 61)}
"""DSDV's silence is up to two of its periods of 15 s, by chance: `docs/dsdv.md` says of what."""
DURATION_S = 200.0
START_S = 30.0
"""Of the flows: by then OLSR and DSDV have routes."""
DELIVERY_POINTS = 0.03
OVERHEAD_LIMIT = 0.30
HOPS_LIMIT = 0.10
SILENCE_LIMIT = 0.30

RING, SIDE_M = 7, 200.0
"""Stations that reach their two neighbours only, with 2 hops one way round and 5 the other."""
RING_S = 180.0
RING_RATE, RING_BYTES = 20, 100
AWAY_M, AWAY_S = 3000.0, 0.1

LINK_BYTES = 36
"""MAC header, LLC and FCS around a packet."""
FIRST_TTL = 64

OURS: dict[str, dict[str, Any]] = {
    "aodv": {"local_repair": False, "keep_failed_packets": False},
    # In ns-3 an interval has no jitter, so these have ns-3's means.
    "olsr": {
        "max_jitter_s": 0.5,
        "hello_interval_s": 2.25,
        "neighb_hold_time_s": 6,
        "tc_interval_s": 5.25,
        "top_hold_time_s": 15,
    },
    "dsdv": {
        "settling_time_s": 5,
        "damp_times": 1,
        "damp_shorter": True,
        "triggered_by_sequence": True,
        "triggered_interval_s": 0.001,
        "breaks_of_next_hop": True,
        "link_layer_feedback": False,
        "queue_packets": 5,
    },
}
"""Settings that are ns-3's ways."""
THEIRS = {"aodv": "-hello 0 -gratuitous 0 -watch 1", "olsr": "", "dsdv": ""}
"""Options of ns-3's program that are Hoplab's."""


OUT_OF_PHASE = "-spread 0.2"
"""Of ns-3's OLSR: stations' intervals differ by 10 % at most to either side."""


@dataclass(frozen=True)
class Tally:
    """What a run came to."""

    offered: int
    delivered: int
    packets: int
    octets: int
    hops: int
    silence_ms: float

    @property
    def delivery(self) -> float:
        return self.delivered / self.offered

    @property
    def overhead(self) -> float:
        return self.packets / self.delivered

    @property
    def overhead_octets(self) -> float:
        return self.octets / self.delivered

    @property
    def mean_hops(self) -> float:
        return self.hops / self.delivered


@dataclass(frozen=True)
class Flow:
    source: int
    destination: int
    octets: int
    start_s: float


@dataclass(frozen=True)
class Setting:
    """A run of both worlds. ``speed_mps`` is None on the ring."""

    protocol: str
    speed_mps: int | None
    seed: int
    ours: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the protocol beside `OURS`."""
    theirs: str = ""
    """Options of ns-3's program beside `THEIRS`."""

    @property
    def stations(self) -> int:
        return RING if self.speed_mps is None else mobile.STATIONS

    @property
    def duration_s(self) -> float:
        return RING_S if self.speed_mps is None else DURATION_S

    @property
    def leaves_s(self) -> float:
        """When the relay leaves the ring: elsewhere in the protocols' periods for each seed."""
        return 60 + 1.3 * self.seed if self.speed_mps is None else self.duration_s

    @property
    def rate(self) -> int:
        return RING_RATE if self.speed_mps is None else mobile.PACKETS_PER_S

    @property
    def flows(self) -> list[Flow]:
        if self.speed_mps is None:
            return [Flow(0, 2, RING_BYTES, START_S)]
        return [
            Flow(i, i + mobile.FLOWS, mobile.payload_bytes(i), round(START_S + 0.1 * i, 1))
            for i in range(mobile.FLOWS)
        ]

    def write_movement(self, path: Path) -> None:
        if self.speed_mps is not None:
            mobile.write_movement(path, self.speed_mps, DURATION_S, self.seed)
            return
        radius_m = SIDE_M / 2 / math.sin(math.pi / RING)
        angles = [math.tau * i / RING for i in range(RING)]
        places = [(radius_m * (1 + math.cos(a)), radius_m * (1 + math.sin(a))) for a in angles]
        traces = {f"n{i}": movement.Trace.of([(0, x, y)]) for i, (x, y) in enumerate(places)}
        x, y = places[1]
        gone = self.leaves_s + AWAY_S
        traces["n1"] = movement.Trace.of([(0, x, y), (self.leaves_s, x, y), (gone, x + AWAY_M, y)])
        movement.save(traces, path)

    def scenario(self, movement_file: Path) -> dict[str, Any]:
        """Of Hoplab."""
        return {
            "title": f"{self.protocol}, {movement_file.stem}",
            "duration_s": self.duration_s,
            "warm_up_s": 0,
            "seed": self.seed,
            "topology": {"kind": "trace", "movement": str(movement_file)},
            "radio": {"profile": "wavelan"},
            "routing": {
                "protocol": self.protocol,
                "settings": {**OURS[self.protocol], **self.ours},
            },
            "measure": {"interval_s": 1.0, "frames": True},
            "flow": [
                {
                    "protocol": "udp",
                    "source": f"n{flow.source}",
                    "destination": f"n{flow.destination}",
                    "start_s": flow.start_s,
                    "packet_bytes": flow.octets,
                    "rate_kbps": flow.octets * 8e-3 * self.rate,
                }
                for flow in self.flows
            ],
        }

    def options(self) -> str:
        """Of ns-3's program; a movement is named by what draws it."""
        flows = "+".join(
            f"{flow.source}:{flow.destination}:{flow.octets}:{flow.start_s:g}"
            for flow in self.flows
        )
        words = {
            "protocol": self.protocol,
            "speed": "ring" if self.speed_mps is None else self.speed_mps,
            "stations": self.stations,
            "rate": self.rate,
            "time": f"{self.duration_s:g}",
            "quiet": f"{self.leaves_s:g}",
            "flows": flows,
            "seed": self.seed,
        }
        told = [f"-{key} {value}" for key, value in words.items()]
        return " ".join([*told, *THEIRS[self.protocol].split(), *self.theirs.split()])

    def read(self, results: Results) -> Tally:
        """Of a run of Hoplab."""
        packets = octets = hops = 0
        arrivals_s: list[float] = []
        ends = {f"n{flow.destination}" for flow in self.flows}
        for row in results.rows("frames"):
            if row["protocol"] == self.protocol and row["attempt"] == 1:
                packets += 1
                octets += row["bytes"] - LINK_BYTES
            elif (
                row["protocol"] == "udp"
                and row["kind"] == "data"
                and row["fate"] == "delivered"
                and row["dst"] in ends
                and row["packet_dst"] == f"10.0.0.{int(row['dst'][1:]) + 1}"
            ):
                hops += FIRST_TTL + 1 - row["ttl"]
                arrivals_s.append(row["until_s"])
        delivered = sum(flow["received"] for flow in results.rows("flows"))
        offered = sum(
            math.ceil((self.duration_s - flow.start_s) * self.rate) for flow in self.flows
        )
        silence = silence_ms(arrivals_s, self.leaves_s)
        return Tally(offered, delivered, packets, octets, hops, silence)


def silence_ms(arrivals_s: Sequence[float], leaves_s: float) -> float:
    """Around ``leaves_s`` and after it, the longest time without an arrival."""
    later = [t for t in arrivals_s if t > leaves_s]
    return 1e3 * max((b - a for a, b in zip([leaves_s, *later], later, strict=False)), default=0.0)


def in_ns3(settings: Sequence[Setting]) -> list[Tally]:
    """By the table or by ns-3 itself."""
    by_options = {setting.options(): setting for setting in settings}

    def run(options: str) -> recorded.Row:
        with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
            file = Path(folder) / "movement.ns2"
            by_options[options].write_movement(file)
            words = recorded.words(options)
            del words["speed"]
            return ROUTING.figures({**words, "moves": str(file)}, len(COLUMNS))

    rows = recorded.rows(
        "routing", COLUMNS, list(by_options), run, FOLDER / "recorded", recorded.NS3
    )
    found = dict(zip(by_options, rows, strict=True))
    return [_tally(found[setting.options()]) for setting in settings]


def _tally(row: recorded.Row) -> Tally:
    sent, delivered, packets, octets, hops, silence = row
    return Tally(int(sent), int(delivered), int(packets), int(octets), int(hops), silence)


def here(settings: Sequence[Setting]) -> list[Tally]:
    """The same settings by Hoplab."""
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        documents = []
        for at, setting in enumerate(settings):
            file = Path(folder) / f"{setting.speed_mps}-{setting.seed}-{at}.ns2"
            setting.write_movement(file)
            documents.append(setting.scenario(file))
        of = {one["title"]: setting for one, setting in zip(documents, settings, strict=True)}
        return measure_all(documents, lambda found: of[found.scenario["title"]].read(found))


def pairs(settings: Sequence[Setting]) -> list[tuple[Tally, Tally]]:
    """Hoplab's and ns-3's tally of each."""
    theirs = in_ns3(settings)
    return list(zip(here(settings), theirs, strict=True))


def aodv_items() -> Iterator[Figure]:
    return items("aodv")


def olsr_items() -> Iterator[Figure]:
    return items("olsr")


def dsdv_items() -> Iterator[Figure]:
    return items("dsdv")


def items(protocol: str) -> Iterator[Figure]:
    """Pattern by pattern: delivery within three points of ns-3's, overhead within 30 %, hops within
    10 %; on the ring the silence within 30 %.

    OLSR's packets decide nothing. In ns-3 all stations keep one phase, so their messages share
    packets; beside it stands the ratio to stations whose intervals differ.
    """
    where = f"routing/{protocol}"
    for speed in SPEEDS_MPS:
        both = pairs([Setting(protocol, speed, seed) for seed in SEEDS])
        name = f"{where}/{speed}-mps"
        apart = [own.delivery - other.delivery for own, other in both]
        yield figure(f"{name}_delivery-above-ns-3", apart, 0, DELIVERY_POINTS)
        for quantity, limit in QUANTITIES.items():
            ratios = [getattr(own, quantity) / getattr(other, quantity) for own, other in both]
            decides = (protocol, quantity) != ("olsr", "overhead")
            yield figure(f"{name}_{quantity}-over-ns-3", ratios, 1, limit if decides else None)
        if protocol == "olsr":
            shifted = in_ns3([Setting(protocol, speed, s, theirs=OUT_OF_PHASE) for s in SEEDS])
            pairs_of = zip(both, shifted, strict=True)
            ratios = [own.overhead / other.overhead for (own, _), other in pairs_of]
            yield figure(f"{name}_overhead-over-ns-3-out-of-phase", ratios, 1, None)
        for quantity in ("delivery", *QUANTITIES):
            own, others = ([getattr(pair[side], quantity) for pair in both] for side in range(2))
            yield figure(f"{name}_{quantity}", own, others, None)
    both = pairs([Setting(protocol, None, seed) for seed in RING_SEEDS[protocol]])
    own, others = ([pair[side].silence_ms for pair in both] for side in range(2))
    yield figure(f"{where}/ring_silence-ms", own, others, SILENCE_LIMIT)


QUANTITIES = {
    "overhead": OVERHEAD_LIMIT,
    "overhead_octets": OVERHEAD_LIMIT,
    "mean_hops": HOPS_LIMIT,
}
"""Compared as ratios within a pattern, with their limits."""


def draw() -> str:
    """Delivery and overhead of the three protocols over speed, a point a pattern."""
    delivery = plot.Panel("delivery ratio", (0, 25), (0.4, 1.0))
    overhead = plot.Panel("routing packets per delivered packet", (0, 25), (0, 20))
    for i, protocol in enumerate(OURS):
        both = {
            speed: pairs([Setting(protocol, speed, seed) for seed in SEEDS]) for speed in SPEEDS_MPS
        }
        for side, simulator in enumerate(("Hoplab", "ns-3.37")):
            aside = 1.0 * i + 0.4 * side
            found = [(speed + aside, pair[side]) for speed, own in both.items() for pair in own]
            name = f"{protocol.upper()}, {simulator}"
            delivery.add(name, [(x, tally.delivery) for x, tally in found])
            overhead.add(name, [(x, tally.overhead) for x, tally in found])
    return plot.svg([delivery, overhead], "speed (m/s)", "", "30 moving stations, ten flows")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
