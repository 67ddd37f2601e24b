# SPDX-License-Identifier: Apache-2.0
"""A guest's kernel is started by the launcher, which confines it: what that says and is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hoplab.model.errors import MissingTool

LAUNCHER = Path(__file__).with_name("launcher")


def confinement() -> str:
    """What keeps a guest from writing elsewhere on this host: see
    `hoplab.host.machine.launcher`."""
    return str(_facts()["confinement"])


def environment() -> dict[str, str]:
    """What every guest's kernel is started with, and nothing else."""
    return dict(_facts()["environment"])


def launched(
    core: int,
    writable: Sequence[str],
    command: Sequence[str],
    readable: Sequence[str] | None = None,
    line: int | None = None,
) -> list[str]:
    """The command line that starts ``command`` on a core, able to write to ``writable`` alone, and
    to read beside that ``readable`` alone where it is given. The descriptor ``line``, which the
    launcher inherits, becomes its line to the host."""
    wanted = {
        "parent": os.getpid(),
        "core": core,
        "confinement": confinement(),
        "writable": writable,
        "readable": readable,
        "line": line,
        "command": command,
    }
    return [*_launcher(), json.dumps(wanted)]


@cache
def _facts() -> dict[str, Any]:
    answer = subprocess.run([*_launcher(), "--facts"], capture_output=True, text=True, check=False)
    try:
        facts: dict[str, Any] = json.loads(answer.stdout)
    except ValueError:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MissingTool(f"guest launcher: {sys.executable} cannot run it: {last}") from None
    return facts


def _launcher() -> list[str]:
    return [sys.executable, "-I", "-S", str(LAUNCHER)]
