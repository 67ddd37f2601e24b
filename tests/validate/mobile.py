# SPDX-License-Identifier: Apache-2.0
"""Thirty moving stations and ten constant-bit-rate flows: Hoplab's DSR beside that of ns-2.35.

Both follow the same ns-2 movement files. Delivery ratio: packets that arrived of those that the
sources sent. Routing overhead: packets of the routing protocol alone, counted anew at each hop
when DSR hands them to the link, per delivered packet.

``python -m tests.validate.mobile FILE`` draws the figure of `docs/dsr.md`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import ns2, plot
from hoplab.many.study.figures import Figure, figure
from hoplab.model import movement
from tests.validate import recorded
from tests.validate.runs import measure_all

SPEEDS_MPS = (2, 10, 20, 30)
SEEDS = range(1, 13)
"""Of movement and of everything else. Both worlds run each pattern: its difference is a draw."""
DURATION_S = 200
DELIVERY_POINTS = 0.03
OVERHEAD_LIMIT = 0.30
STATIONS = 30
WIDTH_M, HEIGHT_M = 1500.0, 300.0
FLOWS = 10
PACKETS_PER_S = 2
UDP_HEADER_BYTES = 8
TALLY = ("sent", "delivered", "routing")


@dataclass(frozen=True)
class Tally:
    """What a run came to, summed over its flows or stations."""

    sent: int
    delivered: int
    routing: int

    @property
    def delivery(self) -> float:
        return self.delivered / self.sent

    @property
    def overhead(self) -> float:
        return self.routing / self.delivered


def payload_bytes(flow: int) -> int:
    """64 to 512 octets over the flows."""
    return 64 + round((512 - 64) * flow / (FLOWS - 1))


def write_movement(path: Path, speed_mps: float, duration_s: float, seed: int) -> None:
    """The movement file of both worlds: no pause, legs at 0.9 to 1.1 of the speed."""
    traces = movement.random_waypoint(
        [f"n{i}" for i in range(STATIONS)],
        movement.RandomWaypoint(WIDTH_M, HEIGHT_M, 0.9 * speed_mps, 1.1 * speed_mps),
        duration_s,
        seed,
    )
    movement.save(traces, path)


def scenario(movement_file: Path, duration_s: float, seed: int) -> dict[str, Any]:
    """The setting on the real stack."""
    return {
        "title": f"ten flows among moving stations, {movement_file.stem}",
        "duration_s": duration_s,
        "seed": seed,
        "topology": {"kind": "trace", "movement": str(movement_file)},
        "radio": {"profile": "ns2-wavelan"},
        "routing": {"protocol": "dsr", "preset": "monarch"},
        "measure": {"interval_s": 1.0},
        "flow": [
            {
                "protocol": "udp",
                "source": f"n{i}",
                "destination": f"n{i + FLOWS}",
                "start_s": start_s(i),
                "packet_bytes": payload_bytes(i),
                "rate_kbps": payload_bytes(i) * 8e-3 * PACKETS_PER_S,
            }
            for i in range(FLOWS)
        ],
    }


def start_s(flow: int) -> float:
    """Flows start one after the other."""
    return 1.0 + 0.1 * flow


def read(results: Results) -> Tally:
    flows = results.rows("flows")
    routing = sum(
        row["value"] for row in results.rows("routing") if row["counter"] == "routing_frames"
    )
    return Tally(sum(f["sent"] for f in flows), sum(f["received"] for f in flows), routing)


def in_ns2(jobs: list[tuple[int, int]]) -> list[Tally]:
    """The same in ns-2.35, for each speed and seed. A movement file is named by what draws it."""
    options = [f"-speed {speed} -seed {seed} -time {DURATION_S}" for speed, seed in jobs]
    rows = recorded.rows("mobile", TALLY, options, _in_ns2)
    return [Tally(*(int(count) for count in row)) for row in rows]


def ns2_options(movement_file: Path) -> dict[str, object]:
    """The setting, as ns-2's script takes it."""
    flows = " ".join(
        f"{i} {i + FLOWS} {payload_bytes(i) + UDP_HEADER_BYTES} {start_s(i)}" for i in range(FLOWS)
    )
    return {"stations": STATIONS, "moves": movement_file, "rate": PACKETS_PER_S, "flows": flows}


def _in_ns2(options: str) -> recorded.Row:
    words = recorded.words(options)
    speed_mps, seed = float(words.pop("speed")), int(words["seed"])
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        file = Path(folder) / "movement.ns2"
        write_movement(file, speed_mps, DURATION_S, seed)
        script = recorded.SCRIPTS / "mobile.tcl"
        events = ns2.trace(script, **ns2_options(file), **words).events
    return (
        events["s", "AGT", "cbr"],
        events["r", "AGT", "cbr"],
        events["s", "RTR", "DSR"] + events["f", "RTR", "DSR"],
    )


def tallies() -> dict[int, list[tuple[Tally, Tally]]]:
    """Hoplab's and ns-2's for each speed, a pair a seed."""
    jobs = [(speed, seed) for speed in SPEEDS_MPS for seed in SEEDS]
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        files = [Path(folder) / f"{speed}-mps-{seed}.ns2" for speed, seed in jobs]
        for file, (speed, seed) in zip(files, jobs, strict=True):
            write_movement(file, speed, DURATION_S, seed)
        documents = [
            scenario(file, DURATION_S, seed) for file, (_, seed) in zip(files, jobs, strict=True)
        ]
        own = measure_all(documents, read)
    pairs: dict[int, list[tuple[Tally, Tally]]] = {speed: [] for speed in SPEEDS_MPS}
    for (speed, _), pair in zip(jobs, zip(own, in_ns2(jobs), strict=True), strict=True):
        pairs[speed].append(pair)
    return pairs


def items() -> Iterator[Figure]:
    """Pattern by pattern: delivery within three points of ns-2's, overhead within 30 %."""
    for speed, pairs in tallies().items():
        name = f"dsr/30-stations/{speed}-mps"
        apart = [own.delivery - other.delivery for own, other in pairs]
        yield figure(f"{name}_delivery-above-ns-2", apart, 0, DELIVERY_POINTS)
        ratios = [own.overhead / other.overhead for own, other in pairs]
        yield figure(f"{name}_overhead-over-ns-2", ratios, 1, OVERHEAD_LIMIT)
        for quantity in ("delivery", "overhead"):
            own_values, others = (
                [getattr(pair[side], quantity) for pair in pairs] for side in range(2)
            )
            yield figure(f"{name}_{quantity}", own_values, others, None)


def draw(both: dict[int, list[tuple[Tally, Tally]]]) -> str:
    """Delivery and overhead over speed, a point a pattern."""
    delivery = plot.Panel("delivery ratio", (0, 35), (0.8, 1.0))
    overhead = plot.Panel("routing packets per delivered packet", (0, 35), (0, 6))
    for i, kind in enumerate(("Hoplab", "ns-2.35")):
        aside = 0.5 * (2 * i - 1)
        points = [(speed + aside, pair[i]) for speed, pairs in both.items() for pair in pairs]
        delivery.add(kind, [(x, tally.delivery) for x, tally in points])
        overhead.add(kind, [(x, tally.overhead) for x, tally in points])
    return plot.svg([delivery, overhead], "speed (m/s)", "", "DSR, 30 moving stations, ten flows")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(tallies()), encoding="utf-8")
