# SPDX-License-Identifier: Apache-2.0
"""The user's programs: working folder, contents, start and end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hoplab.guest.network.hosts import Hosts
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.counting import told
from hoplab.guest.system.processes import SEARCHED, beside, last_line
from hoplab.guest.traffic.outputs import Output
from hoplab.model import writing
from hoplab.model.errors import MissingTool
from hoplab.model.keys.contents import octets_of
from hoplab.model.keys.resolved import ResolvedProgram

PATH = f"/usr/local/sbin:/usr/local/bin:{SEARCHED}"
KEPT = ("GLIBC_TUNABLES", "LC_ALL", "TZ", "PYTHONHASHSEED", "PYTHONUTF8")
"""Variables that a guest sets, so that a program does the same everywhere."""

MANY_FILES = 500
"""Files of a program that take a second to keep."""
COPIED_BYTES = 1 << 20

HAR = (sys.executable, "-S", "-E", str(Path(__file__).with_name("har.py")))
"""Hoplab's own program, which every machine has. It runs at stations only, so it is not
imported."""


ELF_64 = b"\x7fELF\x02"
HEADER = struct.Struct("<5s27xQ14xHH")
"""Of an ELF file: identification, and its table of segments: where, how long a row, how many."""
SEGMENT = struct.Struct("<I")
PT_INTERP = 3


@dataclass
class Task:
    """A program of a run, before it starts, while it runs and after its end."""

    program: ResolvedProgram
    folder: Path
    """The folder in which it works."""
    out: Path
    error: Path
    """Its output, on standard output and standard error."""
    process: subprocess.Popen[bytes] | None = None
    begin_s: float | None = None
    ready_s: float | None = None
    end_s: float | None = None
    status: int | None = None
    """Its exit status, -n for a signal n; None while it runs."""
    stopping: bool = field(default=False)
    """Whether it has been asked to end."""
    found_first: Path | None = None
    """The folder of the scenario's additions to the machine, if there are any."""

    @property
    def name(self) -> str:
        return str(self.program.name)

    @property
    def session(self) -> int | None:
        """Number of the session that holds its processes, while it runs."""
        return None if self.process is None or self.status is not None else self.process.pid

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """Its output, searched for what shows that it is ready."""
        ready = self.program.ready
        if ready is None or ready.log is None:
            return ()
        return tuple(Output(file, ready.log) for file in (self.out, self.error))

    @property
    def said(self) -> str:
        """Its last line of output, from standard error if that has one."""
        told = self.error if self.error.exists() and self.error.stat().st_size else self.out
        return f"{last_line(told)}; see logs/{told.name}"

    def signal(self, number: int) -> None:
        """Send a signal to the program and its child processes."""
        if self.process is not None and self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)


def made(program: ResolvedProgram, place: Path, out: Path) -> Task:
    """Make the program's working folder below ``place``, with its files. Its logs go to ``out``."""
    folder = place / program.name
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
        path.chmod(0o755)  # the octets do not say whether it is a program


def environment(task: Task) -> dict[str, str]:
    """Return an environment without anything of the user's, so that it is the same everywhere."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    path = PATH if task.found_first is None else f"{task.found_first}:{PATH}"
    own = {"PATH": path, "HOME": str(task.folder), "PWD": str(task.folder), "TERM": "dumb"}
    return {**kept, **own, **task.program.env}


def command(task: Task) -> list[str]:
    """Return the words of the command, the first as a path. Raises `MissingTool` if there is no
    such program."""
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
    if task.program.mptcp and _is_static(Path(found)):
        raise MissingTool(
            f"program {task.name}: mptcp: {word!r} is linked statically, so its sockets stay "
            "TCP's; take a program that is linked with the C library"
        )
    return [found, *arguments]


def _is_static(file: Path) -> bool:
    """Return whether it is a program of 64 bits (ELF) without an interpreter, which loads what is
    preloaded."""
    with file.open("rb") as content:
        head = content.read(HEADER.size)
        if len(head) < HEADER.size or head[:5] != ELF_64:
            return False
        offset, size, count = HEADER.unpack(head)[-3:]
        if size < SEGMENT.size:
            return False
        content.seek(offset)
        table = content.read(size * count)
    starts = range(0, len(table) - SEGMENT.size + 1, size)
    return all(SEGMENT.unpack_from(table, at)[0] != PT_INTERP for at in starts)


def start(task: Task, namespaces: Namespaces, hosts: Hosts) -> None:
    """Start the program at its station. Raises `MissingTool` if that is not possible."""
    words = command(task)
    try:
        with writing.added(task.out) as output, hosts.known():
            task.process = namespaces.spawn(
                task.program.station,
                [task.program.words[0], *words[1:]],
                task.error,
                executable=words[0],
                stdout=output,
                cwd=task.folder,
                env={**beside(words, task.program.mptcp), **environment(task)},
                start_new_session=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise MissingTool(
            f"program {task.name}: run: {words[0]} cannot be started: {why}"
        ) from None


def keep(task: Task, out: Path) -> None:
    """Copy the files of its working folder to ``programs/NAME`` of the run's folder. Only regular
    files are copied, because links and devices could lead elsewhere."""
    kept = out / "programs" / task.name
    found = sorted(_regular_files(task.folder))
    paths: Iterable[Path] = found
    if len(found) > MANY_FILES:
        paths = told(f"keeps files of program {task.name}", found, MANY_FILES)
    made: set[Path] = set()
    for path in paths:
        target = kept / path.relative_to(task.folder)
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        _copy(path, target)


def _regular_files(folder: Path) -> Iterator[Path]:
    """Return the regular files below a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from _regular_files(Path(entry.path))


def _copy(path: Path, target: Path) -> None:
    """Copy a file as `shutil.copyfile` does, with half the system calls."""
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        copy = writing.over(target, os.O_TRUNC)
        try:
            while octets := os.read(source, COPIED_BYTES):
                while octets:
                    octets = octets[os.write(copy, octets) :]
        finally:
            os.close(copy)
    finally:
        os.close(source)


def signal_number(program: ResolvedProgram) -> int:
    """Return the number of the signal that asks the program to end."""
    return int(signal.Signals[f"SIG{program.signal}"])
