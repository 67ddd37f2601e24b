# SPDX-License-Identifier: Apache-2.0
"""A folder of this user's alone for what lives as long as a guest, and what crashes left in it.

Where others may write they can lay a link before us, so every step from the root to the folder
must belong to the user or to root, and be open to nobody else's writing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hoplab.model.errors import MissingTool

GUESTS = "guests"
OWNER = "owner"
"""In a guest's folder: locked, by whom it belongs to, while that lives. Its text is the pid."""
MEMORY = "memory"
"""In a guest's folder: a link to the folder that its memory is in."""
EXECUTABLE = b"#!/bin/sh\n"


def folder() -> Path:
    """The private folder, made where it was not there; raises `MissingTool` where none serves."""
    refusals = []
    for path in _candidates():
        try:
            if not path.is_absolute():
                raise NotADirectoryError(0, "is relative; expected the whole path, from /")
            _make(path)
        except OSError as error:
            refusals.append(f"{path}: {error.strerror or error}")
        else:
            return path
    raise MissingTool(
        "private folder: none serves: "
        + "; ".join(refusals)
        + "; set XDG_RUNTIME_DIR to a folder of your own, mode 700, not mounted noexec"
    )


def _candidates() -> Iterator[Path]:
    yield Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "hoplab"
    with contextlib.suppress(RuntimeError):  # a user without an entry in /etc/passwd has no home
        cache = os.environ.get("XDG_CACHE_HOME")
        yield (Path(cache) if cache else Path.home() / ".cache") / "hoplab" / "run"
    yield Path(tempfile.gettempdir()) / f"hoplab-{os.getuid()}"


def _make(named: Path) -> None:
    path = named.parent.resolve() / named.name
    if path.parent.name == "hoplab":
        _require_trust(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not path.parent.is_dir():
        raise NotADirectoryError(0, f"{path.parent} is not there")
    _require_trust(path)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(0, "is not a folder")
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(0, "is open to others")
    with contextlib.suppress(FileExistsError):
        (path / GUESTS).mkdir(mode=0o700)
    _try_executing(path)


def _require_trust(path: Path) -> None:
    """Raise PermissionError where others may replace one of the folders that ``path`` is in."""
    for parent in path.parents:
        if not parent.exists():
            continue
        found = parent.stat()
        others = found.st_mode & stat.S_IWOTH or (
            found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getgid())
        )
        if found.st_uid not in (0, os.getuid()) or (others and not found.st_mode & stat.S_ISVTX):
            raise PermissionError(0, f"others may write in {parent}")


def _try_executing(path: Path) -> None:
    """A guest takes its first process from here, which mount options can forbid."""
    with tempfile.NamedTemporaryFile(dir=path, prefix="try-") as file:
        file.write(EXECUTABLE)
        os.fchmod(file.fileno(), 0o700)
        if not os.access(file.name, os.X_OK):
            raise PermissionError(0, "programs may not run there (noexec)")


def lock(path: Path, wait: bool = False) -> int | None:
    """A descriptor that locks the file until it is closed; None where another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def guest_folder() -> Iterator[Path]:
    """A new folder for one guest, which vanishes with what is in it and with its memory's."""
    guests = folder() / GUESTS
    with _steady(guests):
        made = Path(tempfile.mkdtemp(dir=guests))
        owner = lock(made / OWNER, wait=True)
        assert owner is not None
    try:
        os.write(owner, str(os.getpid()).encode())
        yield made
    finally:
        with _steady(guests):
            _remove(made)
        os.close(owner)


def clean() -> list[str]:
    """Remove the folders of guests whose owner has gone; returns a line for each."""
    removed = []
    guests = folder() / GUESTS
    with _steady(guests):
        for path in sorted(guests.iterdir()):
            if not path.is_dir() or path.is_symlink():
                continue
            owner = lock(path / OWNER)
            if owner is None:
                continue  # that run is still going
            _remove(path)
            os.close(owner)
            removed.append(f"guest folder {path}")
    return removed


@contextlib.contextmanager
def _steady(guests: Path) -> Iterator[None]:
    """Nobody else makes or clears folders meanwhile: a new one is seen only with its lock."""
    descriptor = lock(guests.with_suffix(".lock"), wait=True)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        shutil.rmtree((path / MEMORY).readlink())
    shutil.rmtree(path, ignore_errors=True)
