# SPDX-License-Identifier: Apache-2.0
"""Runs in guests, as a user starts them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.resources import PROJECT
from tests.scenarios import TWO_HOPS

HOPLAB = PROJECT / ".venv" / "bin" / "hoplab"
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


def chain(stations: int) -> str:
    return CHAIN.format(stations=stations, last=stations - 1)


@pytest.fixture
def hoplab() -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(HOPLAB), *arguments], capture_output=True, text=True, **options)

    return call


@pytest.fixture
def run_scenario(
    tmp_path: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., dict[str, Any]]:
    """Run a scenario text; returns what --json prints."""
    count = 0

    def run(text: str, *arguments: str) -> dict[str, Any]:
        nonlocal count
        count += 1
        file = tmp_path / f"scenario{count}.toml"
        file.write_text(text)
        done = hoplab(
            "run", str(file), "--json", "--out", str(tmp_path / f"run{count}"), *arguments
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run
