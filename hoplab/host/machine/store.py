# SPDX-License-Identifier: Apache-2.0
"""This user's machines by identity: ``~/.cache/hoplab/machines``."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hoplab.host.machine import sealed
from hoplab.host.machine.sealed import DESCRIPTION, Machine
from hoplab.model.errors import Damaged, MissingTool, ResultsError

IDENTITY = re.compile(r"[0-9a-f]{64}")
_held: dict[Path, int] = {}
"""Descriptors that lock the machines which this process may use."""


def cache() -> Path:
    """Return the user's cache. `HOPLAB_CACHE` moves it, and without a home it is a temporary
    folder."""
    for variable, below in (("HOPLAB_CACHE", ""), ("XDG_CACHE_HOME", "hoplab")):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / below
    home = os.environ.get("HOME")
    if home and Path(home).is_dir():
        return Path(home) / ".cache" / "hoplab"
    return Path(tempfile.gettempdir()) / f"hoplab-cache-{os.getuid()}"


def folder() -> Path:
    return cache() / "machines"


def stamps() -> Path:
    """Return the folder in which `sealed.check` records the files that it has read."""
    return cache() / "checked"


def machines(damaged: Callable[[str], None] = lambda problem: None) -> list[Machine]:
    """Return every machine here, the newest first. ``damaged`` receives a message for each one that
    is skipped."""
    found = []
    for path in sorted(folder().glob("[0-9a-f]*"), key=_date, reverse=True):
        try:
            found.append(find(path.name))
        except (MissingTool, Damaged) as error:
            damaged(str(error))
    return found


def _date(path: Path) -> int:
    try:
        return (path / DESCRIPTION).lstat().st_mtime_ns
    except OSError:
        return 0


def find(identity: str) -> Machine:
    """Return the machine of this whole identity. Files of others name it, so it is never a path."""
    if IDENTITY.fullmatch(identity) is None:
        raise MissingTool(
            f"machine {identity[:80]!r}: is no machine's identity: 64 digits of SHA-256 expected"
        )
    machine = sealed.load(folder() / identity)
    if machine.id != identity:
        raise Damaged(
            f"{machine.folder}: holds machine {machine.id[: sealed.SHORT]}; remove the folder"
        )
    return machine


def named(name: str) -> Machine:
    """Return a machine by the user's name for it: its folder, or the first digits of its
    identity."""
    path = Path(name)
    if (path / DESCRIPTION).is_file():
        return sealed.load(path)
    found = [machine for machine in machines() if machine.id.startswith(name)] if name else []
    if len(found) == 1:
        return found[0]
    problem = "fits several machines" if found else "is no machine here"
    raise MissingTool(f"{name}: {problem}; 'hoplab machine list' shows them")


def trust(machine: Machine) -> None:
    """Let the user run this machine from now on without a question: see
    `hoplab.host.machine.trust`."""
    with contextlib.suppress(OSError):  # the question then comes again
        _mark(machine).parent.mkdir(parents=True, exist_ok=True)
        _mark(machine).touch()


def is_trusted(machine: Machine) -> bool:
    return _mark(machine).is_file()


def _mark(machine: Machine) -> Path:
    return cache() / "trusted" / machine.id


def hold(identity: str) -> None:
    """Keep `remove` away from a machine until this process ends: other checkouts, and every change
    of the code, make machines meanwhile."""
    path = _lock(identity)
    if path in _held or IDENTITY.fullmatch(identity) is None:
        return
    with contextlib.suppress(OSError):  # a cache that cannot be written loses nothing either
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _held[path] = descriptor


def remove(identity: str) -> bool:
    """Remove a machine that no process holds. Returns whether it is gone."""
    if IDENTITY.fullmatch(identity) is None:
        return True  # a note that was cut off names none
    _lock(identity).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(_lock(identity), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder() / identity, ignore_errors=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _lock(identity: str) -> Path:
    return cache() / "held" / identity


@contextlib.contextmanager
def writing_to(place: Path, variable: str = "HOPLAB_CACHE") -> Iterator[None]:
    """Turn the system's errors of a full disk or a missing right into `ResultsError`."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            f"{place}: cannot be written: {error.strerror or error}; make room there, or let "
            f"{variable} name another folder"
        ) from None


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """Make an empty folder on the store's file system, which is removed unless it is moved."""
    with writing_to(folder()):
        folder().mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=folder(), prefix="new-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def adopt(path: Path, description: Mapping[str, Any]) -> Machine:
    """Turn the complete folder ``path`` of the store into a machine."""
    identity = sealed.identity(description)
    target = folder() / identity
    (path / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    path.chmod(0o755)
    if not (target / DESCRIPTION).is_file():
        # Two processes that made it at once made the same.
        with contextlib.suppress(OSError):
            path.rename(target)
    return sealed.load(target)
