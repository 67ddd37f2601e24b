# SPDX-License-Identifier: Apache-2.0
"""One processor core for each guest: the idlest, and another core if other programs load it.

A guest's processes hand over to each other at every system call. On one core that costs a third of
its cost across two. Two guests on one core share it. Locks keep one user's guests apart. Guests of
other users and containers are visible only by their load.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path

from hoplab.host.machine import private

SAMPLE_S, SAMPLES_LAST_S = 0.05, 5.0
"""The shortest sample of the cores' load, and how long one counts."""
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
IDLE_ENOUGH = 0.5
"""Busy share of a core below which a guest may move to it."""
CROWDED = 0.25
"""Share of the time that a guest may wait for its core before it looks for another."""


class Core:
    """A guest's core, with the lock that reserves it among this user's guests."""

    def __init__(self) -> None:
        self._allowed = sorted(os.sched_getaffinity(0))
        self._folder = private.folder()
        self._lock: int | None = None
        self.number = self._choose()
        self._load = Load()

    def close(self) -> None:
        """Release the core for others."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _choose(self) -> int:
        if len(self._allowed) == 1:
            return self._allowed[0]
        busy = _lately()
        random.shuffle(self._allowed)  # equal cores must not all lead to the first
        ranked = sorted(self._allowed, key=lambda core: round(4 * busy.get(core, 0.0)))
        for core in ranked:
            self._lock = self._try(core)
            if self._lock is not None:
                return core
        return ranked[0]

    def _try(self, core: int) -> int | None:
        with contextlib.suppress(OSError):
            return private.lock(self._folder / f"core-{core}")
        return None

    def reconsider(self, waited: float, processes: Iterable[int]) -> None:
        """Move the guest's processes to an idle core if they ``waited`` too large a share of the
        time since the last call."""
        busy = self._load.since_last()
        others = [core for core in self._allowed if core != self.number]
        if waited < CROWDED or not others:
            return
        idlest = min(others, key=lambda core: busy.get(core, 1.0))
        # Two guests on one core notice at the same time, and one of them must stay.
        if busy.get(idlest, 1.0) > IDLE_ENOUGH or random.random() < 0.5:
            return
        lock = self._try(idlest)
        if lock is None:
            return
        self.close()
        self._lock, self.number = lock, idlest
        self.take(processes)

    def take(self, processes: Iterable[int]) -> None:
        """Have all threads of these processes run on this core."""
        for process in processes:
            for task in _tasks(process):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(task, {self.number})


class Load:
    """The load of every core of the machine, from all users but this process."""

    def __init__(self) -> None:
        self._last = self._read()
        self._own_s = time.process_time()
        self._taken_s = time.monotonic()

    @property
    def age_s(self) -> float:
        """Seconds since the last call of `since_last`, or since this object was made."""
        return time.monotonic() - self._taken_s

    def since_last(self) -> dict[int, float]:
        """Return the busy share by core since the last call, without entries for unknown cores."""
        before, self._last = self._last, self._read()
        then_s, self._own_s = self._own_s, time.process_time()
        self._taken_s = time.monotonic()
        own = {_here(): (self._own_s - then_s) * TICKS_A_SECOND}
        shares = {}
        for core, (busy, total) in self._last.items():
            then_busy, then_total = before.get(core, (busy, total))
            if total > then_total:
                others = busy - then_busy - own.get(core, 0.0)
                shares[core] = max(0.0, others) / (total - then_total)
        return shares

    @staticmethod
    def _read() -> dict[int, tuple[int, int]]:
        counts = {}
        with contextlib.suppress(OSError, ValueError):
            for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
                name, *words = line.split()
                if name.startswith("cpu") and name != "cpu":
                    # user nice system idle iowait irq softirq steal
                    ticks = [int(word) for word in words[:8]]
                    counts[int(name[3:])] = (sum(ticks) - ticks[3] - ticks[4], sum(ticks))
        return counts


_watched = Load()
"""From the moment on when a command begins, so that none has to wait for a sample."""


def _lately() -> dict[int, float]:
    """Return the busy share of each core in the last few seconds."""
    if _watched.age_s > SAMPLES_LAST_S:
        _watched.since_last()
    time.sleep(max(0.0, SAMPLE_S - _watched.age_s))
    return _watched.since_last()


def _here() -> int:
    """Return the core that this process is on (proc_pid_stat(5), field 39)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
        return int(text.rpartition(")")[2].split()[36])
    return -1


def _tasks(process: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []
