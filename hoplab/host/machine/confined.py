# SPDX-License-Identifier: Apache-2.0
"""The launcher starts a guest's kernel and confines it. Here are its answers and its arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from hoplab.host.machine import ahead
from hoplab.model.errors import MissingTool


def confinement() -> str:
    """Return the mode that keeps a guest from writing elsewhere on this host: see
    `hoplab.host.machine.launcher`."""
    return str(_facts()["confinement"])


def environment() -> dict[str, str]:
    """Return the whole environment of every guest's kernel."""
    return dict(_facts()["environment"])


def launch(wanted: Mapping[str, Any], command: Sequence[str]) -> list[str]:
    """Return the command that becomes another one, as `hoplab.host.machine.launcher` says. A list
    is a word for each value; None is no word. Raises `ValueError` for an empty ``readable``, which
    would be no word either, and so allow everything."""
    readable = wanted.get("readable")
    if readable is not None and not readable:
        raise ValueError("readable: an empty list; expected at least the program itself")
    words = []
    for name, value in wanted.items():
        values = [value] if isinstance(value, str | int) else value or []
        words += [f"{name}={one}" for one in values]
    return [*ahead.LAUNCH, *words, "--", *command]


@dataclass(frozen=True)
class Start:
    """How to start a guest's kernel: the ``command``, on a ``core``, in a ``folder``. It can write
    only to ``writable``. If ``readable`` is given, it can read only that beside it."""

    command: Sequence[str]
    core: int
    folder: Path
    writable: Sequence[str]
    readable: Sequence[str] | None = None
    stdin: int | IO[bytes] = subprocess.DEVNULL
    stdout: int | IO[bytes] | None = subprocess.PIPE
    stderr: int | IO[bytes] | None = subprocess.DEVNULL

    def process(self, line: int | None = None, image: int | None = None) -> subprocess.Popen[bytes]:
        """Start it. The descriptors become its line to the host, and the image from which it
        starts."""
        wanted = {
            "parent": os.getpid(),
            "core": self.core,
            "confinement": confinement(),
            "writable": self.writable,
            "readable": self.readable,
            "line": line,
            "image": image,
        }
        return subprocess.Popen(
            launch(wanted, self.command),
            pass_fds=[number for number in (line, image) if number is not None],
            cwd=self.folder,
            stdin=self.stdin,
            stdout=self.stdout,
            stderr=self.stderr,
            start_new_session=True,
        )


@cache
def _facts() -> dict[str, Any]:
    answer = ahead.answer(ahead.FACTS)
    try:
        facts: dict[str, Any] = json.loads(answer.stdout)
    except ValueError:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MissingTool(f"guest launcher: {sys.executable} cannot run it: {last}") from None
    return facts
