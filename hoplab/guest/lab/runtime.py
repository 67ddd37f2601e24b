# SPDX-License-Identifier: Apache-2.0
"""A run in progress: the flows that run, the samples, the programs that must live.

A feed says what happens when. It is the agenda of a plan (`hoplab.guest.lab.planned`), or the
requests of a session (`hoplab.guest.lab.session`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hoplab.guest.lab.built import Built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.clock import NANOSECONDS
from hoplab.guest.lab.programs import Programs
from hoplab.guest.lab.started import Started
from hoplab.guest.lab.stretch import Stretch
from hoplab.guest.probes.associations import Associations
from hoplab.guest.probes.captures import Captures
from hoplab.guest.probes.ends import Times
from hoplab.guest.probes.options import SackNotes
from hoplab.guest.probes.sampler import Sampler
from hoplab.guest.probes.standby import StandbyProbe
from hoplab.guest.system.processes import Change, changed_child, last_line
from hoplab.guest.traffic import flows
from hoplab.guest.traffic.ends import Ends
from hoplab.guest.traffic.flows import Side
from hoplab.model.errors import DaemonDied
from hoplab.model.network.plan import Conversation, Plan
from hoplab.model.records.writer import Records

Action = Callable[[float], None]
"""Does one thing. Its argument is the scenario time in s that its records bear."""
Feed = Iterable[tuple[float, Action]]
"""Yields each action with its time, when it is due. The feed waits in between."""


@dataclass
class Going:
    """A flow whose server has been started."""

    conversation: Conversation
    sides: list[Side]
    begin_s: float | None = None
    """None until its client has been started."""
    end_s: float | None = None
    """None until it has been ended."""


def _associations(built: Built, records: Records, undo: CleanUp) -> Associations | None:
    """Return the reader of associations if the scenario has cells."""
    if not built.plan.scenario.cell:
        return None
    made = Associations(built.plan, built.out, records, built.account.realtime_epoch_ns or 0)
    undo.later(made.close)
    return made


class Runtime:
    """Starts, samples, watches and ends. ``undo`` holds its own end.

    ``alone`` says that all children of this process belong to the run. One system call then checks
    them all.
    """

    def __init__(self, started: Started, undo: CleanUp, alone: bool) -> None:
        built = self._built = started.built
        self._undo = undo
        self.clock = started.clock
        self.real_time = started.real_time
        self.account = built.account
        self.going: dict[str, Going] = {}
        self.captures = Captures()
        undo.later(self.captures.stop)
        self.captures.start(built.plan, built.out)
        self.records = Records(built.out / "raw")
        undo.later(self.records.close)
        epoch_ns = built.account.realtime_epoch_ns or 0
        self.standby = StandbyProbe(built.plan, built.elfn, self.records, epoch_ns)
        sack = SackNotes(built.out / "raw")
        self.sampler = Sampler(
            built.plan, built.network.namespaces, self.records, self.standby, sack
        )
        undo.later(self.sampler.close)
        self._associations = _associations(built, self.records, undo)
        self._namespaces = built.network.namespaces
        self._scenario = built.plan.scenario
        self._stretch = Stretch(max(1, round(1 / self._scenario.measure.interval_s)))
        self._alone = alone
        self._daemons = {daemon.process.pid: daemon for daemon in started.daemons}
        self._sides: dict[int, Side] = {}
        """Programs of flows that are not known to have ended, in order of their starts."""
        undo.later(self._stop)
        self.programs: Programs | None = None
        if alone and built.plan.scenario.program:
            self.programs = Programs(
                built.plan, self._namespaces, built.out, self.clock, self.records, sack
            )
            undo.later(self.programs.close)
            self.account.warnings += self.programs.doubts

    def follow(self, feed: Feed) -> None:
        """Carry out the feed's actions from time 0 on."""
        self.clock.sleep_until(0.0)
        if self._associations is not None:
            self._associations.begin()
        for t_s, action in feed:
            action(t_s)

    def finish(self, t_s: float) -> None:
        """The measured part is over."""
        self.sampler.end(t_s)
        if self.programs is not None:
            self.programs.finish()
        if self._associations is not None:
            self._associations.read()
        self.account.virtual_s = t_s

    def join(self, conversation: Conversation, whole: Plan) -> Going:
        """Start the server of a flow that was not planned, but is of the plan ``whole``."""
        self._built.prepare(conversation, self._undo.later)
        self.standby.follow(conversation)
        if conversation in whole.followed:
            self.captures.follow(conversation, self._built.out)
        return self.start_server(conversation)

    def start_server(self, conversation: Conversation) -> Going:
        """The first half of a flow's start."""
        going = self.going[conversation.name] = Going(conversation, [])
        if conversation.has_server:
            side = flows.start_server(conversation, self._namespaces, self._ends())
            going.sides.append(side)
            self._sides[side.process.pid] = side
        return going

    def start_client(self, going: Going, t_s: float) -> None:
        """The second half: the flow begins to send."""
        conversation = going.conversation
        side = flows.start_client(conversation, self._namespaces, self._ends())
        going.sides.append(side)
        going.begin_s = t_s
        self._sides[side.process.pid] = side
        self.sampler.begin(conversation)
        self.event(t_s, conversation.flow.source, "flow-start", conversation.name)

    def _ends(self) -> Ends:
        # Where the routing daemons run, the ends of flows run.
        home = self._scenario.network.routing
        interval_s = self._scenario.measure.interval_s
        return Ends(self._built.out, self.clock.epoch_ns, interval_s, home)

    def end_flow(self, going: Going, t_s: float) -> None:
        """Read the flow a last time and end its programs."""
        going.end_s = t_s
        self.sampler.finish(going.conversation, t_s)
        for side in reversed(going.sides):
            side.stop()
            self._sides.pop(side.process.pid, None)

    def sample(self, t_s: float) -> None:
        """Write a row of each flow and queue to the disk, for readers that follow the run."""
        self.sampler.sample(t_s)
        self._sampled(t_s)

    @property
    def can_sleep(self) -> bool:
        """Whether `sleep` is there."""
        return self.sampler.can_sleep and not self.real_time

    @property
    def can_sleep_on(self) -> bool:
        """Whether it can from one sample to the next: the kernel reads all that is sampled."""
        others = self.programs, self._associations, self.captures.are_going
        return self.can_sleep and self.sampler.has_sockets_alone and not any(others)

    def sleep(self, times_s: Sequence[float]) -> Iterator[dict[float, float]]:
        """Do as `sample` at each of these times, which have one interval, while this process
        sleeps. Yield what `Sampler.sleep` does."""
        interval_ns = round(self._scenario.measure.interval_s * NANOSECONDS)
        can_sleep_on = self.can_sleep_on
        begin = 0
        while begin < len(times_s):
            # What the kernel does not read is read at the same times.
            part_s = times_s[begin : begin + (self._stretch.samples if can_sleep_on else 1)]
            begin += len(part_s)
            times = Times(self.clock.at_ns(part_s[0]), interval_ns, len(part_s))
            known = []
            for goodputs_kbps in self.sampler.sleep(part_s, times):
                known.append(len(goodputs_kbps))
                self._sampled(max(goodputs_kbps))
                yield goodputs_kbps
            if can_sleep_on:
                self._stretch.ended(known)

    def _sampled(self, t_s: float) -> None:
        if self.programs is not None:
            self.programs.sample(t_s)
        if self._associations is not None:
            self._associations.read()
        self.records.flush()
        self.captures.drain()

    def event(self, t_s: float, node: str, kind: str, detail: str) -> None:
        """A row of table `events`."""
        self.records.add("events", t_s=t_s, node=node, source="scenario", kind=kind, detail=detail)

    def watch(self, t_s: float) -> list[tuple[Side, Change]]:
        """Return the programs of flows that ended by themselves since the last call. Clients come
        first, because a server ends when its client does. Raises `DaemonDied` if a daemon has
        ended, or if a signal stopped any program."""
        ended: list[tuple[Side, Change]] = []
        for change in self._changed_children() if self._alone else self._changed_own():
            side = self._sides.get(change.pid)
            daemon = self._daemons.get(change.pid)
            if side is not None and change.status is not None:
                side.process.wait()
                del self._sides[change.pid]
                ended.append((side, change))
            elif side is not None:
                name = f"flow {side.conversation.name}: its {side.role}"
                raise DaemonDied(f"{name} {change} at {t_s:g} s")
            elif daemon is not None:
                raise DaemonDied(
                    f"{daemon.name}: {change} at {t_s:g} s: {last_line(daemon.log)}; "
                    f"see logs/{daemon.log.name}"
                )
            elif self.programs is None or not self.programs.changed(change, t_s):
                os.waitpid(change.pid, os.WNOHANG)
        return sorted(ended, key=lambda pair: pair[0].role)

    @staticmethod
    def _changed_children() -> Iterator[Change]:
        while (change := changed_child()) is not None:
            yield change

    def _changed_own(self) -> Iterator[Change]:
        own = [daemon.process for daemon in self._daemons.values()]
        own += [side.process for side in self._sides.values()]
        for process in own:
            status = process.poll()
            if status is not None:
                yield Change(process.pid, status)

    def _stop(self) -> None:
        """End the programs that still run."""
        for side in reversed(self._sides.values()):
            side.stop()
        self._sides.clear()
