# SPDX-License-Identifier: Apache-2.0
"""What a long run's records cost: ``python -m tests.bench.records [FRAMES]``.

Runs a chain of three with ``measure.frames``, and repeats its records of frames, with later times,
until there are so many. Prints how long it takes to make the table, and its share of the time of a
run with so many frames. Prints the memory of the process that does it, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from hoplab.host.machine import select
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

USUAL_FRAMES = 10_000_000
DURATION_S = 60
SCENARIO = {
    "duration_s": DURATION_S,
    "topology": {"kind": "chain", "stations": 3, "spacing_m": 200},
    "measure": {"frames": True},
    "flow": [{"source": "n0", "destination": "n2"}],
}
CONVERT = """
import resource, sys, time
from pathlib import Path
from hoplab.host.results import tables
began_s = time.monotonic()
tables.convert(Path(sys.argv[1]), float("inf"))
print(time.monotonic() - began_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    """Print the line."""
    parser = argparse.ArgumentParser(prog="records", description=__doc__.splitlines()[0])
    parser.add_argument("frames", nargs="?", type=int, default=USUAL_FRAMES)
    wanted = parser.parse_args().frames
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as folder:
        out, many = Path(folder) / "run", Path(folder) / "many"
        scenario = resolve(parse(SCENARIO, "records"))
        manifest = perform(RunRequest(scenario, Sealed(select.chosen()), out=out))
        lines = (out / "raw" / "frames.jsonl").read_text(encoding="utf-8").splitlines()
        assert manifest.wall_s is not None
        run_s = manifest.wall_s * wanted / len(lines)
        _repeat(lines, wanted, many)
        done = subprocess.run(
            [sys.executable, "-c", CONVERT, many], capture_output=True, text=True, check=True
        )
    took_s, memory_mb = map(float, done.stdout.split())
    print(
        f"{wanted} frames: {took_s:.0f} s, {100 * took_s / run_s:.1f} % of the {run_s:.0f} s of "
        f"such a run; {memory_mb:.0f} MB"
    )


def _repeat(lines: list[str], wanted: int, run: Path) -> None:
    (run / "raw").mkdir(parents=True)
    rows = [json.loads(line) for line in lines]
    written = 0
    with (run / "raw" / "frames.jsonl").open("w", encoding="utf-8") as file:
        for turn in count():
            for row in rows:
                later = {"t_s": row["t_s"] + turn * DURATION_S}
                file.write(json.dumps({**row, **later}, separators=(",", ":")) + "\n")
                written += 1
                if written == wanted:
                    return


if __name__ == "__main__":
    main()
