# SPDX-License-Identifier: Apache-2.0
"""The progress of a sweep."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hoplab.many.sweep.engine import Done

RECENT = 200
"""Latest runs whose ends determine the rate."""


@dataclass(frozen=True)
class Progress:
    """``done`` of ``total`` runs (None: unknown) have ended. Of these, ``from_store`` came from the
    store and ``failed`` failed. ``per_s`` is the rate of runs made now, and ``left_s`` the time for
    the rest."""

    done: int
    total: int | None
    from_store: int
    failed: int
    per_s: float | None
    left_s: float | None


class Teller:
    """Counts runs as they end, and reports to ``listener``."""

    def __init__(self, total: int | None, listener: Callable[[Progress], None] | None) -> None:
        self._total = total
        self._listener = listener
        self._done = self._from_store = self._failed = 0
        self._ends: deque[float] = deque([time.monotonic()], maxlen=RECENT)

    def told(self, done: Done, more: int = 0) -> None:
        """Count a run that has ended. ``more`` runs than planned are to be made."""
        self._done += 1
        self._failed += done.error is not None
        if done.from_store:
            self._from_store += 1
        else:
            self._ends.append(time.monotonic())
        if self._listener is not None:
            self._listener(self.now(more))

    def now(self, more: int = 0) -> Progress:
        """Return the present progress."""
        total = None if self._total is None else self._total + more
        span_s = self._ends[-1] - self._ends[0]
        rate = (len(self._ends) - 1) / span_s if span_s > 0 else None
        left = None if total is None or rate is None else max(0, total - self._done) / rate
        return Progress(self._done, total, self._from_store, self._failed, rate, left)
