# SPDX-License-Identifier: Apache-2.0
"""Perform a run: prepare its folder, run the lab in a machine, and collect its results."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hoplab.guest.system import signals
from hoplab.host import memory
from hoplab.host.machine import uml
from hoplab.host.machine.pace import Pace
from hoplab.host.machine.watch import Limits
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs import beginning, folder, suspects
from hoplab.host.runs.kinds import Attendable, Kind, Unwanted, Watched
from hoplab.host.stream.hub import Stream, told
from hoplab.host.stream.sink import NANOSECONDS
from hoplab.model.errors import GuestFailed, HoplabError, ScenarioError, of_status
from hoplab.model.keys.resolved import Resolved

VIRTUAL_LIMIT_S = 3600.0
"""Virtual seconds for set-up and end, beyond twice the scenario's planned time."""
LONGEST_WORDS = 60
"""Characters of what the lab calls a part of its work."""
STALL_S = 5.0
"""Seconds of processor time with next to no virtual time, after which observers learn of it."""


@dataclass(frozen=True)
class RunRequest:
    """A run to perform: a resolved scenario, on a machine, into the new folder ``out``.

    Without ``out`` it gets a new folder under ``runs``, named after ``source``, the scenario's
    file. ``wall_limit_s`` ends a guest that takes longer. ``pace`` holds virtual time to that
    multiple of real time.
    """

    scenario: Resolved
    machine: Kind
    source: Path | None = None
    out: Path | None = None
    wall_limit_s: float | None = None
    pace: float | None = None

    def __post_init__(self) -> None:
        if self.wall_limit_s is not None:
            require_time(self.wall_limit_s, "wall_limit_s")


@dataclass(frozen=True)
class Progress:
    """Progress of a run: virtual time in s, goodput of the last second in kbit/s, wall time in
    s."""

    t_s: float
    goodput_kbps: float
    wall_s: float


@dataclass(frozen=True)
class Part:
    """Progress of a large part of the lab's work, which takes no virtual time: how many stations,
    links, files, … are done."""

    what: str
    """As "sets up links"."""
    done: int
    of: int


@dataclass(frozen=True)
class Observers:
    """Observers of a run. One receives its progress, and one that of a large part of the lab's
    work. One receives its folder, once results exist, also of a failed run. One is called while a
    guest boots, to import what the end will need. A stream receives samples as they are taken, and
    is closed in the end. One receives, at most once, a line about a guest that computes for seconds
    while next to no virtual time passes."""

    on_progress: Callable[[Progress], None] = lambda progress: None
    on_results: Callable[[Path], object] = lambda folder: None
    while_booting: Callable[[], object] = lambda: None
    stream: Stream | None = None
    on_stall: Callable[[str], None] = lambda what: None
    on_part: Callable[[Part], None] = lambda part: None


NOBODY = Observers()


def perform(request: RunRequest, observers: Observers = NOBODY) -> Manifest:
    """Perform a run to its end, and return the manifest.

    If the run fails, results so far are kept and turned into tables, unless that is `Unwanted`.
    Raises the `HoplabError` of the failure.
    """
    scenario = request.scenario
    request.machine.require(scenario)
    machine = request.machine.equipped(scenario)
    request = replace(request, machine=machine)
    out = folder.made(request.out, request.source)
    with folder.held(out):
        folder.fill(out, scenario, request.source)
        beginning.begin(out, scenario, machine.name, machine.sealed, machine.branch)
        with observers.stream or Stream([]) as stream:
            where = machine.platform
            stream.begin(out, scenario, where, machine.real_time, machine.endless)
            return _performed(request, out, stream, observers)


def _performed(request: RunRequest, out: Path, stream: Stream, observers: Observers) -> Manifest:
    started = time.monotonic()
    failure: BaseException | None = None
    status = GuestFailed.exit_status
    try:
        watched = _watched(request, out, stream, observers)
        status = request.machine.run(request.scenario, out, watched)
    except Unwanted:
        raise
    except GuestFailed as error:
        failure = suspects.named(error, request.scenario, out)
    except BaseException as error:  # Ctrl-C and SIGTERM too: results so far are kept
        failure = error
    with signals.postponed():
        gather = _collector()
        try:
            manifest = gather(out, time.monotonic() - started, status, failure)
            observers.on_results(out)
        except HoplabError as error:
            raise error if failure is None else failure from error
    if failure is not None:
        raise failure
    verdict = manifest.verdict
    if verdict.status:
        kept = f"results so far are in {folder.shown(out)}"
        raise of_status(verdict.status, f"{manifest.run}: {verdict.error}; {kept}")
    return manifest


def _collector() -> Callable[[Path, float, int, BaseException | None], Manifest]:
    # Arrow takes as long as a guest's boot, and is imported meanwhile.
    from hoplab.host.runs.collect import gather

    return gather


def _watched(request: RunRequest, out: Path, stream: Stream, observers: Observers) -> Watched:
    started = time.monotonic()
    scenario = request.scenario

    def on_line(line: str) -> None:
        heard(line, observers, stream, time.monotonic() - started)

    def while_booting() -> None:
        with signals.postponed(), memory.uncollected():
            _collector()
            observers.while_booting()

    planned_s = scenario.duration_s + scenario.warm_up_s
    limits = Limits(
        True,
        request.wall_limit_s,
        VIRTUAL_LIMIT_S + 2 * planned_s,
        lambda what: observers.on_stall(suspects.explained(what, scenario, out)),
        STALL_S,
    )
    pace = None if request.pace is None else _pace(request.pace, scenario, out)
    return Watched(on_line, limits, pace, while_booting)


def heard(line: str, observers: Observers, stream: Stream, wall_s: float) -> None:
    """Pass a line of the lab on to those whom it concerns. A stranger's machine may say anything,
    which is left out."""
    try:
        entry = json.loads(line)
        if "part" in entry:
            observers.on_part(_part(entry))
            return
        progress = Progress(float(entry["t_s"]), float(entry["goodput_kbps"]), wall_s)
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    stream.progress(progress.t_s, progress.wall_s, progress.goodput_kbps)
    observers.on_progress(progress)


def _part(entry: dict[str, Any]) -> Part:
    """Return what a line says of a part. Raises ValueError for other words than the lab's."""
    what = str(entry["part"])
    if len(what) > LONGEST_WORDS or not what.isprintable():
        raise ValueError("no words of the lab")
    return Part(what, int(entry["done"]), int(entry["of"]))


def require_time(seconds: float, name: str) -> None:
    """Raise `ScenarioError` if a limit is no time."""
    if not 0 < seconds < math.inf:
        raise ScenarioError(f"{name}: {seconds:g} is no time; expected seconds, above 0")


def shell(scenario: Resolved, out: Path, machine: Attendable) -> int:
    """Run a prompt on the scenario's network, with ``out`` for its logs. Returns its status."""
    uml.require_commands()
    machine.require(scenario)
    machine.equipped(scenario)
    folder.fill(out, scenario, None)
    return machine.prompt(scenario, out)


def _pace(factor: float, scenario: Resolved, out: Path) -> Pace:
    """Return the pace of a run, from its branch on if it has one: people know what was before."""
    from_s = 0.0 if scenario.branch is None else scenario.branch.at_s

    def begin_s() -> float | None:
        epoch_ns = told(out, "monotonic_epoch_ns")
        return None if epoch_ns is None else epoch_ns / NANOSECONDS + from_s

    return Pace(factor, begin_s, scenario.duration_s - from_s)
