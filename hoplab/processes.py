# SPDX-License-Identifier: Apache-2.0
"""The programs that a run starts: where they are, whether they are up, what they said last."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from hoplab.errors import DaemonDied, MissingTool
from hoplab.resources import BINARIES

READY_LIMIT_S = 10.0
READY_POLL_S = 0.01


@dataclass
class Daemon:
    """A process that must live as long as the run."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


def program(name: str) -> str:
    """Path of a program: ours from the build folder, others from PATH and the sbin folders."""
    own = BINARIES / name
    found = str(own) if own.exists() else shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if found is None:
        package = {"batctl": "batctl"}.get(name, name)
        remedy = "'make setup'" if name.startswith("hoplab-") else f"'apt-get install {package}'"
        raise MissingTool(f"{name}: not found; install it with {remedy}")
    return found


def wait_until(daemon: Daemon, says: bytes) -> None:
    """Return when the daemon's log has ``says``; raises `DaemonDied` when it does not come."""
    deadline = time.monotonic() + READY_LIMIT_S
    while says not in daemon.log.read_bytes():
        if daemon.process.poll() is not None or time.monotonic() > deadline:
            raise DaemonDied(f"{daemon.name}: did not start: {last_line(daemon.log)}")
        time.sleep(READY_POLL_S)


def last_line(log: Path) -> str:
    """What a process said last."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            return lines[-1]
    return "it said nothing"
