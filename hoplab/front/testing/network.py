# SPDX-License-Identifier: Apache-2.0
"""The fixture ``network``: a scenario's network in a test's guest, for the test to use."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hoplab.front import api
from hoplab.guest.lab.account import Account
from hoplab.guest.lab.built import built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.job import load_models, prepare
from hoplab.guest.lab.started import Started, started
from hoplab.guest.network.hosts import Hosts
from hoplab.guest.network.inside import inside
from hoplab.guest.system.processes import STOP_GRACE_S, Change, Daemons, beside, last_line
from hoplab.host.runs import folder
from hoplab.model.errors import DaemonDied
from hoplab.model.keys.scenario import Scenario

PAUSE_S = 0.1
TIMEOUT_S = 120.0
"""Seconds that a command may take, in virtual time if the guest has it."""


def load() -> None:
    """Do what takes long, once for all tests."""
    load_models(Scenario)


class Network:
    """Stations with their addresses, reached by name; the channel and the routing daemons run."""

    def __init__(self, stage: Started, out: Path, undo: CleanUp) -> None:
        self._undo = undo
        self._daemons = stage.daemons
        self.address: dict[str, str] = dict(stage.built.plan.address)
        """IPv4 address of each station."""
        self.logs = out / "logs"
        """Folder of the daemons' logs."""
        self._hosts = Hosts(out / "names", self.address)
        undo.later(self._hosts.close)
        undo.later(lambda: _check(self._daemons))

    def run(
        self, station: str, *command: str, check: bool = True, timeout_s: float = TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a command at a station and wait. Names of stations become addresses if they are words
        of their own. The command itself sees them as names of hosts.

        Raises `AssertionError` with its output if it fails and ``check`` is set, or if it takes
        longer than ``timeout_s``.
        """
        words = self._words(command)
        try:
            with inside(station), self._hosts.known():
                done = subprocess.run(
                    words,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=timeout_s,
                    env={**os.environ, **beside(words)},
                )
        except subprocess.TimeoutExpired as late:
            said = (late.stderr or late.stdout or b"").decode("utf-8", "replace")
            told = f"{station}: {words[0]}: not done in {timeout_s:g} s: {said}"
            raise AssertionError(told) from None
        if check and done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()
            raise AssertionError(f"{station}: {' '.join(words)}: status {done.returncode}: {said}")
        return done

    def start(self, station: str, *command: str) -> subprocess.Popen[str]:
        """Start a command at a station. If it still runs, it ends with the network."""
        words = self._words(command)
        with inside(station), self._hosts.known():
            process = subprocess.Popen(
                words,
                env={**os.environ, **beside(words)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._undo.later(lambda: _end(process))
        return process

    def answers(self, source: str, destination: str, within_s: float) -> float:
        """Return how long it takes in s until a ping from ``source`` gets through, as routes
        converge.

        Raises `AssertionError` if it takes longer than ``within_s``, `DaemonDied` if a daemon has
        ended.
        """
        began = time.monotonic()
        while time.monotonic() - began < within_s:
            _check(self._daemons)
            ping = self.run(source, "ping", "-c", "1", "-W", "1", destination, check=False)
            if ping.returncode == 0:
                return time.monotonic() - began
            # Without a route ping returns at once, and in virtual time a loop without a wait takes
            # no time.
            time.sleep(PAUSE_S)
        raise AssertionError(f"{destination} does not answer {source} within {within_s:g} s")

    def _words(self, command: tuple[str, ...]) -> list[str]:
        return [self.address.get(word, word) for word in command]


def _check(daemons: Daemons) -> None:
    """Raises `DaemonDied` for a daemon that has ended: without it the network is another."""
    for daemon in daemons:
        status = daemon.process.poll()
        if status is not None:
            change = Change(daemon.process.pid, status)
            raise DaemonDied(f"{daemon.name}: {change}: {last_line(daemon.log)}")


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def networks(beside: Path) -> Iterator[Callable[..., Network]]:
    """Provide the builder of a test's networks, which end with the test."""
    with CleanUp() as undo:

        def build(
            scenario: Scenario | str | Path | Mapping[str, Any],
            *,
            set: Mapping[str, Any] | None = None,
        ) -> Network:
            """Build the network of a scenario: a file, a path beside the test, or a document."""
            if isinstance(scenario, str | Path):
                scenario = beside / scenario
            resolved = api.resolved_scenario(scenario, None, set)
            out = Path(tempfile.mkdtemp(prefix="hoplab-network-"))
            folder.fill(out, resolved, None)
            # It ends with the test, not with the scenario.
            plan = replace(prepare(out), end_s=None)
            stage = started(built(plan, out, Account(), undo), real_time=False, undo=undo)
            return Network(stage, out, undo)

        yield build
