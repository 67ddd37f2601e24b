# SPDX-License-Identifier: Apache-2.0
"""The fixture ``lab``: runs for a test, each made once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hoplab.front import api
from hoplab.host.machine import select
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.sealed import SHORT
from hoplab.host.results import digests
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.many.store.key import key_of, text_of
from hoplab.model.errors import HoplabError, ResultsError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import Scenario

LAST_EVENTS = 10
ORIGINALS: pytest.StashKey[Originals] = pytest.StashKey()
Given = Scenario | str | Path | Mapping[str, Any]


def goodput_kbps(run: api.Run) -> float:
    """Return the goodput of all flows together."""
    return run.goodput_kbps


def originals(config: pytest.Config, room: Path) -> Originals | None:
    """Return the guests that runs below ``room`` are copies of, until pytest ends."""
    if config.getoption("hoplab_cold"):
        return None
    if ORIGINALS not in config.stash:
        config.stash[ORIGINALS] = Originals(room)
        config.add_cleanup(config.stash[ORIGINALS].close)
    return config.stash[ORIGINALS]


class Lab:
    """Runs scenarios into folders below ``kept``, named by the hash of scenario and machine. An
    existing run is read from there, whichever test made it. Relative paths start at the test
    file. Guests are copies of the ``originals``."""

    def __init__(
        self, kept: Path, beside: Path, seeds: int, originals: Originals | None = None
    ) -> None:
        self._originals = originals
        self.kept = kept
        self.beside = beside
        self.seeds = seeds
        self.used: list[Path] = []

    def run(
        self,
        scenario: Given,
        *,
        seed: int | None = None,
        set: Mapping[str, Any] | None = None,
    ) -> api.Run:
        """Run a scenario as `hoplab.run` does, with the same errors."""
        __tracebackhide__ = True
        try:
            return self._run(scenario, seed, set or {})
        except HoplabError as error:
            # Its line says all that a test's reader can use, the way to it nothing.
            raise error.with_traceback(None) from None

    def _run(self, scenario: Given, seed: int | None, set: Mapping[str, Any]) -> api.Run:
        if isinstance(scenario, str | Path):
            scenario = self.beside / scenario
        resolved = api.resolved_scenario(scenario, seed, set)
        machine = select.chosen()
        folder = self.kept / key_of(text_of(resolved), machine.id)[:SHORT]
        with _turn(folder):
            if not _is_whole(folder):
                originals = self._originals
                sealed = Sealed(machine, originals=originals, is_cold=originals is None)
                _run(resolved, folder, sealed)
        if folder not in self.used:
            self.used.append(folder)
        return api.load(folder)

    def sample(
        self,
        scenario: Given,
        read: Callable[[api.Run], float] = goodput_kbps,
        *,
        seeds: int | None = None,
        set: Mapping[str, Any] | None = None,
    ) -> list[float]:
        """Return the value of ``read`` for runs under seeds 1, 2, …. Their number is ``seeds`` or
        that of ``--hoplab-seeds``. For `hoplab.front.testing.judge.assert_within` and
        `assert_faster`."""
        __tracebackhide__ = True
        try:
            return self._sample(scenario, read, seeds, set)
        except HoplabError as error:
            raise error.with_traceback(None) from None

    def _sample(
        self,
        scenario: Given,
        read: Callable[[api.Run], float],
        seeds: int | None,
        set: Mapping[str, Any] | None,
    ) -> list[float]:
        wanted = range(1, (seeds or self.seeds) + 1)
        with ThreadPoolExecutor(_workers()) as pool:
            runs = pool.map(lambda seed: self.run(scenario, seed=seed, set=set), wanted)
            return [float(read(run)) for run in runs]

    def told(self) -> str:
        """Return text for a failed test's message: each run's report and its last events."""
        lines = []
        for folder in self.used:
            try:
                run = api.load(folder)
                lines.append(f"report: {run.report}")
                lines += [_line(event) for event in run.rows("events")[-LAST_EVENTS:]]
            except HoplabError as error:
                lines.append(str(error))
        return "\n".join(lines)


def _line(event: Mapping[str, Any]) -> str:
    t_s = "" if event["t_s"] is None else f"{event['t_s']:.6f}"
    words = (event[name] or "" for name in ("node", "source", "kind", "detail"))
    return f"  {t_s:>12} {' '.join(map(str, words))}".rstrip()


def _run(scenario: Resolved, folder: Path, machine: Sealed) -> None:
    """Run a scenario into ``folder``. Half-done output of an earlier pytest, or a failed run, is
    moved aside."""
    if folder.exists():
        number = 1
        while (aside := folder.with_name(f"{folder.name}-failed-{number}")).exists():
            number += 1
        folder.rename(aside)
    perform(RunRequest(scenario, machine, out=folder))


def _is_whole(folder: Path) -> bool:
    try:
        run = api.load(folder)
    except ResultsError:
        return False
    return run.manifest.verdict.status == 0 and not any(digests.damage(folder, run.manifest))


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Let one process at a time use the folder, however many pytest has."""
    if not folder.parent.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        (folder.parent / ".gitignore").write_text("*\n", encoding="ascii")
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _workers() -> int:
    """Return the number of workers: a guest a core. pytest-xdist has already started a process a
    core."""
    return 1 if "PYTEST_XDIST_WORKER" in os.environ else len(os.sched_getaffinity(0))
