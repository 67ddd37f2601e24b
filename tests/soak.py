# SPDX-License-Identifier: Apache-2.0
"""``make soak``: the same for very long, and memory that must not grow.

    python -m tests.soak [--frames 1000000000] [--virtual-s 86000] [PART…]

``edca`` and ``dcf`` run the medium's engine alone: so many frames in A-MPDUs, and a hundredth of
them one by one, which cost eight times as much. ``mobile`` is a run of thirty mobile stations with
DSR. Prints the memory of each tenth of the way. The exit status is 1 where the last tenth has more
than `MOST` times the memory of the second, in which everything has been used once.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from hoplab.host.machine import select
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.model.resources import PROJECT
from hoplab.model.scenario.file import parse
from hoplab.model.scenario.resolve import resolve

PARTS = ("edca", "dcf", "mobile")
FRAMES, VIRTUAL_S = 10**9, 86_000
FRAMES_A_DCF_FRAME = 100
MOST = 1.05
LOOK_S = 1.0
MOBILE = {
    "topology": {
        "kind": "random-waypoint",
        "stations": 30,
        "min_speed_mps": 9,
        "max_speed_mps": 11,
    },
    "routing": {"protocol": "dsr"},
    "measure": {"interval_s": 60},
    "flow": [{"source": "n0", "destination": "n29"}],
}


def engine(rules: str, frames: int) -> list[float]:
    """MB of a process that has nothing but the engine, at each tenth of the frames."""
    command = (
        ". scripts/rust && cargo run --quiet --release --locked "
        "--manifest-path daemons/Cargo.toml --package hoplab-medium-core --example soak -- "
        f"{rules} {frames}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True
    )
    return [int(line.split()[1]) / 1000 for line in done.stdout.splitlines()]


def mobile(virtual_s: float) -> list[float]:
    """MB of a run's guest and the processes around it, mean of each tenth of the run."""
    scenario = resolve(parse({**MOBILE, "duration_s": virtual_s}, "soak"))
    now = [0.0]
    found: list[tuple[float, float]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            found.append((now[0], _descendants_mb()))

    def on_progress(progress: Progress) -> None:
        now[0] = progress.t_s

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with tempfile.TemporaryDirectory(prefix="hoplab-soak-") as folder:
            request = RunRequest(scenario, Sealed(select.chosen()), out=Path(folder) / "run")
            perform(request, Observers(on_progress=on_progress))
    finally:
        ended.set()
        looking.join()
    tenths: list[list[float]] = [[] for _ in range(10)]
    for t_s, mb in found:
        # At the very end the tables are made, which is no longer the guest's memory.
        if 0 < t_s < virtual_s:
            tenths[int(10 * t_s / virtual_s)].append(mb)
    return [statistics.fmean(tenth) for tenth in tenths if tenth]


def _descendants_mb() -> float:
    """The share of memory of each process below this one, in all."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parent = int(text.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    waiting, total_kb = list(children.get(_self(), ())), 0
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, ())
        total_kb += _share_kb(pid)
    return total_kb / 1000


def _self() -> int:
    return int(Path("/proc/self").resolve().name)


def _share_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def judged(name: str, tenths: Sequence[float]) -> bool:
    """Print the tenths; whether the last has no more than the second, but for `MOST`."""
    shown = " ".join(f"{mb:.1f}" for mb in tenths)
    flat = len(tenths) > 2 and tenths[-1] <= MOST * tenths[1]
    print(f"{'ok  ' if flat else 'FAIL'} {name}: MB by tenths {shown}", flush=True)
    return flat


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--virtual-s", type=float, default=VIRTUAL_S)
    options = parser.parse_args(words)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"{min(unknown)}: not one of {', '.join(PARTS)}")
    flat = True
    for part in options.parts or PARTS:
        began_s = time.monotonic()
        if part == "mobile":
            amount, tenths = f"{options.virtual_s:g} virtual s", mobile(options.virtual_s)
        else:
            frames = options.frames // (FRAMES_A_DCF_FRAME if part == "dcf" else 1)
            amount, tenths = f"{frames} frames", engine(part, frames)
        flat &= judged(f"{part}, {amount} in {time.monotonic() - began_s:.0f} s", tenths)
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
