# SPDX-License-Identifier: Apache-2.0
"""The store's folder: ``runs/ab/abcd….run``, a file for each key.

A file appears complete under its name, or not at all (rename(2)), so a reader never waits. A killed
program leaves at most a file of another name, which `Store.leftovers` finds. Two writers of the
same key take turns, and the second adds its tables to those of the first. They use flock(2) on
``runs/ab/.lock``, which the kernel releases when its holder dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hoplab.host.machine import store as machines
from hoplab.many.store import entry as entries
from hoplab.many.store.entry import Entry
from hoplab.model import reading
from hoplab.model.errors import ResultsError

VARIABLE = "HOPLAB_STORE"
SUFFIX = ".run"
PARTIAL = ".new-"
KEY = re.compile(r"[0-9a-f]{64}")
LARGEST_BYTES = 8 << 30
STALE_S = 3600.0
"""No program writes a file for so long. An older file was left by a killed program."""
TOUCH_S = 86_400.0
"""Precision with which a store knows when an entry was last used."""


def default_folder() -> Path:
    """Return `HOPLAB_STORE`, else ``store`` in this user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else machines.cache() / "store"


def discard(path: Path) -> None:
    """Remove whatever is in an entry's place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_file(path: Path) -> bool:
    """Return whether it is a regular file. A link does not count, since it could lead out of the
    store."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


class Store:
    """Runs by key in ``folder``, which is made if it is missing."""

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        self._runs = self.folder / "runs"

    def path(self, key: str) -> Path:
        """Return the path of the entry of ``key``, whether it exists or not."""
        if KEY.fullmatch(key) is None:
            raise ResultsError(f"{key[:80]!r}: is no key of a run: 64 digits of SHA-256 expected")
        return self._runs / key[:2] / f"{key}{SUFFIX}"

    def get(self, key: str) -> Entry | None:
        """Return the run ``key``, or None if it is not here or its file is damaged."""
        found = self.read(key)
        if found is not None:
            self._touch(self.path(key))
        return found

    def read(self, key: str) -> Entry | None:
        """Return the same as `get`, without counting as a use."""
        path = self.path(key)
        if not _is_file(path):
            return None
        content = reading.read_bytes(path, LARGEST_BYTES, "a store's entry", ResultsError)
        try:
            found = entries.unpack(content, path)
        except ResultsError:
            return None  # as if it had never been run; the next run replaces it
        return found if found.key == key else None

    def put(self, new: Entry) -> Entry:
        """Keep a run, with the tables that an earlier run of its key kept. Returns both together.

        A failure never replaces a run that ended well. Raises `ResultsError` if the folder cannot
        be written, or if the two runs differ.
        """
        path = self.path(new.key)
        with self._writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._turn(path.parent):
                old = self.get(new.key)
                if old is not None and old.error is None:
                    if new.error is not None:
                        return old
                    if set(new.blobs) <= set(old.blobs) and old.digest == new.digest:
                        return old
                    new = new.with_tables_of(old)
                if os.path.lexists(path) and not _is_file(path):
                    self._put_aside(path)
                self._write(path, entries.pack(new))
        return new

    def require_writable(self, key: str) -> None:
        """Raise `ResultsError` if `put` could not write the run ``key``. Call this before making
        the run."""
        path = self.path(key)
        with self._writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(prefix=PARTIAL, dir=path.parent):
                pass

    def remove(self, key: str) -> None:
        """Delete a run."""
        path = self.path(key)
        with self._writing(path):
            discard(path)

    def __iter__(self) -> Iterator[str]:
        """Every key, sorted."""
        for shard in self._shards():
            for path in sorted(shard.glob(f"*{SUFFIX}")):
                if KEY.fullmatch(path.stem):
                    yield path.stem

    def find(self, start: str) -> Entry:
        """Return the run whose key begins with ``start``. Raises `ResultsError` unless there is
        exactly one."""
        found = [key for key in self if key.startswith(start)][:2] if start else []
        entry = self.get(found[0]) if len(found) == 1 else None
        if entry is None:
            problem = "begins several keys" if len(found) > 1 else "begins no key here"
            raise ResultsError(f"{start!r}: {problem}; 'hoplab store ls' shows them")
        return entry

    def leftovers(self, older_s: float = STALE_S) -> Iterator[Path]:
        """Yield half-written files of killed programs."""
        for shard in self._shards():
            for path in shard.glob(f"{PARTIAL}*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime >= older_s:
                        yield path

    def _shards(self) -> list[Path]:
        return sorted(path for path in self._runs.glob("[0-9a-f][0-9a-f]") if path.is_dir())

    @staticmethod
    def _put_aside(path: Path) -> None:
        """Move anything that is no file to the `leftovers`, which `hoplab store gc` removes."""
        aside = tempfile.mkdtemp(prefix=PARTIAL, dir=path.parent)
        path.rename(Path(aside) / path.name)

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        descriptor, name = tempfile.mkstemp(prefix=PARTIAL, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).chmod(0o644)  # others may read a shared store
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    @staticmethod
    @contextlib.contextmanager
    def _turn(shard: Path) -> Iterator[None]:
        # A pipe in its place would block forever, and a link would lead elsewhere.
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
        with os.fdopen(os.open(shard / ".lock", flags, 0o666), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ResultsError(
                f"{path}: cannot be written: {error.strerror or error}; make room there, or let "
                f"--store or {VARIABLE} name another folder"
            ) from None

    @staticmethod
    def _touch(path: Path) -> None:
        """Record the day of use, for `hoplab store gc --unused-days`."""
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > TOUCH_S:
                os.utime(path)
