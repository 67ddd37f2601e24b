# SPDX-License-Identifier: Apache-2.0
"""Launch a run: prepare its folder, run the lab in a machine, have its results collected."""

from __future__ import annotations

import compileall
import json
import math
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.guest.system import signals
from hoplab.guest.system.processes import program
from hoplab.host.machine import host, memory, select, uml
from hoplab.host.machine.pace import Pace
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.watch import Limits
from hoplab.host.runs import collect, folder
from hoplab.host.runs.builder import NOBODY, Builder, Find, none_here
from hoplab.host.stream.hub import Stream, told
from hoplab.host.stream.sink import NANOSECONDS
from hoplab.model.errors import GuestFailed, HoplabError, ScenarioError, of_status
from hoplab.model.resources import IS_CHECKOUT, PROJECT
from hoplab.model.scenario.model import Scenario

VIRTUAL_LIMIT_S = 3600.0
"""Virtual time that setting up and ending may take, beside twice what the scenario plans."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: virtual time in s, goodput of the last second in kbit/s, wall time in s."""

    t_s: float
    goodput_kbps: float
    wall_s: float


def run(
    scenario: Scenario,
    source: Path | None,
    out: Path | None,
    machine: str = "uml",
    wall_limit_s: float | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_results: Callable[[Path], None] = lambda folder: None,
    machine_file: Path | None = None,
    sealed: Machine | None = None,
    stream: Stream | None = None,
    pace: float | None = None,
    find: Find = none_here,
) -> dict[str, Any]:
    """Run a resolved scenario into the new folder ``out``, None for one of its own under
    ``runs``; returns the manifest.

    Results so far are kept and turned into tables when the run fails; ``on_results`` is told the
    folder when they are there, then too. ``machine_file`` or ``sealed`` is the machine to take,
    instead of this checkout's or the installed one. ``stream`` is given the samples as they are
    taken, and is closed in the end. ``pace`` holds virtual time to that multiple of real time.
    ``find`` looks for the builder that the scenario names. Raises the `HoplabError` of what went
    wrong.
    """
    if wall_limit_s is not None:
        require_time(wall_limit_s, "wall_limit_s")
    builder = others(scenario, find, sealed is not None or machine_file is not None)
    if machine == "uml" and not builder:
        sealed = sealed or select.chosen(machine_file)
    else:
        require(scenario, machine)
    where = folder.made(out, source)
    with folder.held(where):
        folder.fill(where, scenario, source)
        collect.begin(where, scenario, sealed, machine)
        with stream or Stream([]) as follower:
            follower.begin(where, scenario, machine, real_time=machine == "host")
            return _run(
                *(scenario, where, machine, sealed, builder),
                *(wall_limit_s, on_progress, on_results, follower, pace),
            )


def require_time(seconds: float, name: str) -> None:
    """Raise `ScenarioError` for a limit that is no time."""
    if not 0 < seconds < math.inf:
        raise ScenarioError(f"{name}: {seconds:g} is no time; expected seconds, above 0")


def _run(
    scenario: Scenario,
    out: Path,
    machine: str,
    sealed: Machine | None,
    builder: Builder,
    wall_limit_s: float | None,
    on_progress: Callable[[Progress], None],
    on_results: Callable[[Path], None],
    stream: Stream,
    pace: float | None,
) -> dict[str, Any]:
    started = time.monotonic()

    def on_line(line: str) -> None:
        try:
            entry = json.loads(line)
            progress = Progress(
                float(entry["t_s"]), float(entry["goodput_kbps"]), time.monotonic() - started
            )
        except (ValueError, KeyError, TypeError):
            return
        stream.progress(progress.t_s, progress.wall_s, progress.goodput_kbps)
        on_progress(progress)

    failure: BaseException | None = None
    status = GuestFailed.exit_status
    planned_s = scenario.duration_s + (scenario.warm_up_s or 0.0)
    limits = Limits(True, wall_limit_s, VIRTUAL_LIMIT_S + 2 * planned_s)
    try:
        if machine == "uml":
            status = uml.run_guest(
                lab_command(sealed, builder),
                sealed=sealed,
                folders=builder.folders,
                writable=out,
                seed=scenario.seed,
                memory_mb=memory_mb(scenario),
                limits=limits,
                on_line=on_line,
                stderr=subprocess.DEVNULL,
                pace=None if pace is None else _pace(pace, scenario, out),
            ).exit_status
        else:
            status = host.run_lab(out, on_line, builder.environment)
    except BaseException as error:  # Ctrl-C and SIGTERM too: results so far are kept
        failure = error
    with signals.postponed():
        try:
            manifest = collect.gather(out, time.monotonic() - started, status, failure)
            on_results(out)
        except HoplabError as error:
            raise error if failure is None else failure from error
    if failure is not None:
        raise failure
    verdict = manifest["verdict"]
    if verdict["status"] != 0:
        kept = f"results so far are in {folder.shown(out)}"
        raise of_status(verdict["status"], f"{manifest['run']}: {verdict['error']}; {kept}")
    return manifest


def others(scenario: Scenario, find: Find = none_here, chosen: bool = False) -> Builder:
    """Who builds the network, where others do; ``chosen`` is whether a sealed machine has been,
    which holds none of them. Raises what ``find`` does."""
    if scenario.is_found:
        raise ScenarioError(
            'network.built_by: "script": the script that built it has to run again, by '
            "'hoplab mininet'"
        )
    if scenario.network.built_by == "hoplab":
        return NOBODY
    if chosen:
        raise ScenarioError(
            'network.built_by: "mininet-wifi" is in no sealed machine, which sweeps, verify and '
            '--machine-file boot; use "hoplab run" on this computer\'s own'
        )
    return find(scenario)


def shell(scenario: Scenario, out: Path, machine: str, find: Find = none_here) -> int:
    """A prompt on the scenario's network, with ``out`` for its logs; returns its status."""
    if machine != "host":
        uml.require_terminal()
    builder = others(scenario, find)
    require(scenario, machine)
    folder.fill(out, scenario, None)
    if machine == "host":
        return host.shell(out, environment=builder.environment)
    return uml.run_guest(
        [*guest_python(builder), "-m", "hoplab.guest.lab.prompt", "/out"],
        writable=out,
        folders=builder.folders,
        seed=scenario.seed,
        memory_mb=memory_mb(scenario),
        virtual=False,
        stdin=sys.stdin.fileno(),
        terminal=True,
    ).exit_status


def _pace(factor: float, scenario: Scenario, out: Path) -> Pace:
    def begin_s() -> float | None:
        epoch_ns = told(out, "monotonic_epoch_ns")
        return None if epoch_ns is None else epoch_ns / NANOSECONDS

    return Pace(factor, begin_s, scenario.duration_s)


def memory_mb(scenario: Scenario, duration_s: float | None = None) -> int:
    """Memory of a guest for the scenario, or for so long a time of it."""
    whole_s = (duration_s or scenario.duration_s) + (scenario.warm_up_s or 0.0)
    return memory.needed_mb(len(scenario.station), len(scenario.flow), whole_s)


def lab_command(sealed: Machine | None, builder: Builder) -> list[str]:
    """What a guest of a run does."""
    python = ["python3", "-S", "-P"] if sealed is not None else guest_python(builder)
    return [*python, "-m", "hoplab.guest.lab", "/out"]


def guest_python(builder: Builder = NOBODY) -> list[str]:
    """The interpreter as a guest sees it, without site: that would look at the checkout's own
    path, and a run's course must not depend on where the checkout lies. It is told of the one who
    builds the network."""
    told = [f"{key}={value}" for key, value in builder.environment.items()]
    if not IS_CHECKOUT:  # the guest has it where the host has it
        path = f"PYTHONPATH={sysconfig.get_path('purelib')}"
        return ["env", *told, path, sys.executable, "-S", "-P"]
    packages = Path(sysconfig.get_path("purelib")).relative_to(PROJECT)
    path = f"/hoplab:/hoplab/{packages}"
    return ["env", *told, f"PYTHONPATH={path}", "/hoplab/.venv/bin/python", "-S", "-P"]


def require(scenario: Scenario, machine: str) -> None:
    """Raise `MissingTool` for the first thing that the run needs and this machine lacks."""
    if machine == "uml":
        uml.require()
        # A guest that has to compile the lab itself takes another course.
        compileall.compile_dir(PROJECT / "hoplab", quiet=2)
    for name in collect.programs(scenario):
        program(name)
