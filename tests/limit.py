# SPDX-License-Identifier: Apache-2.0
"""How long a test may take, on a host of any speed: what its processes do counts, not the clock.

pytest-timeout says what a test's limit is: ``timeout`` in pyproject.toml, a marker, ``--timeout``.
Here its seconds are processor time, of the test and of all processes that descend from it. A test
that hangs uses next to none, so it also fails once it has idled for long. Time in which the host
did not let pytest run at all does not count.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections import deque
from time import thread_time
from types import FrameType

import psutil
import pytest
import pytest_timeout

SAMPLE_S = 5.0
IDLE_SHARE = 0.01
"""Of one core: a hung tree's heartbeats and looks at clocks stay below it, and a working one above,
however crowded its host."""
WIDTH = 150
"""Of a process's command line."""


class Limit:
    """Says when a test has used too much processor time; samples come every so often."""

    def __init__(self, used_s: float, idle_s: float, sample_s: float = SAMPLE_S) -> None:
        self._limit_s, self._idle_s, self._sample_s = used_s, idle_s, sample_s
        self._used_s = 0.0
        self._window = deque([0.0], maxlen=max(2, round(idle_s / sample_s) + 1))
        self._last: float | None = None

    def broken(self, now_s: float) -> str | None:
        """Why the test is to end, or nothing; ``now_s`` is what living processes have used."""
        if self._last is not None:
            # A process that left the tree took along what it had used.
            self._used_s += max(0.0, now_s - self._last)
            self._window.append(self._used_s)
        self._last = now_s
        if self._used_s > self._limit_s:
            return f"it used more than {self._limit_s:g} s of processor time"
        recent_s = self._window[-1] - self._window[0]
        full = len(self._window) == self._window.maxlen
        if full and recent_s < IDLE_SHARE * self._idle_s:
            return f"it hangs: {recent_s:.1f} s of processor time within {self._idle_s:g} s"
        return None


def used_s() -> float:
    """Processor time of this process and its descendants, of ended ones too."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def processes() -> str:
    """A line for each process that descends from this one."""
    lines = ["processes that it has started:"]
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times, words = process.cpu_times(), " ".join(process.cmdline())[:WIDTH]
            used = f"{times.user + times.system:.1f} s"
            lines.append(f"  {process.pid} {process.status()} {used} {words or process.name()}")
    return "\n".join(lines)


def other_threads() -> str:
    """Their stacks; the test's own is the failure's."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    texts = [
        f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
        if ident != threading.get_ident()
    ]
    return "\n".join(texts)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("idle", "seconds that a test may idle", default="300")


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
    """In place of pytest-timeout's timer; the signal comes to the test's own thread."""
    idle_s = float(item.config.getini("idle"))
    sample_s = min(SAMPLE_S, idle_s / 2, settings.timeout / 2)
    limit = Limit(settings.timeout, idle_s, sample_s)
    owner = os.getpid()
    looking_s = 0.0

    def look(number: int, frame: FrameType | None) -> None:
        __tracebackhide__ = True
        nonlocal looking_s
        why = None
        began_s = thread_time()
        # Whatever a test does to the modules used here, that must not fail it.
        with contextlib.suppress(Exception):
            why = limit.broken(used_s() - looking_s)
        looking_s += thread_time() - began_s  # else a hung test would seem to do something
        if why and os.getpid() == owner and not pytest_timeout.is_debugging():
            cancel()  # once: what follows is pytest's own work
            pytest.fail(f"Timeout: {why}\n{processes()}\n{other_threads()}")

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]  # pytest-timeout calls it
    limit.broken(used_s())
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, sample_s, sample_s)
    return True
