# SPDX-License-Identifier: Apache-2.0
"""The launcher starts a guest's kernel and confines it. Here are its answers and its arguments."""

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
    """Return the mode that keeps a guest from writing elsewhere on this host: see
    `hoplab.host.machine.launcher`."""
    return str(_facts()["confinement"])


def environment() -> dict[str, str]:
    """Return the whole environment of every guest's kernel."""
    return dict(_facts()["environment"])


def launched(
    core: int,
    writable: Sequence[str],
    command: Sequence[str],
    readable: Sequence[str] | None = None,
    line: int | None = None,
) -> list[str]:
    """Return the command line that starts ``command`` on a core. The command can write only to
    ``writable``. If ``readable`` is given, it can read only that beside it. The launcher inherits
    the descriptor ``line``, which becomes its line to the host."""
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
