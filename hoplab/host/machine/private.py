# SPDX-License-Identifier: Apache-2.0
"""A folder for only this user, for files that live as long as a guest, and the remains of crashed
guests and commands.

In a folder that others can write, they could put a link in our way. Every folder from the root down
must therefore belong to the user or to root, and be writable for nobody else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hoplab.model.errors import MissingTool

GUESTS = "guests"
OWNER = "owner"
"""Lock file in a guest's folder. The owning process holds the lock while it lives, and the text is
its pid."""
TEMPORARY = "hoplab-"
CONTENTS = "contents"
"""Folder beside the lock in a temporary folder."""
MEMORY = "memory"
"""Link in a guest's folder to the folder of its memory."""
EXECUTABLE = b"#!/bin/sh\n"


def folder() -> Path:
    """Return the private folder, and make it if it is missing. Raises `MissingTool` if no place is
    suitable."""
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
    require_own(path)
    with contextlib.suppress(FileExistsError):
        (path / GUESTS).mkdir(mode=0o700)
    _try_executing(path)


def require_own(path: Path) -> None:
    """Raise PermissionError unless this is a folder of this user alone, which nobody else may
    replace."""
    _require_trust(path)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(0, "is not a folder")
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(0, "is open to others")


def _require_trust(path: Path) -> None:
    """Raise PermissionError if others may replace one of the folders that contain ``path``."""
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
    """Try to execute a file here. A guest takes its first process from here, and mount options can
    forbid that."""
    with tempfile.NamedTemporaryFile(dir=path, prefix="try-") as file:
        file.write(EXECUTABLE)
        os.fchmod(file.fileno(), 0o700)
        if not os.access(file.name, os.X_OK):
            raise PermissionError(0, "programs may not run there (noexec)")


def lock(path: Path, wait: bool = False) -> int | None:
    """Return a descriptor that locks the file until it is closed; None if another process has the
    lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def guest_folder() -> Iterator[Path]:
    """Make a new folder for one guest. It vanishes with its contents, and so does its memory's
    folder."""
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


@contextlib.contextmanager
def temporary(purpose: str) -> Iterator[Path]:
    """Make a new folder among temporary files, called after its purpose. It vanishes with its
    contents, or by `clean` if its owner was killed."""
    guests = folder() / GUESTS
    with _steady(guests):
        made = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{purpose}-"))
        owner = lock(made / OWNER, wait=True)
        assert owner is not None
    try:
        inner = made / CONTENTS
        inner.mkdir()
        yield inner
    finally:
        with _steady(guests):
            shutil.rmtree(made, ignore_errors=True)
        os.close(owner)


def clean() -> list[str]:
    """Remove the folders whose owner has gone: of guests, and temporary ones. Returns a line for
    each."""
    guests = folder() / GUESTS
    with _steady(guests):
        removed = [f"guest folder {path}" for path in _cleaned(sorted(guests.iterdir()), _remove)]
        ours = (path for path in _temporaries() if (path / OWNER).exists())
        removed += [f"temporary folder {path}" for path in _cleaned(ours, shutil.rmtree)]
    return removed


def _temporaries() -> list[Path]:
    """Return this user's temporary files and folders with names as `temporary` gives them."""
    found = []
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*")):
        with contextlib.suppress(FileNotFoundError):  # it has just gone
            if path.lstat().st_uid == os.getuid():
                found.append(path)
    return found


def _cleaned(paths: Iterable[Path], remove: Callable[[Path], object]) -> Iterator[Path]:
    """Remove and yield the folders whose owner has gone."""
    for path in paths:
        if not path.is_dir() or path.is_symlink():
            continue
        owner = lock(path / OWNER)
        if owner is None:
            continue  # that run is still in progress
        remove(path)
        os.close(owner)
        yield path


@contextlib.contextmanager
def _steady(guests: Path) -> Iterator[None]:
    """Keep other processes from making or clearing folders, so that a new folder is never seen
    without its lock."""
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
