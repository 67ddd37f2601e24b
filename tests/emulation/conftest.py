# SPDX-License-Identifier: Apache-2.0
"""Runs in guests, as a user starts them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hoplab.front.commands.options import scenario_of
from hoplab.front.mininet.found import builder
from hoplab.host import results
from hoplab.host.machine.originals import Originals
from hoplab.host.results.manifest import Where
from hoplab.host.runs import kinds
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resources import PROJECT
from hoplab.show.report.summary import summary_of
from tests.scenarios import TWO_HOPS

HOPLAB = PROJECT / ".venv" / "bin" / "hoplab"
Hoplab = Callable[..., subprocess.CompletedProcess[str]]
Run = Callable[..., dict[str, Any]]
CHAIN = """
duration_s = 10
[topology]
kind = "chain"
stations = {stations}
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n{last}"
window = 8
"""
BY_DSR = f"""{TWO_HOPS}[routing]
protocol = "dsr"
"""
"""A flow over a relay that DSR finds."""
UDP_BACK = """
[[flow]]
protocol = "udp"
rate_kbps = 50
source = "n2"
destination = "n0"
"""
NETWORK = """
duration_s = 12
[topology]
kind = "chain"
stations = 3
[radio]
profile = "wavelan"
"""


def chain(stations: int) -> str:
    return CHAIN.format(stations=stations, last=stations - 1)


def call(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HOPLAB), *arguments], capture_output=True, text=True, **options)


def in_private_mounts(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell's script in ``folder``, whose mounts nobody else sees."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-r", "--mount"]
    command = [*unshare, "sh", "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


_originals: list[Originals] = []
"""The guests that runs of this process are copies of, while pytest runs."""
MOST_ORIGINALS = 5
"""Of some 140 MB each, for the sizes of guests that most tests have."""


@pytest.fixture(scope="session", autouse=True)
def _standing_by(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with closing(Originals(tmp_path_factory.getbasetemp(), most=MOST_ORIGINALS)) as made:
        _originals.append(made)
        yield
        _originals.clear()


def run(hoplab: Hoplab, scenario: Path, name: str, *more: str) -> dict[str, Any]:
    """Run a scenario's file into ``name`` beside it; returns what --json prints. If ``more`` are
    only keys and a seed, it is a copy of a guest that stands by, which has the same results
    (test_originals.py)."""
    out = scenario.parent / name
    if set(more[::2]) <= {"--set", "--seed"}:
        keys = [
            f"seed={value}" if option == "--seed" else value
            for option, value in zip(more[::2], more[1::2], strict=True)
        ]
        return _copied(scenario_of(scenario, keys, None), scenario, out)
    done = hoplab("run", str(scenario), "--json", "--out", str(out), *more)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _copied(scenario: Resolved, source: Path, out: Path) -> dict[str, Any]:
    kind = kinds.chosen(Where.GUEST, scenario, builder, originals=_originals[0])
    perform(RunRequest(scenario, kind, source, out))
    answer: dict[str, Any] = json.loads(json.dumps(summary_of(results.load(out))))
    return {**answer, "folder": str(out)}


def in_guest(folder: Path, script: str, *arguments: str) -> dict[str, Any]:
    """What ``guest/SCRIPT`` answers in a guest of its own, which was started in ``folder``."""
    python = PROJECT / ".venv" / "bin" / "python"
    command = [python, PROJECT / "tests" / "emulation" / "guest" / script, *arguments]
    done = call("exec", "--", *map(str, command), stdin=subprocess.DEVNULL, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.fixture
def hoplab() -> Hoplab:
    return call


def told_here(confinement: str, **more: object) -> dict[str, object]:
    """Return a launcher's words for a guest on any core, beside its command."""
    core = min(os.sched_getaffinity(0))
    return {"parent": os.getpid(), "core": core, "confinement": confinement, **more}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def run_scenario(tmp_path: Path, hoplab: Hoplab) -> Run:
    """Run a scenario text; returns what --json prints."""
    count = 0

    def run_text(text: str, *arguments: str) -> dict[str, Any]:
        nonlocal count
        count += 1
        file = tmp_path / f"scenario{count}.toml"
        file.write_text(text)
        return run(hoplab, file, f"run{count}", *arguments)

    return run_text
