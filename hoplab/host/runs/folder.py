# SPDX-License-Identifier: Apache-2.0
"""A run's folder: a new one for each run, which only that run uses."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hoplab.model import writing
from hoplab.model.errors import ResultsError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.reading import OTHER_KINDS

DEFAULT = Path("runs")
LOCK = "running.pid"


def made(out: Path | None, source: Path | None) -> Path:
    """Make the folder of a new run: ``out``, or one with a name that no other run has.

    Raises `ResultsError` if that is not possible.
    """
    if out is not None:
        return _made(out)
    stem = "run" if source is None else source.stem
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while True:
        folder = DEFAULT / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise _unusable(folder, error) from None
        return folder


def _made(out: Path) -> Path:
    try:
        if out.is_symlink() and not out.exists():
            raise ResultsError(f"{out}: is a link to nothing; name a new folder with --out")
        if out.exists() and not out.is_dir():
            raise ResultsError(f"{out}: is a file; name a new folder with --out")
        out.mkdir(parents=True, exist_ok=True)
        entries = [entry.name for entry in out.iterdir()]
    except OSError as error:
        raise _unusable(out, error) from None
    if LOCK in entries and is_running(out):
        raise ResultsError(f"{out}: another run is using it; name another with --out")
    if entries:
        raise ResultsError(
            f"{out}: is not empty; name a new folder with --out or remove what is there"
        )
    return out


def _unusable(out: Path, error: OSError) -> ResultsError:
    return ResultsError(
        f"{out}: cannot be written: {error.strerror}; choose another folder with --out"
    )


@contextmanager
def held(out: Path) -> Iterator[None]:
    """Lock the folder for this process. A crash releases the lock.

    Raises `ResultsError` if another process has it or it cannot be written.
    """
    path = out / LOCK
    try:
        lock = writing.added(path)
    except OSError as error:
        if error.errno in OTHER_KINDS:
            raise ResultsError(f"{path}: cannot be used: {error.strerror}; remove it") from None
        raise _unusable(out, error) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(f"{out}: another run is using it; name another with --out") from None
        try:
            with contextlib.suppress(OSError):  # it is for people to read
                lock.truncate(0)
                lock.write(str(os.getpid()))
                lock.flush()
            yield
        finally:
            path.unlink(missing_ok=True)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def is_running(out: Path) -> bool:
    """Return whether a process has locked the folder."""
    try:
        with open(out / LOCK, "rb", opener=_without_waiting) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def fill(out: Path, scenario: Resolved, source: Path | None) -> None:
    """Write the scenario into the run's folder."""
    try:
        text = scenario.model_dump_json(exclude_none=True, indent=1)
        writing.write_text(out / "scenario.json", text)
        if source is not None and source.is_file():  # not a pipe, which has been read
            shutil.copy(source, out / "scenario.toml")
    except OSError as error:
        raise _unusable(out, error) from None


def shown(path: Path) -> str:
    """Return a path as text, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")
