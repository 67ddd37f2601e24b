# SPDX-License-Identifier: Apache-2.0
"""Thirty moving stations and ten constant-bit-rate flows: Hoplab's DSR beside that of ns-2.35.

Both follow the same ns-2 movement files. Delivery ratio: packets that arrived of those that the
sources sent. Routing overhead: packets of the routing protocol alone, counted anew at each hop
when DSR hands them to the link, per delivered packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab import movement
from hoplab.results import Results
from tests.validate import ns2
from tests.validate.monarch import MONARCH

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
