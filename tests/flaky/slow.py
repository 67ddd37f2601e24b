# SPDX-License-Identifier: Apache-2.0
"""A host slowed to a share of its speed, or crowded, for what is started on it.

To a share by a quota of a control group where one can be made. Elsewhere by processes that spin on
every core, which takes no privilege; nothing is stopped by signals, which a traced guest does not
bear.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

PERIOD_US = 100_000
ROOT = Path("/sys/fs/cgroup")
PATIENCE_S = 10.0
SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
while os.getppid() == int(sys.argv[2]):
    sum(range(10**6))
"""
Prefix = list[str]
"""Words before a command's, which make it a slow one."""


@contextmanager
def host(share: float) -> Iterator[tuple[str, Prefix]]:
    """How it is slowed, and the words that start a command there."""
    if share >= 1:
        yield "not slowed", []
        return
    group = _group(share)
    if group is None:
        with _spinning((round(1 / share) - 1) * len(os.sched_getaffinity(0))):
            yield "processes that spin", []
        return
    try:
        enter = f'echo $$ >"{group}/cgroup.procs"; exec "$@"'
        yield "a control group", ["sh", "-c", enter, "sh"]
    finally:
        _leave(group)


@contextmanager
def crowded(processes: int) -> Iterator[tuple[str, Prefix]]:
    """As `host`: how it is crowded by so many busy processes, and no words."""
    with _spinning(processes):
        yield "processes that spin", []


def _group(share: float) -> Path | None:
    """A new control group with a quota; nothing where none can be made."""
    quota_us = int(share * len(os.sched_getaffinity(0)) * PERIOD_US)
    first = (("cpu.cfs_period_us", str(PERIOD_US)), ("cpu.cfs_quota_us", str(quota_us)))
    second = (("cpu.max", f"{quota_us} {PERIOD_US}"),)
    for parent, settings in ((ROOT / "cpu", first), (ROOT, second), (ROOT / "unified", second)):
        made = parent / f"hoplab-slow-{os.getpid()}"
        try:
            made.mkdir()
        except OSError:
            continue
        try:
            for name, text in settings:
                _write(made / name, text)
        except OSError:
            made.rmdir()
        else:
            return made
    return None


def _write(file: Path, text: str) -> None:
    # Not created: a hierarchy without the controller has no such file.
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _leave(group: Path) -> None:
    """What a test has left behind there goes on at full speed."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for process in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):
                _write(group.parent / "cgroup.procs", process)
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


@contextmanager
def _spinning(processes: int) -> Iterator[None]:
    """So many processes, spread over the cores, that only use them up; they end with this one."""
    cores = cycle(sorted(os.sched_getaffinity(0)))
    started = [
        subprocess.Popen([sys.executable, "-c", SPIN, str(next(cores)), str(os.getpid())])
        for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
