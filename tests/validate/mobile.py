# SPDX-License-Identifier: Apache-2.0
"""Thirty moving stations and ten constant-bit-rate flows: Hoplab's DSR beside that of ns-2.35.

Both follow the same ns-2 movement files. Delivery ratio: packets that arrived of those that the
sources sent. Routing overhead: packets of the routing protocol alone, counted anew at each hop
when DSR hands them to the link, per delivered packet.

``python -m tests.validate.mobile FILE`` draws the figure of `docs/dsr.md` and prints its table.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from hoplab.results.reader import Results
from hoplab.scenario import movement
from tests.validate import ns2, plot
from tests.validate.figures import Figure
from tests.validate.monarch import MONARCH
from tests.validate.runs import measure_all

SPEEDS_MPS = (2, 10, 20, 30)
SEEDS = (1, 2, 3)
"""Of movement and of everything else; the counts of a speed's runs are added up."""
DURATION_S = 200.0
DELIVERY_POINTS = 0.03
OVERHEAD_LIMIT = 0.30
STATIONS = 30
WIDTH_M, HEIGHT_M = 1500.0, 300.0
FLOWS = 10
PACKETS_PER_S = 2
UDP_HEADER_BYTES = 8


@dataclass(frozen=True)
class Tally:
    """What a run came to, summed over its flows or stations."""

    sent: int
    delivered: int
    routing: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.sent + other.sent, self.delivered + other.delivered, self.routing + other.routing
        )

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
        width_m=WIDTH_M,
        height_m=HEIGHT_M,
        min_speed_mps=0.9 * speed_mps,
        max_speed_mps=1.1 * speed_mps,
        duration_s=duration_s,
        seed=seed,
    )
    movement.save(traces, path)


def scenario(movement_file: Path, duration_s: float, seed: int) -> dict[str, Any]:
    """The setting on the real stack."""
    return {
        "title": f"ten flows among moving stations, {movement_file.stem}",
        "duration_s": duration_s,
        "seed": seed,
        "topology": {"kind": "trace", "movement": str(movement_file)},
        "radio": {"profile": "ns2-stock"},
        "routing": {"protocol": "dsr", "settings": MONARCH},
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


def in_ns2(movement_file: Path, duration_s: float, seed: int) -> Tally:
    """The same in ns-2.35."""
    flows = " ".join(
        f"{i} {i + FLOWS} {payload_bytes(i) + UDP_HEADER_BYTES} {start_s(i)}" for i in range(FLOWS)
    )
    events = ns2.run(
        "mobile.tcl",
        stations=STATIONS,
        moves=movement_file,
        seed=seed,
        time=duration_s,
        rate=PACKETS_PER_S,
        flows=flows,
    ).events
    return Tally(
        events["s", "AGT", "cbr"],
        events["r", "AGT", "cbr"],
        events["s", "RTR", "DSR"] + events["f", "RTR", "DSR"],
    )


def tallies() -> dict[int, tuple[Tally, Tally]]:
    """Hoplab's and ns-2's for each speed."""
    jobs = [(speed, seed) for speed in SPEEDS_MPS for seed in SEEDS]
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        files = [Path(folder) / f"{speed}-mps-{seed}.ns2" for speed, seed in jobs]
        for file, (speed, seed) in zip(files, jobs, strict=True):
            write_movement(file, speed, DURATION_S, seed)
        documents = [
            scenario(file, DURATION_S, seed) for file, (_, seed) in zip(files, jobs, strict=True)
        ]
        own = measure_all(documents, read)
        with ThreadPoolExecutor(2) as pool:
            other = list(
                pool.map(
                    lambda job: in_ns2(job[0], DURATION_S, job[1][1]),
                    zip(files, jobs, strict=True),
                )
            )
    return {
        speed: (
            reduce(add, (t for t, job in zip(own, jobs, strict=True) if job[0] == speed)),
            reduce(add, (t for t, job in zip(other, jobs, strict=True) if job[0] == speed)),
        )
        for speed in SPEEDS_MPS
    }


def items() -> Iterator[Figure]:
    """Delivery within three points of ns-2's at each speed, overhead within 30 %."""
    for speed, (own, other) in tallies().items():
        name = f"dsr/30-stations/{speed}-mps"
        limit = DELIVERY_POINTS / other.delivery
        yield Figure(f"{name}_delivery", own.delivery, other.delivery, limit)
        yield Figure(f"{name}_overhead", own.overhead, other.overhead, OVERHEAD_LIMIT)


def draw(both: dict[int, tuple[Tally, Tally]]) -> str:
    """Delivery and overhead over speed."""
    delivery = plot.Panel("delivery ratio", (0, 35), (0.8, 1.0))
    overhead = plot.Panel("routing packets per delivered packet", (0, 35), (0, 5))
    for i, kind in enumerate(("Hoplab", "ns-2.35")):
        delivery.add(kind, [(speed, pair[i].delivery) for speed, pair in both.items()])
        overhead.add(kind, [(speed, pair[i].overhead) for speed, pair in both.items()])
    return plot.svg([delivery, overhead], "speed (m/s)", "", "DSR, 30 moving stations, ten flows")


def main(path: Path) -> None:
    both = tallies()
    path.write_text(draw(both), encoding="utf-8")
    print("| m/s | delivery | ns-2.35 | overhead | ns-2.35 |\n|---|---|---|---|---|")
    for speed, (own, other) in both.items():
        print(
            f"| {speed} | {own.delivery:.4f} | {other.delivery:.4f} "
            f"| {own.overhead:.3f} | {other.overhead:.3f} |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
