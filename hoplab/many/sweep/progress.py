# SPDX-License-Identifier: Apache-2.0
"""How far a sweep is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hoplab.many.sweep.engine import Done

RECENT = 200
"""Runs whose ends tell the rate."""


@dataclass(frozen=True)
class Progress:
    """``done`` of ``total`` runs (None: not known) have ended, ``from_store`` of them were there,
    ``failed`` failed; ``per_s`` is the rate of those made now, ``left_s`` what the rest takes."""

    done: int
    total: int | None
    from_store: int
    failed: int
    per_s: float | None
    left_s: float | None


class Teller:
    """Counts runs as they end; tells ``listener``."""

    def __init__(self, total: int | None, listener: Callable[[Progress], None] | None) -> None:
        self._total = total
        self._listener = listener
        self._done = self._from_store = self._failed = 0
        self._ends: deque[float] = deque([time.monotonic()], maxlen=RECENT)

    def told(self, done: Done, more: int = 0) -> None:
        """Of one that has ended; ``more`` runs than planned are to be made."""
        self._done += 1
        self._failed += done.error is not None
        if done.from_store:
            self._from_store += 1
        else:
            self._ends.append(time.monotonic())
        if self._listener is not None:
            self._listener(self.now(more))

    def now(self, more: int = 0) -> Progress:
        """Where it is."""
        total = None if self._total is None else self._total + more
        span_s = self._ends[-1] - self._ends[0]
        rate = (len(self._ends) - 1) / span_s if span_s > 0 else None
        left = None if total is None or rate is None else max(0, total - self._done) / rate
        return Progress(self._done, total, self._from_store, self._failed, rate, left)
