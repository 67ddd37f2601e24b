# SPDX-License-Identifier: Apache-2.0
"""Programs of the user's: where one works, what it finds there, how it starts and ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.guest.network.hosts import Hosts
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.processes import SEARCHED, last_line
from hoplab.model.errors import MissingTool
from hoplab.model.scenario.program import Program
from hoplab.model.scenario.programs import octets_of

PATH = f"/usr/local/sbin:/usr/local/bin:{SEARCHED}"
KEPT = ("GLIBC_TUNABLES", "LC_ALL", "TZ", "PYTHONHASHSEED", "PYTHONUTF8")
"""What a guest sets so that a program does the same everywhere."""

HAR = (sys.executable, "-S", "-E", str(Path(__file__).with_name("har.py")))
"""Hoplab's own, which every machine has. Not imported: it runs at stations alone."""


@dataclass
class Task:
    """A program of a run, before it starts, while it goes and after its end."""

    program: Program
    folder: Path
    """Where it works."""
    out: Path
    error: Path
    """What it says, on standard output and standard error."""
    process: subprocess.Popen[bytes] | None = None
    begin_s: float | None = None
    ready_s: float | None = None
    end_s: float | None = None
    status: int | None = None
    """Of its exit, -n for a signal n; None while it goes."""
    stopping: bool = field(default=False)
    """Whether it has been asked to end."""
    found_first: Path | None = None
    """The folder of what the scenario adds to the machine, where it adds something."""

    @property
    def name(self) -> str:
        return str(self.program.name)

    @property
    def session(self) -> int | None:
        """Number of the session that its processes are in, while it goes."""
        return None if self.process is None or self.status is not None else self.process.pid

    @property
    def said(self) -> str:
        """The last line that it said, on standard error where there is one."""
        told = self.error if self.error.exists() and self.error.stat().st_size else self.out
        return f"{last_line(told)}; see logs/{told.name}"

    def signal(self, number: int) -> None:
        """Send it, and what it has started, a signal."""
        if self.process is not None and self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)


def made(program: Program, place: Path, out: Path) -> Task:
    """The program's working folder below ``place``, with its files; its logs go to ``out``."""
    folder = place / str(program.name)
    folder.mkdir(parents=True)
    put(program.file, folder)
    logs = out / "logs"
    name = f"program-{program.name}"
    return Task(program, folder, logs / f"{name}.out", logs / f"{name}.err")


def put(files: Mapping[str, str], folder: Path) -> None:
    """Write files of the scenario into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets_of(text))
        path.chmod(0o755)  # whether it is a program, its octets do not say


def environment(task: Task) -> dict[str, str]:
    """Nothing of who started the run, so that it is the same wherever that is."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    path = PATH if task.found_first is None else f"{task.found_first}:{PATH}"
    own = {"PATH": path, "HOME": str(task.folder), "PWD": str(task.folder), "TERM": "dumb"}
    return {**kept, **own, **task.program.env}


def command(task: Task) -> list[str]:
    """Its words, the first as a path. Raises `MissingTool` where there is no such program."""
    word, *arguments = task.program.words
    if word == "hoplab-har":
        return [*HAR, *arguments]
    if "/" in word:
        path = task.folder / word
        found = str(path) if os.access(path, os.X_OK) and path.is_file() else None
    else:
        found = shutil.which(word, path=environment(task)["PATH"])
    if found is None:
        raise MissingTool(
            f"program {task.name}: run: there is no {word!r} on this machine; put it into files "
            f"(run = './{Path(word).name}'), name its package in machine.packages, or take this "
            "computer's with host = true"
        )
    return [found, *arguments]


def start(task: Task, namespaces: Namespaces, hosts: Hosts) -> None:
    """Start it at its station. Raises `MissingTool` where that is not possible."""
    words = command(task)
    try:
        with task.out.open("ab") as output, hosts.known():
            task.process = namespaces.spawn(
                task.program.station,
                [task.program.words[0], *words[1:]],
                task.error,
                executable=words[0],
                stdout=output,
                cwd=task.folder,
                env=environment(task),
                start_new_session=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise MissingTool(
            f"program {task.name}: run: {words[0]} cannot be started: {why}"
        ) from None


def keep(task: Task, out: Path) -> None:
    """Take the files of its working folder out, to ``programs/NAME`` of the run's folder: regular
    ones alone, since links and devices could lead elsewhere."""
    for place, folders, names in os.walk(task.folder):
        folders.sort()
        target = out / "programs" / task.name / Path(place).relative_to(task.folder)
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                target.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / name)


def signal_number(program: Program) -> int:
    """Of the signal that asks it to end."""
    return int(signal.Signals[f"SIG{program.signal}"])
