# SPDX-License-Identifier: Apache-2.0
"""Launch a run: prepare its folder, run the lab in a machine, have its results collected."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.errors import GuestFailed, HoplabError, ResultsError
from hoplab.machine import host, uml
from hoplab.machine.watch import Limits
from hoplab.processes import program
from hoplab.resources import PROJECT
from hoplab.run import collect
from hoplab.scenario.model import Scenario

LOCK = "running.pid"
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
    out: Path,
    machine: str = "uml",
    wall_limit_s: float | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Run a resolved scenario into the new folder ``out``; returns the manifest.

    Results so far are kept and turned into tables when the run fails. Raises the `HoplabError`
    of what went wrong.
    """
    require(scenario, machine)
    _prepare(out, scenario, source)
    started = time.monotonic()

    def on_line(line: str) -> None:
        try:
            entry = json.loads(line)
            progress = Progress(
                float(entry["t_s"]), float(entry["goodput_kbps"]), time.monotonic() - started
            )
        except (ValueError, KeyError, TypeError):
            return
        on_progress(progress)

    failure: BaseException | None = None
    status = GuestFailed.exit_status
    planned_s = scenario.duration_s + (scenario.warm_up_s or 0.0)
    limits = Limits(True, wall_limit_s, VIRTUAL_LIMIT_S + 2 * planned_s)
    try:
        if machine == "uml":
            status = uml.run_guest(
                [*_guest_python(), "-m", "hoplab.lab", "/out"],
                writable=out,
                seed=scenario.seed,
                limits=limits,
                on_line=on_line,
                stderr=subprocess.DEVNULL,
            ).exit_status
        else:
            status = host.run_lab(out, on_line)
    except BaseException as error:  # Ctrl-C and SIGTERM too: results so far are kept
        failure = error
    try:
        manifest = collect.gather(out, scenario, machine, time.monotonic() - started, status)
    except OSError as error:
        raise ResultsError(
            f"{out}: cannot be written: {error.strerror}; free some space or choose another "
            "folder with --out"
        ) from None
    finally:
        (out / LOCK).unlink(missing_ok=True)
    if failure is not None:
        raise failure
    verdict = manifest["verdict"]
    if verdict["status"] != 0:
        ended = HoplabError(f"{out.name}: {verdict['error']}; results so far are in {out}")
        ended.exit_status = verdict["status"]
        raise ended
    return manifest


def shell(scenario: Scenario, folder: Path, machine: str) -> int:
    """A prompt on the scenario's network, with ``folder`` for its logs; returns its status."""
    require(scenario, machine)
    _prepare(folder, scenario, None)
    if machine == "host":
        return host.shell(folder)
    return uml.run_guest(
        [*_guest_python(), "-m", "hoplab.prompt", "/out"],
        writable=folder,
        seed=scenario.seed,
        virtual=False,
        stdin=sys.stdin.fileno(),
        terminal=sys.stdin.isatty(),
    ).exit_status


def _guest_python() -> list[str]:
    """The interpreter as a guest sees it, without site: that would look at the checkout's own
    path, and a run's course must not depend on where the checkout lies."""
    packages = Path(sysconfig.get_path("purelib")).relative_to(PROJECT)
    path = f"/hoplab:/hoplab/{packages}"
    return ["env", f"PYTHONPATH={path}", "/hoplab/.venv/bin/python", "-S", "-P"]


def require(scenario: Scenario, machine: str) -> None:
    """Raise `MissingTool` for the first thing that the run needs and this machine lacks."""
    if machine == "uml":
        uml.require()
        # A guest that has to compile the lab itself takes another course.
        compileall.compile_dir(PROJECT / "hoplab", quiet=2)
    for name in collect.programs(scenario):
        program(name)


def _prepare(out: Path, scenario: Scenario, source: Path | None) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise ResultsError(
                f"{out}: is not empty; name a new folder with --out or remove what is there"
            )
        # Made with O_EXCL: of two runs that start at once, one gets the folder.
        with (out / LOCK).open("x") as lock:
            lock.write(str(os.getpid()))
        (out / "scenario.json").write_text(
            scenario.model_dump_json(exclude_none=True, indent=1), encoding="utf-8"
        )
        if source is not None and source.is_file():  # not a pipe, which has been read
            shutil.copy(source, out / "scenario.toml")
    except FileExistsError:
        raise ResultsError(f"{out}: another run is using it; name another with --out") from None
    except OSError as error:
        raise ResultsError(
            f"{out}: cannot be written: {error.strerror}; choose another folder with --out"
        ) from None
