# SPDX-License-Identifier: Apache-2.0
"""A planned run with a branch: until `branch.at_s` it is that of the past, to the byte, and then it
has another future (`hoplab.model.keys.branch`).

Between the two it stands by: copies of this guest may go on there, each with a future of its own.
What the future changes is carried out by this program, as acts of an agent are. So the medium knows
the past's events alone.
"""

from __future__ import annotations

import errno
import heapq
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from hoplab.guest.lab import standby
from hoplab.guest.lab.account import Account
from hoplab.guest.lab.acts import CONTROL, Decisions
from hoplab.guest.lab.built import built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.planned import Planned, begun
from hoplab.guest.lab.runtime import Action, Runtime
from hoplab.guest.lab.started import Started, started
from hoplab.model.keys import requests
from hoplab.model.keys.declare import given
from hoplab.model.keys.requests import Request
from hoplab.model.keys.resolved import Resolved, ResolvedBranch
from hoplab.model.network.plan import Plan, plan
from hoplab.model.reading import content

ALONE = (errno.EPIPE, errno.ECONNRESET)
"""Errors of a guest whose host makes no copies of it."""


class Branched(Planned):
    """A plan up to the branch, and then what is left of another one."""

    def __init__(self, stage: Started, undo: CleanUp, branch: ResolvedBranch):
        runtime = Runtime(stage, undo, alone=True)
        super().__init__(stage.built.plan, runtime)
        self._stage = stage
        self._undo = undo
        self._at_s = branch.at_s
        self._control = CONTROL if stage.built.plan.radios else None
        # The medium's client comes later, since the kernel draws its address at random.
        self._acts = Decisions(stage, runtime, None, undo)
        self._acts.follow_windows([f.name for f in branch.past.flow if f.protocol == "tcp"])

    def _agenda(self) -> Iterator[tuple[float, Action]]:
        """Yield the branch after all other actions of its time."""
        for t_s, action in super()._agenda():
            if t_s > self._at_s:
                break
            yield t_s, action
        futures: list[tuple[float, Action]] = []
        yield self._at_s, partial(self._branch, futures)
        rest = (entry for entry in super()._agenda() if entry[0] > self._at_s)
        yield from heapq.merge(futures, rest, key=lambda entry: entry[0])

    def _branch(self, futures: list[tuple[float, Action]], t_s: float) -> None:
        """Stand by, and carry out what changes at once; ``futures`` receives what changes later."""
        _stand_by()
        built = self._stage.built
        future = plan(Resolved.model_validate_json(content(built.out / "scenario.json")))
        past, now = built.plan.scenario, future.scenario
        if self._control is not None:
            self._acts.ask_at(self._control)
        future = replace(future, mac=built.plan.mac)
        if now.seed != past.seed:
            self._acts.do(requests.Reseed(seed=now.seed), t_s)
        for request in _changes(past, now):
            self._acts.do(request, t_s)
        for event in now.event:
            if event.at_s > t_s:
                futures.append((event.at_s, partial(self._acts.do, requests.of_event(event))))
        futures.sort(key=lambda entry: entry[0])
        self._plan = replace(future, end_s=self._plan.end_s)
        self._start_servers(future)

    def _start_servers(self, future: Plan) -> None:
        for conversation in future.conversations:
            if (going := self.runtime.going.get(conversation.name)) is not None:
                going.conversation = conversation
            else:
                self.runtime.join(conversation, future)


def _stand_by() -> None:
    try:
        standby.stand_by()
    except OSError as error:
        if error.errno not in ALONE:
            raise


def _changes(past: Resolved, now: Resolved) -> Iterator[Request]:
    """Yield what changes at once, as an agent would request it."""
    for before, station in zip(past.station, now.station, strict=True):
        if (before.x_m, before.y_m) != (station.x_m, station.y_m):
            yield requests.Move(station=station.name, x_m=station.x_m, y_m=station.y_m)
        if past.radio.tx_power_dbm != now.radio.tx_power_dbm and station.radio:
            yield requests.Transmit(station=station.name, dbm=now.radio.tx_power_dbm)
    for earlier, flow in zip(past.flow, now.flow, strict=False):
        if earlier.window != flow.window:
            yield requests.Window(flow=flow.name, segments=given(flow.window))


def course(out: Path, account: Account, whole: Plan, undo: CleanUp) -> Planned:
    """Return the run of a scenario with a branch, ready to begin."""
    branch = whole.scenario.branch
    assert branch is not None
    events = tuple(event for event in branch.past.event if event.at_s <= branch.at_s)
    past = plan(branch.past.model_copy(update={"event": events}))
    standby.begin(branch.past.seed)
    stage = started(built(past, out, account, undo), False, undo, CONTROL)
    return begun(Branched(stage, undo, branch), stage)
