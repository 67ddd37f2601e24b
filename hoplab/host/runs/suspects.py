# SPDX-License-Identifier: Apache-2.0
"""Programs of a scenario in which a hanging guest may have been computing."""

from __future__ import annotations

import re
from pathlib import Path

from hoplab.host.results import lifetimes
from hoplab.model.errors import GuestFailed
from hoplab.model.scenario.model import Scenario

COMPUTED = re.compile(r"it computed in ([^;]*)")
NAMED = re.compile(r"(\S+) \(\d+ of \d+ looks\)")
LONGEST_NAME = 15
"""Longest name of a process in the kernel (TASK_COMM_LEN)."""


def named(error: GuestFailed, scenario: Scenario, out: Path) -> GuestFailed:
    """Return the error with the running programs whose names match the processor's user. The kernel
    knows a program only by its file's name."""
    found = COMPUTED.search(str(error))
    if found is None or not scenario.program:
        return error
    busy = set(NAMED.findall(found[1]))
    going = {name for name, life in lifetimes.of_programs(out).items() if life.is_open}
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
