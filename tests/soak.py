# SPDX-License-Identifier: Apache-2.0
"""``make soak``: the same for very long, and memory that must not grow.

    python -m tests.soak [--frames 1000000000] [--virtual-s 86000] [PART…]

``edca`` and ``dcf`` run the medium's engine alone: so many frames in A-MPDUs, and a hundredth of
them one by one. Those cost eight times as much. ``mobile`` is a run of thirty mobile stations with
DSR. It shows what the lab's process outside takes, what the guest's kernel cannot give back, and
what the programs in the guest take. Prints the memory of each tenth of the way. In the second tenth
everything has been used once. The exit status is 1 where the last tenth has more than `MOST` times
the memory of the second. It is also 1 where the guest's processes outside take more than the guest
was given. Below that they may grow: a kernel keeps what files once held for as long as it has room.
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
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import select
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, Progress, RunRequest, perform
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT

PARTS = ("edca", "dcf", "mobile")
FRAMES, VIRTUAL_S = 10**9, 86_000
FRAMES_A_DCF_FRAME = 100
MOST = 1.05
LOOK_S = 1.0
LOOKS_INSIDE = 200
INSIDE = """\
import pathlib, sys, time
while True:
    pairs = (line.split()[:2] for line in open("/proc/meminfo"))
    kernel = {name: int(kb) for name, kb in pairs}
    resident = 0
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:  # it has ended
            continue
        resident += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    print(kernel["MemTotal:"], kernel["MemAvailable:"], resident, flush=True)
    time.sleep(float(sys.argv[1]))
"""
"""A program in the guest. Its lines: kB of the guest, of them available, of all programs."""
MOBILE = {
    "topology": {
        "kind": "random-waypoint",
        "stations": 30,
        "min_speed_mps": 9,
        "max_speed_mps": 11,
    },
    "routing": {"protocol": "dsr"},
    "measure": {"interval_s": 60},
    # TCP gives up after fifteen timeouts in a row, which a day may bring. UDP goes on.
    "flow": [
        {"source": "n0", "destination": "n29"},
        {"source": "n2", "destination": "n28", "protocol": "udp", "rate_kbps": 50},
    ],
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


@dataclass(frozen=True)
class Guest:
    """MB of a run of mobile stations, mean of each tenth of the run."""

    lab: list[float]
    """Of this process, which performs the run."""
    kernel: list[float]
    """Of the guest's kernel and its programs, without what it could give back."""
    programs: list[float]
    """Of the guest's programs; what they share counts for each."""
    outside: list[float]
    """Of the guest's processes, as the host sees them."""
    given: float
    """How much the guest has."""


def mobile(virtual_s: float) -> Guest:
    """Perform the run, and look at it from outside and from inside."""
    program = {
        "name": "memory",
        "station": "n1",
        "run": f"python3 memory.py {virtual_s / LOOKS_INSIDE}",
        "file": {"memory.py": INSIDE},
        "start_s": 0,
    }
    document = {**MOBILE, "duration_s": virtual_s, "program": [program]}
    scenario = resolve(parse(document, "soak"))
    now = [0.0]
    found: list[tuple[float, float, float]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            found.append((now[0], _share_kb(_self()) / 1000, _descendants_mb()))

    def on_progress(progress: Progress) -> None:
        now[0] = progress.t_s

    looking = threading.Thread(target=look)
    looking.start()
    with tempfile.TemporaryDirectory(prefix="hoplab-soak-") as folder:
        out = Path(folder) / "run"
        try:
            request = RunRequest(scenario, Sealed(select.chosen()), out=out)
            perform(request, Observers(on_progress=on_progress))
        finally:
            ended.set()
            looking.join()
        lines = (out / "logs" / "program-memory.out").read_text().splitlines()
    inside = [[int(kb) / 1000 for kb in line.split()] for line in lines]
    # At the very end the tables are made, which is no longer the guest's memory.
    going = [look for look in found if 0 < look[0] < virtual_s]
    return Guest(
        lab=_tenths([(t_s / virtual_s, lab) for t_s, lab, _ in going]),
        kernel=_tenths([(i / len(inside), look[0] - look[1]) for i, look in enumerate(inside)]),
        programs=_tenths([(i / len(inside), look[2]) for i, look in enumerate(inside)]),
        outside=_tenths([(t_s / virtual_s, guest) for t_s, _, guest in going]),
        given=inside[-1][0],
    )


def _tenths(looks: Sequence[tuple[float, float]]) -> list[float]:
    """The mean of each tenth of looks at a share of the way."""
    tenths: list[list[float]] = [[] for _ in range(10)]
    for share, mb in looks:
        tenths[int(10 * share)].append(mb)
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


def judged(name: str, tenths: Sequence[float], most: float | None = None) -> bool:
    """Print the tenths; whether the last has no more than ``most``, else than the second has, but
    for `MOST`."""
    shown = " ".join(f"{mb:.1f}" for mb in tenths)
    within = len(tenths) > 2 and tenths[-1] <= (MOST * tenths[1] if most is None else most)
    limit = "" if most is None else f", at most {most:.1f}"
    print(f"{'ok  ' if within else 'FAIL'} {name}: MB by tenths {shown}{limit}", flush=True)
    return within


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
            guest = mobile(options.virtual_s)
            took = f"{options.virtual_s:g} virtual s in {time.monotonic() - began_s:.0f} s"
            flat &= judged(f"mobile, {took}: the lab's process", guest.lab)
            flat &= judged("mobile: the guest, without what it can give back", guest.kernel)
            flat &= judged("mobile: programs in the guest", guest.programs)
            flat &= judged("mobile: the guest from outside", guest.outside, guest.given)
        else:
            frames = options.frames // (FRAMES_A_DCF_FRAME if part == "dcf" else 1)
            tenths = engine(part, frames)
            took = f"{frames} frames in {time.monotonic() - began_s:.0f} s"
            flat &= judged(f"{part}, {took}", tenths)
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
