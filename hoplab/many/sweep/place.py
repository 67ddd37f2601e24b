# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder of results, which one sweep at a time may use."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from hoplab.model import writing
from hoplab.model.errors import ResultsError

LOCK = ".sweep.lock"
"""Stays when the sweep ends. If it were removed, two sweeps could lock different files of that
name."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the folder for this process, and make it if it is missing. A crash releases the lock.

    Raises `ResultsError` if another sweep has the folder, or if it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = writing.added(folder / LOCK)
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
