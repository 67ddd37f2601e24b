# SPDX-License-Identifier: Apache-2.0
"""Hold a guest's virtual time to a multiple of real time, for people who watch.

A guest that is ahead is stopped (SIGSTOP to its kernel's process) until it is due. It cannot
notice. Its clock is virtual and continues where it was. Its programs run only when its kernel lets
them, and nothing else on the host takes part. Command line, files and calls are those of a run
without pace, so the result is equal to the byte.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import clock, processes

LOOK_S = 0.001
"""Seconds between two readings of the clock of a guest that is slower than its pace."""
NEXT_LOOK_S = 0.0001
"""Seconds until the first reading after the guest was stopped. A guest that does 400 virtual
seconds a second is then at most some 40 ms ahead. Each further pause is twice as long."""
ASK_S = 0.001
"""Seconds between two queries of time 0. The guest announces it a virtual second or more before it
comes."""
LATE_S = 0.25
"""A guest that is further behind than this need not catch up."""


@dataclass(frozen=True)
class Pace:
    """A pace from virtual time ``begin_s`` since boot, for ``duration_s``: ``factor`` virtual
    seconds a second. ``begin_s`` is called until it returns a time."""

    factor: float
    begin_s: Callable[[], float | None]
    duration_s: float


class Pacer:
    """Keeps a guest's process to a pace, in a separate thread, until `close`."""

    def __init__(
        self,
        process: processes.Leader,
        binary: Path,
        pace: Pace,
        on_hold: Callable[[bool], None],
    ) -> None:
        """``on_hold`` is called when the guest stops and when it may continue."""
        self._process = process
        self._binary = binary
        self._pace = pace
        self._on_hold = on_hold
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="pace", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the guest continue."""
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        begin_s = self._pace.begin_s()
        while begin_s is None:
            if self._ended.wait(ASK_S):
                return
            begin_s = self._pace.begin_s()
        origin_s: float | None = None
        pause_s = NEXT_LOOK_S
        while not self._ended.wait(pause_s):
            pause_s = min(2 * pause_s, LOOK_S)
            now_s = clock.virtual_s(self._process.pid, self._binary)
            if now_s is None or now_s >= begin_s + self._pace.duration_s:
                return
            if now_s < begin_s:
                continue
            wall_s = time.monotonic()
            needed_s = (now_s - begin_s) / self._pace.factor
            if origin_s is None:
                # On a busy host the guest may have run ahead before this first look.
                origin_s = wall_s
            elif origin_s + needed_s < wall_s - LATE_S:
                origin_s = wall_s - needed_s
            if origin_s + needed_s > wall_s + LOOK_S:
                self._hold(origin_s + needed_s - wall_s)
                pause_s = NEXT_LOOK_S

    def _hold(self, rest_s: float) -> None:
        self._on_hold(True)
        # Not by Popen, which would reap a guest that has ended, and free its number for others.
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            self._ended.wait(rest_s)
        finally:
            os.kill(self._process.pid, signal.SIGCONT)
            self._on_hold(False)
