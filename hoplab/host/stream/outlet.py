# SPDX-License-Identifier: Apache-2.0
"""A sink's thread and its bounded buffer. Nothing waits for the sink, whatever it does."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hoplab.host.stream.sink import Batch, Course, Refused, Sink, Unavailable

LIMIT_ROWS = 50_000
"""Rows that wait for a sink. With one more the oldest are dropped. About 60 MB of the widest
table."""
CHUNK_ROWS = 5_000
"""Rows that a sink gets at once, unless one batch has more."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
"""Seconds before rows that a sink could not take are offered again; doubled each time."""
NICE = 10
"""Niceness: a stream takes the processor time that the run leaves."""


@dataclass(frozen=True)
class Account:
    """The fate of a stream's rows at one sink."""

    sink: str
    samples: int
    """Rows that it took."""
    dropped: int
    reason: str | None
    """Why the last ones were dropped, or could not be taken at first."""

    def warning(self) -> str | None:
        """Return a line for the user if rows are missing."""
        if not self.dropped:
            return None
        whole = self.samples + self.dropped
        reason = self.reason or f"it is slow: {LIMIT_ROWS} rows waited for it"
        return f"stream to {self.sink}: {self.dropped} of {whole} samples dropped: {reason}"


class Outlet:
    """Rows on their way to one sink."""

    def __init__(self, sink: Sink, limit_rows: int = LIMIT_ROWS) -> None:
        self._sink = sink
        self.is_database = sink.is_database
        self._limit = limit_rows
        self._changed = threading.Condition()
        self._waiting: deque[Batch] = deque()
        self._rows = 0
        self._samples = 0
        self._dropped = 0
        self._reason: str | None = None
        self._closing = False
        self._thread: threading.Thread | None = None

    def begin(self, course: Course) -> None:
        """Start the thread, which announces the run to the sink."""
        self._thread = threading.Thread(
            target=self._run, args=(course,), name=f"stream to {self._sink.name}", daemon=True
        )
        self._thread.start()

    def put(self, batch: Batch) -> None:
        """Queue rows for the sink, without waiting."""
        with self._changed:
            self._waiting.append(batch)
            self._rows += len(batch.rows)
            while self._rows > self._limit and len(self._waiting) > 1:
                self._drop(len(self._waiting.popleft().rows))
            self._changed.notify()

    def close(self, grace_s: float) -> None:
        """End the outlet. Rows that still wait are dropped after ``grace_s``."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(grace_s)

    def account(self) -> Account:
        """Return the fate of the rows so far. Once the outlet is closed, rows that still wait count
        as dropped."""
        with self._changed:
            left = self._rows if self._closing else 0
            reason = self._reason
            if left and reason is None:
                reason = "it did not take them in time after the run's end"
            return Account(self._sink.name, self._samples, self._dropped + left, reason)

    def _drop(self, rows: int) -> None:
        self._rows -= rows
        self._dropped += rows

    def _run(self, course: Course) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        if not self._tried(lambda: self._sink.begin(course)):
            self._limit = 0
            return
        while (chunk := self._next()) is not None:
            begun = time.monotonic()
            self._deliver(chunk)
            self._rest(begun + self._sink.every_s - time.monotonic())
        self._tried(self._sink.end)

    def _next(self) -> list[Batch] | None:
        """Return the waiting rows, up to a chunk. They count as waiting until they are
        delivered."""
        with self._changed:
            while not self._waiting:
                if self._closing:
                    return None
                self._changed.wait()
            chunk = [self._waiting.popleft()]
            rows = len(chunk[0].rows)
            while self._waiting and rows + len(self._waiting[0].rows) <= CHUNK_ROWS:
                chunk.append(self._waiting.popleft())
                rows += len(chunk[-1].rows)
            return chunk

    def _deliver(self, chunk: list[Batch]) -> None:
        rows = sum(len(batch.rows) for batch in chunk)
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                self._sink.take(chunk)
            except Unavailable as error:
                if self._rest_or_end(str(error), pause_s):
                    pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                    continue
            except Refused as error:
                self._reason = str(error)
            except Exception as error:  # whatever a sink does, the run goes on
                self._reason = f"{type(error).__name__}: {error}"
            else:
                with self._changed:
                    self._rows -= rows
                    self._samples += rows
                return
            with self._changed:
                self._drop(rows)
            return

    def _rest_or_end(self, reason: str, pause_s: float) -> bool:
        """Wait before another try. Returns False if it was the last one, because the run is
        over."""
        self._reason = reason
        with self._changed:
            if self._closing:
                while self._waiting:
                    self._drop(len(self._waiting.popleft().rows))
                return False
        self._rest(pause_s)
        return True

    def _rest(self, pause_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing, max(0.0, pause_s))

    def _tried(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:
            self._reason = f"{type(error).__name__}: {error}"
            return False
        return True
