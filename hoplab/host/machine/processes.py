# SPDX-License-Identifier: Apache-2.0
"""A guest's processes as the host sees them: identity, state and use of the processor."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
NS_PER_S = 1e9
ENDED = "ZX"
"""States of a process that has ended."""


@dataclass(frozen=True)
class Process:
    """A process. The state is as in proc(5), ``cpu_s`` includes ended children, and ``waited_s`` is
    time without a core."""

    pid: int
    state: str
    cpu_s: float
    waited_s: float


class Leader(Protocol):
    """The first process of a guest: its kernel, a child of this process or of one that keeps its
    number (`hoplab.host.machine.saved`)."""

    @property
    def pid(self) -> int:
        """Its number, which stays its own until it is waited for."""


def is_child(pid: int) -> bool:
    """Return whether a process is a child of this one."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return False
    return True


def has_ended(leader: int) -> bool:
    """Return whether a guest's first process has ended. It stays to be waited for, so its number
    remains its own."""
    try:
        return os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # another process's, or it has been waited for
        found = _read(leader)
        return found is None or found.state in ENDED


def wait_for_end(leader: int, timeout_s: float | None = None) -> None:
    """Return when a guest's first process has ended. It stays to be waited for. Raises
    `subprocess.TimeoutExpired`."""
    try:
        handle = os.pidfd_open(leader)
    except ProcessLookupError:  # it has been waited for
        return
    try:
        if not select.select([handle], [], [], timeout_s)[0]:
            raise subprocess.TimeoutExpired(f"process {leader}", timeout_s or 0.0)
    finally:
        os.close(handle)


def reap(child: int, timeout_s: float) -> int:
    """Wait for the end of a child and reap it. Returns its exit status as `subprocess.Popen` does.
    Raises `subprocess.TimeoutExpired`."""
    wait_for_end(child, timeout_s)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def of(leader: int) -> list[Process]:
    """Return the leader and all its descendants, the leader first."""
    pids = [leader]
    for pid in pids:
        pids += _children(pid)
    return [process for pid in pids if (process := _read(pid)) is not None]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            text = (task / "children").read_text(encoding="ascii")
            found += [int(word) for word in text.split()]
    return found


def _read(pid: int) -> Process | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
    except OSError:
        return None
    waited_s = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        waited_s = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / NS_PER_S
    # utime, stime, cutime, cstime
    ticks = sum(int(field) for field in fields[11:15])
    return Process(pid, fields[0], ticks / TICKS_PER_S, waited_s)
