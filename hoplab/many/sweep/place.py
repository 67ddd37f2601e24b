# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder of results: for one sweep at a time."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from hoplab.model.errors import ResultsError

LOCK = ".sweep.lock"
"""Stays when the sweep ends: were it removed, two could hold a lock of that name."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have the folder, made where it was not there, for this process alone; a crash gives it back.

    Raises `ResultsError` where another sweep has it or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a")
    except OSError as error:
        raise ResultsError(
            f"{folder}: cannot be written: {error.strerror}; name another folder with --out"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(
                f"{folder}: another sweep is writing there; wait for it, or name another folder "
                "with --out"
            ) from None
        yield
