# SPDX-License-Identifier: Apache-2.0
"""What large networks cost: ``python -m tests.bench.scale [STATIONS…]``.

Stations move slowly on a square, at forty a square kilometre, with DSR and a TCP flow for each
twenty. Prints a line for each number of stations:

- wall seconds until the first virtual second has passed, before any flow;
- the same a station;
- virtual seconds a wall second after that;
- megabytes of memory that the guest's largest process had.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import tempfile
from pathlib import Path

from hoplab.host.machine import select
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

USUAL = (10, 30, 100, 250, 1000, 2000)
STATIONS_A_KM2 = 40
STATIONS_A_FLOW = 20
SHORT_S, LONG_S = 11.0, 110.0
"""Virtual time of a run. The seconds of a few stations pass faster than a run reports them."""
FEW = 30
QUIET_S = 1.0
"""Virtual time before the first flow."""


def scenario(stations: int, duration_s: float) -> Resolved:
    """Return a network of so many stations whose flows start one after the other."""
    side_m = 1000 * math.sqrt(stations / STATIONS_A_KM2)
    chosen = random.Random(stations)
    flows = []
    for i in range(max(1, stations // STATIONS_A_FLOW)):
        source, destination = chosen.sample(range(stations), 2)
        flows.append(
            {
                "source": f"n{source}",
                "destination": f"n{destination}",
                "start_s": QUIET_S + 0.02 * i,
            }
        )
    topology = {
        "kind": "random-waypoint",
        "stations": stations,
        "width_m": side_m,
        "height_m": side_m,
        "min_speed_mps": 1,
        "max_speed_mps": 2,
    }
    document = {"topology": topology, "routing": {"protocol": "dsr"}, "flow": flows}
    return resolve(parse({"duration_s": duration_s, **document}, "scale"))


def main() -> None:
    """Print a line for each number of stations, smallest first."""
    parser = argparse.ArgumentParser(prog="scale", description=__doc__.splitlines()[0])
    parser.add_argument("stations", nargs="*", type=int, default=USUAL)
    parser.add_argument("--seconds", type=float, help="virtual, of each run")
    options = parser.parse_args()
    for stations in sorted(options.stations):
        walls: list[float] = []
        seconds = options.seconds or (LONG_S if stations <= FEW else SHORT_S)

        def on_progress(progress: Progress, walls: list[float] = walls) -> None:
            walls.append(progress.wall_s)

        with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
            request = RunRequest(
                scenario(stations, seconds),
                Sealed(select.chosen()),
                out=Path(folder) / "run",
            )
            perform(request, Observers(on_progress))
        speed = (len(walls) - 1) / (walls[-1] - walls[0])
        # In kilobytes, of the largest process that has ended so far.
        memory_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{stations} stations: {walls[0]:.1f} s of wall time to the first second, "
            f"{1000 * walls[0] / stations:.0f} ms a station; {speed:.2f} virtual s a wall s; "
            f"{memory_mb:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
