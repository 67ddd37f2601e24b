# SPDX-License-Identifier: Apache-2.0
"""What every guest needs to know from other programs. A command asks while it is still being
imported, which takes longer than the answers do. So this module imports little."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from hoplab.model.resources import IS_CHECKOUT, KERNEL_BUILD

LAUNCHER = Path(__file__).with_name("launcher")
LAUNCH = (sys.executable, "-I", "-S", str(LAUNCHER / "__main__.py"))
"""Its file, as a folder takes Python twice as long."""
FACTS = (*LAUNCH, "--facts")
KERNEL = (str(KERNEL_BUILD), "--print-path")

Command = tuple[str, ...]
_asked: dict[Command, subprocess.Popen[str]] = {}
_answered: set[Command] = set()
"""What is known by now; those who need it keep it."""


def ask() -> None:
    """Start the programs; `answer` waits for what they say. In the end `close` is due."""
    for command in (KERNEL, FACTS) if IS_CHECKOUT else (FACTS,):
        if command not in _answered:
            with contextlib.suppress(OSError):  # `answer` raises it
                _asked[command] = _started(command)


def answer(command: Command) -> subprocess.CompletedProcess[str]:
    """Return what a program says, which may have been started before."""
    process = _asked.pop(command, None) or _started(command)
    said, errors = process.communicate()
    _answered.add(command)
    return subprocess.CompletedProcess(command, process.returncode, said, errors)


def close() -> None:
    """End programs for whose answers nobody has waited."""
    while _asked:
        _, process = _asked.popitem()
        with process:
            process.kill()


def _started(command: Command) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
