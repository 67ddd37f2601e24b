# SPDX-License-Identifier: Apache-2.0
"""Watch a guest from outside: end it when it hangs, and report what it was doing.

Virtual time goes on whatever a guest does: when it waits, time jumps. A guest therefore hangs if it
computes for long without any virtual time passing. It also hangs if all its processes sleep,
because nothing on the host could wake them.

A guest that has ended does not hang, however late its owner learns of the end. So each look first
asks for the end. Until the watch is closed nobody reaps the guest, so its number stays its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.host.machine import clock, processes
from hoplab.host.machine.cores import Core

TICK_S = 1.0
CPU_LIMIT_S = 30.0
"""Seconds of processor time without virtual time after which a guest hangs."""
SLEEP_LIMIT_S = 10.0
"""Seconds asleep without virtual time after which a guest hangs."""
ASLEEP = "StZX"
"""States in which only another process of the guest could wake one. In other states a process runs,
waits for a core or a disk, or was stopped by hand."""
EXPECTED = "check_one_sigio failed"
"""Printed at every boot of a confined guest, which has no access to other terminals of the user."""
INIT_ENDED = "Attempted to kill init"
"""The kernel's panic if its first process failed. The line before has the reason."""
STEP_S = 0.01
"""Virtual seconds that count as progress once the guest has written a line. Before that it sets up,
which takes next to none. A loop that reads the clock advances it by 256 ns each time."""
SLOWEST = 0.1
"""Virtual seconds in a second of processor time below which a user is warned. A loop of sleep(0)
makes 0.03 of them, a network of a thousand busy stations more."""


@dataclass(frozen=True)
class Limits:
    """When to end a guest; None: never. ``wall_s`` of wall time, ``virtual_s`` of virtual time.

    Without ``progress`` a guest in which no virtual time passes goes on. ``tell`` is called once
    with the guest's activity when `tell_after_s` of processor time passed without output. Next to
    no virtual time has passed then: the guest may hang, or compute for long.
    """

    progress: bool = False
    wall_s: float | None = None
    virtual_s: float | None = None
    tell: Callable[[str], None] | None = None
    tell_after_s: float | None = None
    """Default `CPU_LIMIT_S`."""


@dataclass
class _Stretch:
    """What a guest has done since it last got on well."""

    virtual_s: float = 0.0
    """Its virtual time then."""
    lines: int = 0
    """How many lines it had written then."""
    cpu_s: float = 0.0
    busy: Counter[str] = field(default_factory=Counter)
    """How often each program had the processor."""


class Watch:
    """Follows one guest in a separate thread until `close`. ``verdict`` is the reason if the watch
    ended it. The owner reaps the guest's process only after that."""

    def __init__(
        self,
        process: processes.Leader,
        binary: Path,
        folder: Path,
        core: Core,
        limits: Limits,
    ) -> None:
        self.verdict: str | None = None
        self.busy_with_output = False
        """Whether the guest's output has not been taken yet, so that it may have to wait."""
        self.held = False
        """Whether the guest is stopped on purpose, and will be continued."""
        self._process = process
        self._binary = binary
        self._folder = folder
        self._core = core
        self._limits = limits
        self._line = ""
        self._lines = 0
        self._busy: Counter[str] = Counter()
        """How often each program had the processor, sampled while no virtual time passed."""
        self._stretch = _Stretch()
        self._told = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)
        self._thread.start()

    def heard(self, line: str) -> None:
        """Record that the guest wrote a line, which is progress."""
        self._line = line
        self._lines += 1

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        started = time.monotonic()
        reached_s, lines = 0.0, 0
        cpu_s = waited_s = idle_cpu_s = asleep_s = 0.0
        while not self._ended.wait(self._pause(started)):
            if processes.has_ended(self._process.pid):
                # What it may have left behind would keep its output open.
                kill(self._process)
                return
            guest = processes.of(self._process.pid)
            used_s = max(0.0, sum(process.cpu_s for process in guest) - cpu_s)
            cpu_s += used_s
            waiting_s = max(0.0, sum(process.waited_s for process in guest) - waited_s)
            waited_s += waiting_s
            self._core.reconsider(waiting_s / TICK_S, [process.pid for process in guest])
            virtual_s = clock.virtual_s(self._process.pid, self._binary)
            name = clock.running(self._process.pid, self._binary)
            step_s = STEP_S if self._lines else 0.0
            moved = virtual_s is not None and virtual_s > reached_s + step_s
            if moved or self._lines != lines or self.busy_with_output or self.held:
                reached_s, lines = virtual_s or 0.0, self._lines
                idle_cpu_s = asleep_s = 0.0
                self._busy.clear()
            else:
                # A guest that ends has no clock to read. Until then virtual time may have passed.
                idle_cpu_s += used_s if virtual_s is not None else 0.0
                if name is not None:
                    self._busy[name] += 1
                still = used_s == 0 and all(process.state in ASLEEP for process in guest)
                asleep_s = asleep_s + TICK_S if still else 0.0
            reason = self._reason(time.monotonic() - started, virtual_s, idle_cpu_s, asleep_s)
            if reason is not None and not processes.has_ended(self._process.pid):
                self.verdict = f"{reason}; {self._account(virtual_s, guest)}"
                kill(self._process)
                return
            if self._limits.tell is not None and not self._told:
                self._tell(used_s, virtual_s, name, self._limits.tell)

    def _tell(
        self,
        used_s: float,
        virtual_s: float | None,
        name: str | None,
        tell: Callable[[str], None],
    ) -> None:
        """Tell once of a stretch of much processor time and next to no virtual time."""
        stretch = self._stretch
        paused = self.busy_with_output or self.held
        if virtual_s is None or paused or self._lines != stretch.lines:
            self._stretch = _Stretch(virtual_s or 0.0, self._lines)
            return
        stretch.cpu_s += used_s
        if name is not None:
            stretch.busy[name] += 1
        if stretch.cpu_s < (self._limits.tell_after_s or CPU_LIMIT_S):
            return
        passed_s = virtual_s - stretch.virtual_s
        if passed_s < SLOWEST * stretch.cpu_s:
            self._told = True
            tell(_stalled(stretch.cpu_s, passed_s) + _computing(stretch.busy))
        self._stretch = _Stretch(virtual_s, self._lines)

    def _pause(self, started: float) -> float:
        if self._limits.wall_s is None:
            return TICK_S
        return max(0.0, min(TICK_S, started + self._limits.wall_s - time.monotonic()))

    def _reason(
        self, wall_s: float, virtual_s: float | None, idle_cpu_s: float, asleep_s: float
    ) -> str | None:
        limits = self._limits
        if limits.wall_s is not None and wall_s >= limits.wall_s:
            return (
                f"no end within {limits.wall_s:g} s of wall time, so it was stopped; "
                "raise the limit with --wall-limit SECONDS if the run really needs longer"
            )
        if limits.virtual_s is not None and (virtual_s or 0.0) > limits.virtual_s:
            return f"hung: no end within {limits.virtual_s:g} s of virtual time"
        if limits.progress and idle_cpu_s >= CPU_LIMIT_S:
            return f"hung: {_stalled(idle_cpu_s)}{_computing(self._busy)}"
        if limits.progress and asleep_s >= SLEEP_LIMIT_S:
            return f"hung: all its processes slept for {asleep_s:.0f} s (was one of them killed?)"
        return None

    def _account(self, virtual_s: float | None, guest: list[processes.Process]) -> str:
        """Return what the guest was doing. It computed in its kernel, or in one of its programs.
        Each program is a process on the host, without its name."""
        parts = []
        if virtual_s is not None:
            parts.append(f"virtual time {virtual_s:.6f} s since boot")
        parts.append(f"last line: {self._line or 'none'}")
        busiest = sorted(guest, key=lambda process: -process.cpu_s)[:3]
        states = ", ".join(
            f"{'kernel' if p.pid == self._process.pid else 'program'} {p.pid} "
            f"({p.state}, {p.cpu_s:.1f} s)"
            for p in busiest
        )
        parts.append(f"{len(guest)} processes on the host, the busiest: {states}")
        if (message := last_message(self._folder)) is not None:
            parts.append(f"last kernel message: {message}")
        return "; ".join(parts)


def _stalled(cpu_s: float, passed_s: float = 0.0) -> str:
    time_passed = "no virtual time" if passed_s < STEP_S else f"only {passed_s:.2g} virtual s"
    return f"{time_passed} passed in {cpu_s:.0f} s of processor time"


def _computing(busy: Counter[str]) -> str:
    """Return the guest's programs that had the processor meanwhile, the busiest first."""
    if not busy:
        return ""
    looks = busy.total()
    names = (f"{name} ({n} of {looks} looks)" for name, n in busy.most_common(3))
    return f"; it computed in {', '.join(names)}"


def kill(process: processes.Leader) -> None:
    """End every host process of the guest: they share a separate session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def last_message(folder: Path) -> str | None:
    """Return the most informative line of the kernel's messages."""
    try:
        console = (folder / "console.log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(EXPECTED)]
    panics = [at for at, line in enumerate(lines) if "Kernel panic" in line]
    if not panics:
        return lines[-1] if lines else None
    at = panics[-1]
    if INIT_ENDED in lines[at] and at > 0:
        return f"its first process ended: {lines[at - 1]}"
    return lines[at]
