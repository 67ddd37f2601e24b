# SPDX-License-Identifier: Apache-2.0
"""The third stage of a planned run: traffic and measurement, from time 0 to the scenario's end."""

from __future__ import annotations

import gc
import heapq
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.runtime import Action, Going, Runtime
from hoplab.guest.lab.started import Started
from hoplab.guest.network.build import counted
from hoplab.guest.system.processes import Change
from hoplab.guest.traffic import flows
from hoplab.guest.traffic.flows import Side
from hoplab.model.errors import DaemonDied, HoplabError
from hoplab.model.network.plan import Plan

COLLECTION_S = 60
"""Seconds between two collections of the guest's garbage (`hoplab.guest.lab.__main__`)."""
COLLECTION_SAMPLES = 600
"""It is also collected after so many samples, of which each leaves messages of netlink behind. A
hundred samples a second would fill the guest's memory in 20 s."""


class Planned:
    """Feeds a `Runtime` from a plan."""

    def __init__(self, plan: Plan, runtime: Runtime) -> None:
        self.runtime = runtime
        self._plan = plan
        self._lost: set[str] = set()
        """Flows known to have had no answer."""
        self._uncollected = 0
        """Samples since the last collection."""
        self._has_sampled_seconds = (1 / plan.scenario.measure.interval_s).is_integer()

    def serve(self) -> None:
        """Start every flow's server, and the programs that time 0 waits for."""
        for conversation in counted(
            self._plan, "starts receivers of flows", self._plan.conversations
        ):
            self.runtime.start_server(conversation)
        if self.runtime.programs is not None:
            self.runtime.programs.start_early()

    def follow(self) -> None:
        """Carry out the scenario's actions, each at its time."""
        if self.runtime.real_time:
            self._wait_in_real_time()
        self.runtime.follow(self._feed())
        self.runtime.finish(self._plan.scenario.duration_s)

    def _wait_in_real_time(self) -> None:
        """Wait for time 0, unless a daemon ends before. Somebody would wait for its routes."""
        clock = self.runtime.clock
        for t_s in range(math.ceil(clock.now_s()), 0):
            clock.sleep_until(t_s)
            self._watch(t_s)

    def _feed(self) -> Iterator[tuple[float, Action]]:
        clock, real_time = self.runtime.clock, self.runtime.real_time
        for is_asleep, entries in groupby(self._agenda(), self._can_sleep):
            if is_asleep:
                due = [*entries]
                yield due[-1][0], partial(self._sleep, due)
                continue
            for t_s, action in entries:
                clock.sleep_until(t_s)
                # A host acts a little late. A measurement bears the time at which it was taken.
                yield (round(clock.now_s(), 6) if real_time else t_s), action
        # The interval need not divide the duration.
        clock.sleep_until(self._plan.scenario.duration_s)

    def _agenda(self) -> Iterator[tuple[float, Action]]:
        """Yield every action of the run in order of time. At equal times the order is starts,
        samples, ticks, stops."""
        scenario = self._plan.scenario
        interval_s = scenario.measure.interval_s
        of_flows: list[tuple[float, int, int, Action]] = []
        for i, going in enumerate(self.runtime.going.values()):
            conversation = going.conversation
            of_flows.append((conversation.flow.start_s, 0, i, self._starter(going)))
            of_flows.append((conversation.stop_s, 3, i, self._stopper(going)))
        if self.runtime.programs is not None:
            of_flows += self.runtime.programs.agenda()
        of_flows.sort(key=lambda entry: entry[:3])
        samples = (
            (round(step * interval_s, 9), 1, 0, self._sample)
            for step in range(1, round(scenario.duration_s / interval_s) + 1)
        )
        ticks = ((float(t_s), 2, 0, self._tick) for t_s in range(1, int(scenario.duration_s) + 1))
        entries = heapq.merge(of_flows, samples, ticks, key=lambda entry: entry[:3])
        for t_s, _, _, action in entries:
            yield t_s, action

    def _starter(self, going: Going) -> Action:
        return lambda t_s: self.runtime.start_client(going, t_s)

    def _stopper(self, going: Going) -> Action:
        def stop(t_s: float) -> None:
            self._watch(t_s)
            self.runtime.end_flow(going, t_s)

        return stop

    def _can_sleep(self, entry: tuple[float, Action]) -> bool:
        """Whether this process can sleep through an entry of the agenda. It can through a second at
        which the kernel takes a sample."""
        t_s, action = entry
        if action != self._tick:
            return action == self._sample and self.runtime.can_sleep
        return self._has_sampled_seconds and self.runtime.can_sleep_on and t_s % COLLECTION_S != 0

    def _sample(self, t_s: float) -> None:
        self.runtime.sample(t_s)
        self._watch(t_s)
        self._sampled(1, t_s)

    def _sleep(self, due: Sequence[tuple[float, Action]], last_s: float) -> None:
        """Do as `_sample` and `_tick` at their times. Those who watch the run see it a little of
        the host's time later."""
        times_s = [t_s for t_s, action in due if action == self._sample]
        ticks_s = {t_s for t_s, action in due if action == self._tick}
        for goodputs_kbps in self.runtime.sleep(times_s):
            self._watch(max(goodputs_kbps))
            _tell({t_s: goodputs_kbps[t_s] for t_s in goodputs_kbps if t_s in ticks_s})
        self._sampled(len(times_s), last_s)

    def _sampled(self, count: int, t_s: float) -> None:
        self._uncollected += count
        if self._uncollected >= COLLECTION_SAMPLES and t_s % COLLECTION_S != 0:
            self._collect()

    def _collect(self) -> None:
        self._uncollected = 0
        gc.collect()

    def _tick(self, t_s: float) -> None:
        """Once a second, whatever the interval of samples is."""
        if t_s % COLLECTION_S == 0:
            self._collect()
        runtime = self.runtime
        runtime.captures.drain()
        if runtime.programs is not None:
            runtime.programs.drain()
        self._watch(t_s)
        runtime.records.flush()
        _tell({t_s: runtime.sampler.goodput_kbps()})

    def _watch(self, t_s: float) -> None:
        """Raise `DaemonDied` if a program ended, or was stopped, before its time."""
        for side, change in self.runtime.watch(t_s):
            self._judge(side, change, t_s)

    def _judge(self, side: Side, change: Change, t_s: float) -> None:
        """Judge a traffic program that ended by itself."""
        name = side.conversation.name
        fault = flows.fault(side, change.status or 0)
        if fault is None or name in self._lost:
            return
        message = f"flow {name}: its {side.role} ended at {t_s:g} s: {fault}"
        if not flows.is_networks_doing(fault):
            raise DaemonDied(message)
        self._lost.add(name)
        self.runtime.account.warnings.append(message)
        self.runtime.event(t_s, side.conversation.flow.source, "flow-lost", f"{name}: {fault}")


def _tell(goodputs_kbps: Mapping[float, float]) -> None:
    """Say how far the run is, with the goodput at each time."""
    lines = [
        json.dumps({"t_s": round(t_s, 3), "goodput_kbps": round(goodput_kbps, 1)}) + "\n"
        for t_s, goodput_kbps in goodputs_kbps.items()
    ]
    print("".join(lines), end="", flush=True)


def planned(started: Started, undo: CleanUp) -> Planned:
    """Start captures and servers; `Planned.follow` does the rest. ``undo`` holds their end."""
    return begun(Planned(started.built.plan, Runtime(started, undo, alone=True)), started)


def begun(run: Planned, started: Started) -> Planned:
    """What `planned` does for any ``run``."""
    runtime = run.runtime
    run.serve()
    runtime.account.write(started.built.out)
    # Collect now what the set-up left behind, which closes its sockets.
    gc.collect()
    late_s = started.clock.now_s()
    if started.real_time and late_s > 0:
        raise HoplabError(f"set-up: took {late_s:.1f} s too long; raise warm_up_s")
    return run
