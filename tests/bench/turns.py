# SPDX-License-Identifier: Apache-2.0
"""Speed beside something else in the same minutes: another version of Hoplab, ns-3, or wmediumd.

Machines differ by a factor of two from day to day, and so does one machine from hour to hour. So
the two take turns, and what counts is the median of the ratios of neighbours.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.resources import PROJECT

TURNS = 3
CHAIN = """
duration_s = 120
[topology]
kind = "chain"
stations = 3
[[flow]]
source = "n0"
destination = "n2"
"""
GRID = """
duration_s = 60
[topology]
kind = "grid"
rows = 5
columns = 6
spacing_m = 200
""" + "".join(
    f"""
[[flow]]
source = "n{6 * row}"
destination = "n{6 * row + 5}"
"""
    for row in range(5)
)
MOBILE = """
duration_s = 60
[topology]
kind = "random-waypoint"
stations = 30
min_speed_mps = 9
max_speed_mps = 11
[routing]
protocol = "dsr"
[[flow]]
source = "n0"
destination = "n29"
"""


@dataclass(frozen=True)
class Case:
    """A scenario of so many virtual s; its twin in ns-3 by rows and columns, where it has one."""

    name: str
    text: str
    virtual_s: float
    grid: tuple[int, int] | None = None


CASES = (
    Case("chain_of_3", CHAIN, 120, (1, 3)),
    Case("30_stations_saturated", GRID, 60, (5, 6)),
    Case("30_stations_dsr", MOBILE, 60),
)
Wall = Callable[[Case], float]
"""Wall time in s that a case takes."""


def by_checkout(root: Path) -> Wall:
    """A run of the checkout in ``root``, as its users start it: boot and tables and all, without
    the report."""

    def wall_s(case: Case) -> float:
        with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as name:
            folder = Path(name)
            (folder / "case.toml").write_text(case.text, encoding="utf-8")
            command = [str(root / ".venv" / "bin" / "hoplab"), "run", "case.toml", "--json"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            return float(json.loads(done.stdout)["wall_s"])

    return wall_s


def _compiled(folder: Path) -> Path:
    program = folder / "saturated"
    source = PROJECT / "tests" / "bench" / "peers" / "saturated.cc"
    parts = ("core", "network", "internet", "wifi", "mobility", "applications", "propagation")
    libraries = [f"-lns3-{part}" for part in parts]
    command = ["g++", "-O2", "-std=c++17", str(source), *libraries, "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("bench: ns-3 is missing; install it with 'apt-get install libns3-dev'")
    return program


@contextmanager
def ns3() -> Iterator[Wall]:
    """Debian's ns-3, compiled as its package is: on one core, without the time to start."""
    with tempfile.TemporaryDirectory(prefix="hoplab-ns3-") as name:
        program = _compiled(Path(name))

        def wall_s(case: Case) -> float:
            assert case.grid is not None
            rows, columns = case.grid
            options = [f"--rows={rows}", f"--cols={columns}", f"--dur={case.virtual_s:g}"]
            done = subprocess.run(
                [str(program), *options], capture_output=True, text=True, check=True
            )
            return float(done.stdout)

        yield wall_s


def in_guest(module: str, *arguments: str) -> None:
    """Run a module of this project in a guest."""
    programs = PROJECT / ".venv" / "bin"
    command = [str(programs / "hoplab"), "exec", "--", str(programs / "python"), "-m", module]
    subprocess.run([*command, *arguments], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def wmediumd(root: Path) -> Iterator[Wall]:
    """The checkout of wmediumd in ``root``, as the medium of the same kernel in the same virtual
    time: start and all, without tables."""
    source = root / "wmediumd"
    done = subprocess.run(["make", "-s", "-C", str(source)], check=False)
    if done.returncode:
        needs = "libnl-3-dev libnl-genl-3-dev libconfig-dev libevent-dev pkg-config"
        sys.exit(f"bench: {source} does not compile; it needs 'apt-get install {needs}'")
    # A guest sees this project, but not the host's /tmp.
    with tempfile.TemporaryDirectory(prefix="peers-", dir=PROJECT / "build") as name:
        program = shutil.copy(source / "wmediumd", name)

        def wall_s(case: Case) -> float:
            began = time.monotonic()
            in_guest("tests.bench.peers.wmediumd", program, case.text)
            return time.monotonic() - began

        yield wall_s


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Another version of this repository, built."""
    with tempfile.TemporaryDirectory(prefix="hoplab-beside-") as name:
        root = Path(name) / "hoplab"
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(root)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=root, check=True)
        subprocess.run(["make", "setup"], cwd=root, check=True, stdout=sys.stderr)
        yield root


def turns(own: Wall, other: Wall, case: Case) -> tuple[float, float, float]:
    """Virtual s a wall s of both, and how many times as fast the first is: medians."""
    own_s, other_s = [], []
    for _ in range(TURNS):
        own_s.append(own(case))
        other_s.append(other(case))
    ratios = [b / a for a, b in zip(own_s, other_s, strict=True)]
    speeds = [case.virtual_s / statistics.median(times) for times in (own_s, other_s)]
    return speeds[0], speeds[1], statistics.median(ratios)


def printed(label: str, other: Wall, cases: tuple[Case, ...]) -> None:
    """A line for each case."""
    own = by_checkout(PROJECT)
    for case in cases:
        ours, theirs, ratio = turns(own, other, case)
        print(f"{case.name}: {ours:.1f}, {label} {theirs:.1f}, ratio {ratio:.2f}", flush=True)


def beside(commit: str) -> None:
    """This version and that one."""
    with checkout(commit) as root:
        printed(commit, by_checkout(root), CASES)


def peers(wmediumd_at: Path | None) -> None:
    """This version and ns-3, and wmediumd where there is a checkout of it."""
    static = tuple(case for case in CASES if case.grid is not None)
    with ns3() as wall_s:
        printed("ns-3", wall_s, static)
    if wmediumd_at is not None:
        with wmediumd(wmediumd_at) as wall_s:
            printed("wmediumd", wall_s, static)
