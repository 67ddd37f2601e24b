# SPDX-License-Identifier: Apache-2.0
"""What of a scenario may be at work in a guest whose virtual time stands still or creeps."""

from __future__ import annotations

import math
import re
from pathlib import Path

from hoplab.host.results import lifetimes
from hoplab.model.errors import GuestFailed
from hoplab.model.keys.program import Program
from hoplab.model.keys.resolved import Resolved

COMPUTED = re.compile(r"it computed in ([^;]*)")
NAMED = re.compile(r"(\S+) \(\d+ of \d+ looks\)")
PATHS = re.compile(r"[^\s'\"();|&]+")
LONGEST_NAME = 15
"""Longest name of a process in the kernel (TASK_COMM_LEN)."""
SIGNALLED = 128
"""Exit statuses above are a signal's number more."""
LAB = "hoplab-lab"
"""The lab's own process (`hoplab.guest.lab.job`)."""
OWN = ("hoplab-", "iperf3")
"""How the names of Hoplab's processes and those of flows begin."""
SHOWN = 60
"""Characters of a command line in a message."""
FEW = 3
"""Flows that a message names."""


def named(error: GuestFailed, scenario: Resolved, out: Path) -> GuestFailed:
    """Return the error with what was at work, if it is about a guest that computed."""
    return GuestFailed(explained(str(error), scenario, out))


def explained(what: str, scenario: Resolved, out: Path) -> str:
    """Return a line about a guest that computed, which begins with the programs or flows that did.
    The kernel knows a program only by its file's name."""
    found = COMPUTED.search(what)
    if found is None:
        return what
    busy = NAMED.findall(found[1])
    going = _going(scenario, out)
    searched = [p for p in going if p.ready is not None and p.ready.log is not None]
    if busy[0] == LAB and searched:
        program = searched[-1]  # those before were ready
        return (
            f"program {program.name}: ready.log: searching its output for {program.ready.log!r} "  # type: ignore[union-attr]
            f"takes long; use an expression with fewer repetitions, or atomic ones (?>…): {what}"
        )
    if busy[0] == LAB:
        return f"the lab sets up or samples {len(scenario.station)} stations: {what}"
    suspected = [program for program in going if _names(program) & set(busy)]
    if not suspected and not all(name.startswith(OWN) for name in busy):
        suspected = going  # one of them may have started it
    if suspected:
        return (
            f"program {_shown(suspected)}: computes or polls without waiting, so virtual time "
            f"hardly moves; have it sleep or wait for something: {what}"
        )
    if busy[0].startswith("iperf3"):
        flows = " or ".join(flow.name for flow in scenario.flow[:FEW])
        more = " or another" if len(scenario.flow) > FEW else ""
        return f"the guest is busy with flow {flows}{more}: {what}"
    return what


def _names(program: Program) -> set[str]:
    """Return the names that the program's processes may have, by the words of its command line."""
    return {Path(word).name[:LONGEST_NAME] for word in PATHS.findall(program.run)}


def of_signal(status: int, scenario: Resolved, out: Path) -> str:
    """Return which programs may have ended the lab by a signal, if ``status`` is a signal's. Empty
    if it is not, or if no program was running."""
    if status <= SIGNALLED:
        return ""
    # A signal that can be caught lets the lab end its programs before it ends itself.
    ends = lifetimes.of_programs(out).values()
    last_s = max((life.end_s for life in ends), default=0.0)
    going = _going(scenario, out, last_s)
    if not going:
        return ""
    return f"; program {_shown(going)} was running: does it send a signal to all processes?"


def _going(scenario: Resolved, out: Path, until_s: float = math.inf) -> list[Program]:
    """Return the programs that have begun, and not ended before the time ``until_s``."""
    lives = lifetimes.of_programs(out)
    return [p for p in scenario.program if (life := lives.get(p.name)) and life.end_s >= until_s]


def _shown(programs: list[Program]) -> str:
    """Return names and command lines, in one line."""
    return " or ".join(f"{p.name} ({' '.join(p.run.split())[:SHOWN]})" for p in programs)
