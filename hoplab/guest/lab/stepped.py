# SPDX-License-Identifier: Apache-2.0
"""A planned run in virtual time that stops at each step and asks the host how to go on.

``python -m hoplab.guest.lab.stepped FOLDER`` works as `hoplab.guest.lab`. The host talks to it at
`HOST`, in lines of JSON. It stands by once the network is built, which no seed has changed until
then. This guest goes on, or a copy with another seed does. The host first says what it is going to
do::

    {"step_s": 0.5, "windows": ["flow0"], "flows": [], "medium": true}

At each step, beginning at time 0, this program says ``{"at": t_s}`` and reads the answer
``{"acts": [{"do": …}, …]}``. Until it comes, the whole kernel of the guest waits, and virtual time
with it. An act that cannot be done is answered by ``{"refused": reason}``. This program then reads
another answer. Before an answer ``{"branch": true}`` may come. Then it stands by: the host makes a
whole copy of the guest, and both go on by answers of their own.
"""

from __future__ import annotations

import gc

from hoplab.guest.system import loading
from hoplab.model import writing

# As in `hoplab.guest.lab.__main__`.
gc.disable()
loading.shorten()

import errno  # noqa: E402
import heapq  # noqa: E402
import math  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from hoplab.guest.lab import job, standby  # noqa: E402
from hoplab.guest.lab.account import Account  # noqa: E402
from hoplab.guest.lab.acts import CONTROL, Decisions  # noqa: E402
from hoplab.guest.lab.built import built  # noqa: E402
from hoplab.guest.lab.channel import Channel  # noqa: E402
from hoplab.guest.lab.cleanup import CleanUp  # noqa: E402
from hoplab.guest.lab.flow_switch import FlowSwitch  # noqa: E402
from hoplab.guest.lab.planned import Planned, begun  # noqa: E402
from hoplab.guest.lab.runtime import Action, Going, Runtime  # noqa: E402
from hoplab.guest.lab.started import Started, started  # noqa: E402
from hoplab.guest.network import wired  # noqa: E402
from hoplab.guest.system import signals  # noqa: E402
from hoplab.guest.system.note import NOTES  # noqa: E402
from hoplab.model.errors import GuestFailed, MissingTool  # noqa: E402
from hoplab.model.streams import COMMON_SEED  # noqa: E402

HOST = "/dev/hoplab-host"
"""See kernel-modules/guest/c/host.c."""
LEFT = "the agent left"
GONE = (errno.EPIPE, errno.ECONNRESET)


class HostLine(Channel):
    """The line of a guest whose whole kernel waits for the host."""

    def __init__(self) -> None:
        self._device = os.open(HOST, os.O_RDWR | os.O_CLOEXEC)
        super().__init__(self._device)

    def stand_by(self) -> None:
        """Let the host decide whether this guest goes on, or copies too. Raises `GuestFailed`
        if nobody will."""
        try:
            standby.stand_by_at(self._device)
        except OSError as error:
            if error.errno not in GONE:
                raise
            raise GuestFailed(LEFT) from None

    def hear(self) -> dict[str, Any]:
        """Return the host's next line. No virtual time passes until it comes. Raises `GuestFailed`
        if none will come."""
        while not (heard := self.come()):
            if heard is None:
                raise GuestFailed(LEFT)
        (one,) = heard  # the host says a line, and waits
        return one

    def answer(self) -> dict[str, Any]:
        """Return the host's next answer, in each copy its own."""
        while "acts" not in (heard := self.hear()):
            self.stand_by()
        return heard


class Stepped(Planned):
    """A plan with steps in between."""

    def __init__(self, stage: Started, undo: CleanUp, line: HostLine, asked: _Asked) -> None:
        runtime = Runtime(stage, undo, alone=True)
        super().__init__(stage.built.plan, runtime)
        self._built = stage.built
        self._line = line
        self._step_s = asked.step_s
        later = CONTROL if stage.built.plan.radios else None
        self._acts = Decisions(stage, runtime, asked.control, undo, later)
        self._acts.follow_windows(asked.windows)
        self._flows = FlowSwitch(stage.built, runtime, self._acts, asked.flows)

    def follow(self) -> None:
        super().follow()
        scenario = self._flows.as_gone()
        if self._acts.events or self._flows.names:
            done = scenario.model_copy(update={"event": (*scenario.event, *self._acts.events)})
            text = done.model_dump_json(exclude_none=True, indent=1)
            writing.write_text(self._built.out / "scenario.json", text)

    def _agenda(self) -> Iterator[tuple[float, Action]]:
        """Yield a step after all other actions of its time. Only the step at time 0 comes first."""
        yield 0.0, self._step
        # The step need not divide the duration.
        count = math.ceil(self._plan.scenario.duration_s / self._step_s - 1e-9)
        steps = ((round(n * self._step_s, 9), self._step) for n in range(1, count))
        yield from heapq.merge(super()._agenda(), steps, key=lambda entry: entry[0])

    def _starter(self, going: Going) -> Action:
        """Return nothing to do, because the agent starts its flows itself."""
        return _pass if going.conversation.name in self._flows.names else super()._starter(going)

    def _stopper(self, going: Going) -> Action:
        if going.conversation.name not in self._flows.names:
            return super()._stopper(going)

        def stop(t_s: float) -> None:
            if t_s >= self._plan.scenario.duration_s:
                self._watch(t_s)
                self._flows.end(going.conversation.name, t_s)

        return stop

    def _step(self, t_s: float) -> None:
        self._line.say(at=t_s)
        while (reason := self._refused(t_s)) is not None:
            self._line.say(refused=reason)

    def _refused(self, t_s: float) -> str | None:
        """Carry out what the host asks for; return the reason of the first request that is
        refused."""
        answers = (self._acts.answer(given, t_s) for given in self._line.answer()["acts"])
        return next((reason for reason in answers if reason is not None), None)


def _pass(t_s: float) -> None:
    """Nothing is due."""


@dataclass(frozen=True)
class _Asked:
    """The host's first line: what it wants of a run."""

    step_s: float
    windows: list[str]
    flows: list[str]
    control: Path | None


def _asked(line: HostLine) -> _Asked:
    wanted = line.hear()
    control = NOTES / f"{os.getpid()}-medium" if wanted["medium"] else None
    return _Asked(wanted["step_s"], wanted["windows"], wanted["flows"], control)


def _course(out: Path, account: Account, line: HostLine, undo: CleanUp) -> Planned:
    common = job.prepare(out, COMMON_SEED)
    standby.begin(COMMON_SEED)
    network = built(common, out, account, undo)
    standby.keep()
    line.stand_by()
    asked = _asked(line)  # a copy made ahead waits here until its folder is there
    own = job.prepare(out)
    standby.begin(own.scenario.seed)
    for cable in own.cables:
        wired.reseed(network.network.namespaces, cable, own.scenario.seed)
    network = replace(network, plan=replace(own, mac=network.plan.mac))
    control = asked.control or (CONTROL if network.plan.radios else None)
    stage = started(network, False, undo, control)
    return begun(Stepped(stage, undo, line, asked), stage)


def main(arguments: list[str]) -> int:
    """``FOLDER``; returns the exit status."""
    signals.raise_on_signals()
    job.load_models()
    out = Path(arguments[0])
    account = Account()
    try:
        line = HostLine()
    except OSError as error:
        lacking = f"machine: {HOST}: {error.strerror}; agents need one of this version of Hoplab"
        (out / "raw").mkdir(exist_ok=True)
        Account(MissingTool.exit_status, lacking).write(out)
        return MissingTool.exit_status
    return job.conduct(out, account, partial(_course, out, account, line))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
