# SPDX-License-Identifier: Apache-2.0
"""What starts cost: ``python -m tests.bench.starts [TIMES]``.

Prints medians of wall time and of processor time, of this process and its guests. They are of
`reset` of an environment of ``hoplab.gym`` with the demo, after twenty steps of the run before.
Those of its `branch` are at 20 s. The last is of a test that pings in a ``network`` of three
stations, with pytest's own share. Each is by copies, and by guests that boot. Branches then repeat
their past.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from hoplab import gym
from hoplab.host.machine.copies import Standing
from hoplab.host.machine.originals import Originals
from hoplab.model.resources import PROJECT

TEST = """
import pytest
@pytest.mark.hoplab
@pytest.mark.parametrize("i", range({count}))
def test_pings(network, i):
    net = network({{"topology": {{"kind": "chain", "stations": 3}}}})
    assert "ttl=" in net.run("n0", "ping", "-c", "1", "n1").stdout
"""
Cost = tuple[float, float]
"""Wall time and processor time, in s."""


def main(times: int) -> None:
    copied = _resets(times)
    with mock.patch.object(Originals, "_serves", lambda *_: False):
        booted = _resets(times)
    _tell("reset", copied, booted)
    whole = _branches(times)
    with mock.patch.object(Standing, "ask", lambda *_: None):
        repeated = _branches(times)
    _tell("branch", whole, repeated)
    _tell("a test in a network", _tests(times), _tests(times, "--hoplab-cold"))


def _resets(times: int) -> Cost:
    """Return what a reset costs, and the end of the run before, once two are over."""
    env = gym.ScenarioEnv(PROJECT / "experiments" / "demo.toml", gym.Window("flow0", 1, 16))
    costs = []
    for seed in range(1, times + 3):
        costs.append(_cost(partial(env.reset, seed=seed)))
        for _ in range(20):
            env.step(8)
    env.close()
    return _median(costs[2:])


def _branches(times: int) -> Cost:
    """Return what a branch costs in the middle of the demo, once it has been closed too."""
    env = gym.ScenarioEnv(PROJECT / "experiments" / "demo.toml", gym.Window("flow0", 1, 16))
    env.reset(seed=1)
    for _ in range(20):
        env.step(8)
    costs = [_cost(lambda: env.branch().close()) for _ in range(times)]
    env.close()
    return _median(costs)


def _tests(times: int, *options: str) -> Cost:
    """Return what one of many tests costs: the difference of two files that differ in `times`."""

    def run(count: int) -> Cost:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "test_it.py"
            file.write_text(TEST.format(count=count), encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
            return _cost(lambda: subprocess.run([*command, *options], check=True, cwd=name))

    few, many = run(2), run(2 + times)
    return (many[0] - few[0]) / times, (many[1] - few[1]) / times


def _cost(act: Callable[[], object]) -> Cost:
    wall_s, processor_s = time.monotonic(), sum(os.times()[:4])
    act()
    return time.monotonic() - wall_s, sum(os.times()[:4]) - processor_s


def _median(costs: list[Cost]) -> Cost:
    walls, processors = zip(*costs, strict=True)
    return statistics.median(walls), statistics.median(processors)


def _tell(what: str, copied: Cost, booted: Cost) -> None:
    print(f"{what}: wall {copied[0]:.2f} s copied, {booted[0]:.2f} s booted; ", end="")
    print(f"processor {copied[1]:.2f} s copied, {booted[1]:.2f} s booted", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
