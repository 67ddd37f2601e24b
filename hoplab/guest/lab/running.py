# SPDX-License-Identifier: Apache-2.0
"""The third stage: traffic and measurement, from time 0 to the scenario's end."""

from __future__ import annotations

import gc
import heapq
import json
import os
from collections.abc import Callable, Iterator

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.started import Started
from hoplab.guest.probes.captures import Captures
from hoplab.guest.probes.sampler import Sampler
from hoplab.guest.probes.standby import StandbyProbe
from hoplab.guest.system.processes import Change, changed_child, last_line
from hoplab.guest.traffic import flows
from hoplab.guest.traffic.flows import Side
from hoplab.model.errors import DaemonDied, HoplabError
from hoplab.model.records.writer import Records
from hoplab.model.scenario.plan import Conversation

Action = Callable[[float], None]


class Running:
    """A run in progress: what is started, read and stopped at which time."""

    def __init__(
        self, started: Started, captures: Captures, records: Records, sampler: Sampler
    ) -> None:
        self._started = started
        self._built = started.built
        self._plan = started.built.plan
        self._namespaces = started.built.network.namespaces
        self._daemons = {daemon.process.pid: daemon for daemon in started.daemons}
        self._captures = captures
        self._records = records
        self._sampler = sampler
        self._sides: dict[int, Side] = {}
        self._lost: set[str] = set()

    def serve(self) -> None:
        """Start every flow's server, before time 0."""
        for conversation in self._plan.conversations:
            self._keep(flows.start_server(conversation, self._namespaces, self._built.out))

    def follow(self) -> None:
        """Do what the scenario says, each thing at its time."""
        clock = self._started.clock
        clock.sleep_until(0.0)
        for t_s, action in self._agenda():
            clock.sleep_until(t_s)
            # A host acts a little late; what is measured then bears the time at which it was.
            action(round(clock.now_s(), 6) if self._started.real_time else t_s)
        # The interval need not divide the duration.
        clock.sleep_until(self._plan.scenario.duration_s)
        self._sampler.end(self._plan.scenario.duration_s)
        self._built.account.virtual_s = self._plan.scenario.duration_s

    def stop(self) -> None:
        """End the flows that are still going."""
        for side in reversed(self._sides.values()):
            side.stop()
        self._sides.clear()

    def _agenda(self) -> Iterator[tuple[float, Action]]:
        """Every action of the run in order of time; at equal times starts, samples, ticks,
        stops."""
        scenario = self._plan.scenario
        interval_s = scenario.measure.interval_s
        of_flows: list[tuple[float, int, int, Action]] = []
        for i, conversation in enumerate(self._plan.conversations):
            of_flows.append((conversation.flow.start_s, 0, i, self._starter(conversation)))
            of_flows.append((conversation.stop_s, 3, i, self._stopper(conversation)))
        of_flows.sort(key=lambda entry: entry[:3])
        samples = (
            (round(step * interval_s, 9), 1, 0, self._sample)
            for step in range(1, round(scenario.duration_s / interval_s) + 1)
        )
        ticks = ((float(t_s), 2, 0, self._tick) for t_s in range(1, int(scenario.duration_s) + 1))
        entries = heapq.merge(of_flows, samples, ticks, key=lambda entry: entry[:3])
        for t_s, _, _, action in entries:
            yield t_s, action

    def _starter(self, conversation: Conversation) -> Action:
        def start(t_s: float) -> None:
            self._keep(flows.start_client(conversation, self._namespaces, self._built.out))
            self._sampler.begin(conversation)
            self._event(t_s, conversation, "flow-start", conversation.name)

        return start

    def _stopper(self, conversation: Conversation) -> Action:
        def stop(t_s: float) -> None:
            self._watch(t_s)
            self._sampler.finish(conversation, t_s)
            for pid, side in reversed(list(self._sides.items())):
                if side.conversation is conversation:
                    side.stop()
                    del self._sides[pid]

        return stop

    def _keep(self, side: Side) -> None:
        self._sides[side.process.pid] = side

    def _event(self, t_s: float, conversation: Conversation, kind: str, detail: str) -> None:
        node = conversation.flow.source
        self._records.add("events", t_s=t_s, node=node, source="scenario", kind=kind, detail=detail)

    def _sample(self, t_s: float) -> None:
        self._sampler.sample(t_s)
        self._records.flush()
        self._captures.drain()
        self._watch(t_s)

    def _tick(self, t_s: float) -> None:
        """Once a second, whatever the interval of samples is."""
        self._captures.drain()
        self._watch(t_s)
        self._records.flush()
        progress = {"t_s": round(t_s, 3), "goodput_kbps": round(self._sampler.goodput_kbps(), 1)}
        print(json.dumps(progress), flush=True)

    def _watch(self, t_s: float) -> None:
        """Raise `DaemonDied` where a program has ended, or been stopped, before its time."""
        ended: list[tuple[Side, Change]] = []
        while (change := changed_child()) is not None:
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
            else:
                os.waitpid(change.pid, os.WNOHANG)
        # The client first: a server ends when its client does.
        for side, change in sorted(ended, key=lambda pair: pair[0].role):
            self._ended(side, change, t_s)

    def _ended(self, side: Side, change: Change, t_s: float) -> None:
        """Judge a traffic program that ended by itself."""
        name = side.conversation.name
        fault = flows.fault(side, change.status or 0)
        if fault is None or name in self._lost:
            return
        told = f"flow {name}: its {side.role} ended at {t_s:g} s: {fault}"
        if not flows.is_networks_doing(fault):
            raise DaemonDied(told)
        self._lost.add(name)
        self._built.account.warnings.append(told)
        self._event(t_s, side.conversation, "flow-lost", f"{name}: {fault}")


def running(started: Started, undo: CleanUp) -> Running:
    """Start captures and servers; the rest is `Running.follow`. Their end is in ``undo``."""
    built = started.built
    plan, namespaces = built.plan, built.network.namespaces
    captures = Captures()
    undo.later(captures.stop)
    captures.start(plan, built.out)
    records = Records(built.out / "raw")
    undo.later(records.close)
    standby = StandbyProbe(plan, built.elfn, records, built.account.realtime_epoch_ns or 0)
    sampler = Sampler(plan, namespaces, records, standby)
    undo.later(sampler.close)
    run = Running(started, captures, records, sampler)
    undo.later(run.stop)
    run.serve()
    built.account.write(built.out)
    # What the set-up left to be collected, sockets among it, is closed now: a garbage collector
    # closes it after so many allocations, and closing takes readings of the clock.
    gc.collect()
    late_s = started.clock.now_s()
    if started.real_time and late_s > 0:
        raise HoplabError(f"set-up: took {late_s:.1f} s too long; raise warm_up_s")
    return run
