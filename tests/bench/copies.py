# SPDX-License-Identifier: Apache-2.0
"""What copies and images of a guest save: ``python -m tests.bench.copies [RUNS]``.

Runs the demo in a guest that boots, in one that starts from an image, and in a copy of one that
stands by. They take turns, with seeds of their own. Prints medians of processor time of all
processes, from the scenario to the tables, and of the guests' own memory, when it was last seen.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from hoplab.front.commands.options import scenario_of
from hoplab.host.machine import select
from hoplab.host.machine.originals import Originals
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, RunRequest, perform
from hoplab.model.resources import PROJECT

DEMO = PROJECT / "experiments" / "demo.toml"


def main(runs: int) -> None:
    machine = select.chosen()
    with tempfile.TemporaryDirectory() as name, closing(Originals(Path(name))) as originals:
        room = Path(name)

        def run(label: str, seed: int, among: Originals | None, is_cold: bool = False) -> float:
            before_s = sum(os.times()[:4])
            kind = Sealed(machine, originals=among, is_cold=is_cold)
            request = RunRequest(scenario_of(DEMO, None, seed), kind, out=room / label)
            seen_mb: list[float] = []
            perform(request, Observers(on_progress=lambda progress: seen_mb.extend(_memory_mb())))
            memory_mb.append(seen_mb[-1])
            return sum(os.times()[:4]) - before_s

        memory_mb: list[float] = []
        run("first", 1, originals)
        run("second", 1, originals)
        memory_mb.clear()
        used_s: list[float] = []
        for seed in range(1, runs + 1):
            used_s.append(run(f"booted{seed}", seed, None, is_cold=True))
            used_s.append(run(f"image{seed}", seed, None))
            used_s.append(run(f"copied{seed}", seed, originals))
    booted_s = statistics.median(used_s[::3])
    for n, name in enumerate(("booted", "from an image", "copied")):
        median_s, median_mb = (statistics.median(of[n::3]) for of in (used_s, memory_mb))
        print(f"{name}: {median_s:.2f} s, {median_s / booted_s:.2f} of booted, {median_mb:.0f} MB")


def _memory_mb() -> Iterator[float]:
    """Yield the size of the memory file of the youngest guest of this process, in MB. The guest may
    end while it says how far it is; then nothing."""
    youngest = max(pid for pid in map(int, _children()) if os.getsid(pid) == pid)
    sizes = []
    with suppress(OSError, ValueError):
        for entry in Path(f"/proc/{youngest}/fd").iterdir():
            if "hoplab-memory-" in str(entry.readlink()):
                sizes.append(entry.stat().st_blocks * 512)
        # A copy has its original's or an image too, whose pages it reads.
        yield min(filter(None, sizes)) / 1e6


def _children() -> list[str]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += (task / "children").read_text().split()
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
