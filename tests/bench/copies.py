# SPDX-License-Identifier: Apache-2.0
"""What a copy of a guest saves: ``python -m tests.bench.copies [RUNS]``.

Runs the demo as a guest that boots and as a copy of one that stands by, in turns, with seeds of its
own. Prints medians of processor time of all processes, from the scenario to the tables, and of the
guests' own memory shortly before the end.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hoplab.front.commands.options import scenario_of
from hoplab.host.machine import select
from hoplab.host.machine.originals import Originals
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.model.resources import PROJECT

DEMO = PROJECT / "experiments" / "demo.toml"
LAST_S = 39.0
"""The demo's last second but one, when a guest's memory is looked at."""


def main(runs: int) -> None:
    machine = select.chosen()
    with tempfile.TemporaryDirectory() as name, closing(Originals(Path(name))) as originals:
        room = Path(name)

        def run(label: str, seed: int, among: Originals | None) -> float:
            before_s = sum(os.times()[:4])
            kind = Sealed(machine, originals=among)
            request = RunRequest(scenario_of(DEMO, None, seed), kind, out=room / label)
            perform(request, Observers(on_progress=_at_end(memory_mb.append)))
            return sum(os.times()[:4]) - before_s

        memory_mb: list[float] = []
        run("first", 1, originals)
        run("second", 1, originals)
        memory_mb.clear()
        cold_s, warm_s = [], []
        for seed in range(1, runs + 1):
            cold_s.append(run(f"cold{seed}", seed, None))
            warm_s.append(run(f"warm{seed}", seed, originals))
    cold, warm = statistics.median(cold_s), statistics.median(warm_s)
    print(f"booted {cold:.2f} s, copied {warm:.2f} s, {warm / cold:.2f} of it")
    print(
        f"memory: booted {statistics.median(memory_mb[::2]):.0f} MB, "
        f"copied {statistics.median(memory_mb[1::2]):.0f} MB"
    )


def _at_end(note: Callable[[float], None]) -> Callable[[Progress], None]:
    def moved(progress: Progress) -> None:
        if progress.t_s == LAST_S:
            note(_memory_mb())

    return moved


def _memory_mb() -> float:
    """Return the size of the memory file of the youngest guest of this process, in MB."""
    youngest = max(pid for pid in map(int, _children()) if os.getsid(pid) == pid)
    sizes = [0]
    for entry in Path(f"/proc/{youngest}/fd").iterdir():
        if "hoplab-memory-" in str(entry.readlink()):
            sizes.append(entry.stat().st_blocks * 512)
    # A copy has its original's too, whose pages it reads.
    return min(size for size in sizes if size) / 1e6


def _children() -> list[str]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += (task / "children").read_text().split()
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
