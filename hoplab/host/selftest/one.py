# SPDX-License-Identifier: Apache-2.0
"""One test in one guest."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

from hoplab.host.machine import equip, store
from hoplab.host.machine.guests import Boot, SealedGuest
from hoplab.host.machine.uml import Streams, run_guest
from hoplab.host.machine.watch import Limits
from hoplab.host.selftest import ktap, tools
from hoplab.host.selftest.ktap import Result, Status
from hoplab.model.errors import GuestFailed

MEMORY_MB = 1024
"""Memory of a test's guest beside its files."""
GRACE_S = 60.0
"""Virtual seconds after a test's own limit in which kselftest ends it and says so."""
MOST_LINES = 20_000
LONGEST = 1000
"""Characters of a line that stay."""


@dataclass(frozen=True)
class Request:
    """A test to run: the identity of a machine that has it, COLLECTION:TEST, the guest's seed. The
    test may take ``timeout_s`` of virtual time, in s (0: no limit)."""

    machine: str
    test: str
    seed: int
    timeout_s: int


@dataclass(frozen=True)
class Outcome:
    """How a test ended, with its lines of KTAP and the virtual and wall seconds that it took."""

    request: Request
    status: Status
    why: str
    lines: tuple[str, ...] = field(repr=False)
    virtual_s: float
    wall_s: float

    @property
    def parts(self) -> list[Result]:
        """The results of the test's parts."""
        return [one for one in ktap.parse(self.lines) if one.nested]


def run(request: Request) -> Outcome:
    """Run a test. A guest that hangs or fails is a test that failed, with the reason."""
    machine = store.find(request.machine)
    lines: list[str] = []

    def heard(text: str) -> None:
        if len(lines) < MOST_LINES:
            lines.append(text[:LONGEST])

    guest = SealedGuest(machine)
    limit_s = request.timeout_s + GRACE_S if request.timeout_s else None
    try:
        wall_s = run_guest(
            guest,
            [f"/{tools.START}", request.test, str(request.seed)],
            Boot(MEMORY_MB + equip.memory_mb(machine), request.seed),
            Streams(stderr=subprocess.DEVNULL, on_line=heard),
            Limits(progress=True, virtual_s=limit_s),
        ).wall_s
    except GuestFailed as error:
        return Outcome(request, Status.FAIL, str(error), tuple(lines), 0.0, 0.0)
    return read(request, lines, wall_s)


def read(request: Request, lines: list[str], wall_s: float) -> Outcome:
    """Return the outcome that a guest's output tells of."""
    virtual_s = 0.0
    if lines and lines[-1].startswith(tools.UPTIME):
        before, after = lines.pop().removeprefix(tools.UPTIME).split()
        virtual_s = round(float(after) - float(before), 2)
    own = [one for one in ktap.parse(lines) if not one.nested]
    if not own:
        why = "kselftest's runner told no result: " + (lines[-1] if lines else "it printed nothing")
        return Outcome(request, Status.FAIL, why, tuple(lines), virtual_s, wall_s)
    return Outcome(request, own[-1].status, own[-1].why, tuple(lines), virtual_s, wall_s)
