# SPDX-License-Identifier: Apache-2.0
"""The programs that a run starts: their paths, whether they live, their last line of output."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hoplab.model import reading
from hoplab.model.errors import DaemonDied, MissingTool
from hoplab.model.resources import BINARIES, IS_CHECKOUT

READY_LIMIT_S = 10.0
READY_POLL_S = 0.01
STOP_GRACE_S = 10.0
LAST_BYTES = 1 << 16
"""Octets at the end of a process's output in which its last line is looked for."""
LONGEST_LINE = 300
"""Characters of it that a message repeats."""
SEARCHED = "/usr/sbin:/sbin:/usr/bin:/bin"


class Child(Protocol):
    """What a `subprocess.Popen` and a `hoplab.guest.system.residents.Resident` have in common."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True)
class Daemon:
    """A process that must live as long as the run."""

    name: str
    process: Child
    log: Path
    leaves_tables: bool = False
    """Whether it writes its counters when a signal ends it, so that it must end well."""


class Daemons:
    """Every daemon from its start on, so that none is left running if a later one fails."""

    def __init__(self) -> None:
        self._started: list[Daemon] = []

    def __iter__(self) -> Iterator[Daemon]:
        return iter(self._started)

    def add(self, daemon: Daemon) -> Daemon:
        self._started.append(daemon)
        return daemon

    def stop(self) -> None:
        """End the daemons, the last one first. Raises `DaemonDied` for the first one whose tables
        are missing."""
        incomplete = [daemon for daemon in reversed(self._started) if not _ended_well(daemon)]
        self._started.clear()
        for daemon in incomplete:
            raise DaemonDied(
                f"{daemon.name}: did not end as it should, so its tables are not complete: "
                f"{last_line(daemon.log)}; see logs/{daemon.log.name}"
            )


def _ended_well(daemon: Daemon) -> bool:
    """Ask the daemon to end, and kill it if it does not. Returns whether it wrote its tables."""
    status = end(daemon.process)
    return status == 0 or not daemon.leaves_tables


def end(process: Child) -> int:
    """Send SIGTERM, and SIGKILL after a grace time. Returns the exit status, -n for a signal n."""
    if process.poll() is None:
        process.terminate()
        try:
            return process.wait(STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def ends_within(pid: int, limit_s: float) -> bool:
    """Return whether a child ends in time. Other than `Popen.wait`, which looks again and again,
    this takes no time of a guest that the program does not take."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], limit_s)[0])
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Change:
    """A child that ended with ``status``, or that a signal stopped (None)."""

    pid: int
    status: int | None

    def __str__(self) -> str:
        if self.status is None:
            return "was stopped by a signal"
        if self.status < 0:
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"


def changed_child() -> Change | None:
    """Return a child that no longer runs, if there is one, by one call for all children. A child
    that has ended is reported until it is waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if found is None:
        return None
    if found.si_code == os.CLD_STOPPED:
        return Change(found.si_pid, None)
    status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    return Change(found.si_pid, status)


def program(name: str) -> str:
    """Return the path of a program: Hoplab's in the package, others in the system's folders."""
    own = BINARIES / name
    found = str(own) if own.exists() else shutil.which(name, path=SEARCHED)
    if found is None:
        raise MissingTool(f"{name}: not found; {_remedy(name)}")
    return found


def beside(command: Sequence[str], multipath: bool = False) -> dict[str, str]:
    """Return what a command's environment needs in a guest. Without it iperf3's client spins for a
    round trip, and its server reads twice for each segment (daemons/waiting-select). With
    ``multipath`` its TCP sockets are those of MPTCP (daemons/mptcp-socket)."""
    libraries = []
    if Path(command[0]).name == "iperf3":
        libraries.append("libhoplab_waiting_select.so")
    if multipath:
        libraries.append("libhoplab_mptcp_socket.so")
    return {"LD_PRELOAD": ":".join(map(program, libraries))} if libraries else {}


def _remedy(name: str) -> str:
    """Return how to get a program. Programs of others are packages with their own names."""
    if not name.startswith(("hoplab-", "libhoplab")):
        return f"install it with 'apt-get install {name}'"
    return "build it with 'make setup'" if IS_CHECKOUT else "install the package hoplab again"


def wait_until(daemon: Daemon, says: bytes) -> None:
    """Return when the daemon's log has ``says``. Raises `DaemonDied` if that does not appear."""
    wait_for(daemon, lambda: says in reading.content(daemon.log))


def wait_for(daemon: Daemon, is_ready: Callable[[], bool]) -> None:
    """Return when the daemon is ready. Raises `DaemonDied` if it ends before, or is not in time."""
    deadline = time.monotonic() + READY_LIMIT_S
    while not is_ready():
        ended = daemon.process.poll() is not None
        if ended or time.monotonic() > deadline:
            how = "did not start" if ended else f"was not ready within {READY_LIMIT_S:g} s"
            said = f"{last_line(daemon.log)}; see logs/{daemon.log.name}"
            raise DaemonDied(f"{daemon.name}: {how}: {said}")
        time.sleep(READY_POLL_S)


def last_line(log: Path) -> str:
    """Return the last line of a process's output, of a long one the beginning."""
    with contextlib.suppress(OSError):
        with reading.opened(log) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = file.read(LAST_BYTES).decode("utf-8", "replace").strip().splitlines()
        if lines:
            return lines[-1] if len(lines[-1]) <= LONGEST_LINE else f"{lines[-1][:LONGEST_LINE]}…"
    return "it said nothing"
