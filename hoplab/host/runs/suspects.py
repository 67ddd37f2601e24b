# SPDX-License-Identifier: Apache-2.0
"""Which programs of a scenario a guest that hangs may have been computing in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hoplab.model.errors import GuestFailed
from hoplab.model.reading import content
from hoplab.model.scenario.model import Scenario

COMPUTED = re.compile(r"it computed in ([^;]*)")
NAMED = re.compile(r"(\S+) \(\d+ of \d+ looks\)")
LONGEST_NAME = 15
"""Of what the kernel calls a process (TASK_COMM_LEN)."""


def named(error: GuestFailed, scenario: Scenario, out: Path) -> GuestFailed:
    """The error, with the programs that went and are called what had the processor: the kernel
    knows a program by its file's name alone."""
    found = COMPUTED.search(str(error))
    if found is None or not scenario.program:
        return error
    busy = set(NAMED.findall(found[1]))
    going = _going(out / "raw" / "events.jsonl")
    here = [
        f"{program.name} ({program.run[:60]})"
        for program in scenario.program
        if program.name in going and Path(program.words[0]).name[:LONGEST_NAME] in busy
    ]
    if not here:
        return error
    return GuestFailed(
        f"program {' or '.join(here)}: computes without waiting, so virtual time stands still; "
        f"have it sleep or wait for something: {error}"
    )


def _going(path: Path) -> set[str]:
    """Names of programs that have been started, and of which no end is known."""
    going: set[str] = set()
    try:
        lines = content(path).splitlines()
    except OSError:
        return going
    for line in lines:
        try:
            event: dict[str, Any] = json.loads(line)
            kind, name = event["kind"], str(event["detail"]).split()[0]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            continue
        if kind == "program-start":
            going.add(name)
        elif kind == "program-end":
            going.discard(name)
    return going
