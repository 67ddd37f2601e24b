# SPDX-License-Identifier: Apache-2.0
"""Runs in guests, as a user starts them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.resources import PROJECT
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


def run(hoplab: Hoplab, scenario: Path, name: str, *more: str) -> dict[str, Any]:
    """Run a scenario's file into ``name`` beside it; returns what --json prints."""
    out = str(scenario.parent / name)
    done = hoplab("run", str(scenario), "--json", "--out", out, *more)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


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
