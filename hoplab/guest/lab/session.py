# SPDX-License-Identifier: Apache-2.0
"""A network that a user plays with in real time. It carries out requests and samples everything.

Each request is a line with a JSON object, and its answer names its ``id``. In the end the run's
scenario holds what was done: events, and flows with the times at which they ran.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.guest.lab.acts import Acts
from hoplab.guest.lab.channel import Channel
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.present import Present
from hoplab.guest.lab.runtime import Action, Going, Runtime
from hoplab.guest.lab.started import Started
from hoplab.guest.network.inside import inside
from hoplab.model import writing
from hoplab.model.errors import ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.declare import MAX_DURATION_S
from hoplab.model.keys.faults import Event
from hoplab.model.keys.resolved import Resolved, ResolvedFlow
from hoplab.model.keys.scenario import Scenario
from hoplab.model.keys.traffic import MAX_FLOWS
from hoplab.model.network.plan import Conversation, plan
from hoplab.model.reading import mistake
from hoplab.model.resolve.resolve import resolve

LISTEN_S = 30.0
"""Seconds within which a flow's server must listen, on a slow host too."""
LOOK_S = 0.05
"""Seconds between two checks whether it listens."""
SETTLED_S, HELD_S = 0.5, 20.0
"""Seconds without a move after which a station has arrived, which makes one event. It counts after
the last move, and while a user's page holds the station and may have gone."""
LISTENING = "0A"
"""State of a listening socket in /proc/net/tcp (include/net/tcp_states.h)."""


class Session:
    """Feeds a `Runtime` from a channel, from `serve` until a request ends it, or `stop`."""

    def __init__(self, started: Started, control: Path, channel: Channel, undo: CleanUp) -> None:
        built = started.built
        self._built = built
        self._clock = started.clock
        self._scenario = built.plan.scenario
        self._channel = channel
        self._ended = threading.Event()
        # The prompt beside it has children of its own.
        self._runtime = Runtime(started, undo, alone=False)
        self._base = {flow.name: flow.name for flow in self._scenario.flow}
        """For each flow, the flow that it repeats, or itself."""
        self._planned = frozenset(self._base)
        self._asked_at: dict[str, float] = {}
        self._moving: dict[str, tuple[float, Event]] = {}
        """By station, until when (on the monotonic clock) it may move on, and its last move."""
        self.present = Present(self._scenario, self._clock.now_s)
        """Where stations are now, for the prompt."""
        acts = self._acts = Acts(started, self._runtime, control, undo)
        for kind in (requests.Up, requests.Down, requests.Lose):
            acts.add(kind, self._settle)
        acts.add(requests.Move, self._move)
        acts.add(requests.Drag, self._drag)
        acts.add(requests.Start, self._start)
        acts.add(requests.Stop, self._stop)
        acts.add(requests.NewFlow, self._new_flow)
        acts.add(requests.End, self._end)

    def serve(self) -> None:
        """Carry out requests and sample, until the end. Raises `DaemonDied` if a daemon dies."""
        self._built.account.write(self._built.out)
        self._runtime.follow(self._feed())

    def _feed(self) -> Iterator[tuple[float, Action]]:
        self._tell()
        interval_s = self._scenario.measure.interval_s
        next_s = interval_s
        while not self._ended.is_set():
            wait_s = min(next_s - self._clock.now_s(), LOOK_S)
            for request in self._channel.requests(wait_s):
                yield self._now_s(), partial(self._answer, request)
            now_s = self._now_s()
            yield now_s, self._begin_flows
            yield now_s, self._arrive
            if now_s >= next_s:
                next_s = max(next_s + interval_s, now_s)
                yield now_s, self._runtime.sample
                yield now_s, self._watch

    def _now_s(self) -> float:
        return round(self._clock.now_s(), 6)

    def stop(self) -> None:
        """Let `serve` return. Any thread may call this."""
        self._ended.set()

    def finish(self) -> None:
        """Write the acts of the session as the run's scenario. Call this after `serve`."""
        end_s = self._now_s()
        self._ended.set()
        self._arrive(end_s)
        for name in self._open_flows():
            self._end_flow(name, end_s)
        self._runtime.finish(end_s)
        done = self._scenario.model_copy(
            update={
                "duration_s": end_s,
                "flow": tuple(as_gone(going, end_s) for going in self._runtime.going.values()),
                "event": (*self._scenario.event, *self._acts.events),
                "program": (),  # they have not been started
            }
        )
        text = done.model_dump_json(exclude_none=True, indent=1)
        writing.write_text(self._built.out / "scenario.json", text)

    def _answer(self, given: dict[str, Any], t_s: float) -> None:
        number = given.pop("id", None)
        try:
            reason = self._acts.answer(given, t_s)
        except Exception as error:
            # Whatever a request brings to light, it is answered and the session goes on.
            with writing.added(self._built.out / "logs" / "lab.log") as log:
                traceback.print_exc(file=log)
            told = f"{type(error).__name__}: {error}; see logs/lab.log"
            reason = " ".join(told.split())
        if reason is None:
            self._channel.say(id=number, ok=True)
        else:
            self._channel.say(id=number, error=reason)

    def _end(self, request: requests.End, t_s: float) -> None:
        self.stop()

    def _move(self, request: requests.Move, t_s: float) -> None:
        self._rest_after(SETTLED_S, request, t_s)

    def _drag(self, request: requests.Drag, t_s: float) -> None:
        self._rest_after(HELD_S, request.move, t_s)

    def _rest_after(self, wait_s: float, move: requests.Move, t_s: float) -> None:
        event = self._happen(move, t_s)
        self._moving[move.station] = (time.monotonic() + wait_s, event)

    def _settle(self, request: requests.Happening, t_s: float) -> None:
        self._acts.note(self._happen(request, t_s))

    def _happen(self, request: requests.Happening, t_s: float) -> Event:
        """Carry out an event of the scenario, now, and return it."""
        self._acts.ask(request)
        event = request.event(t_s)
        self.present.take(event)
        return event

    def _arrive(self, t_s: float) -> None:
        """Record the stations that have come to rest."""
        for station, (until, event) in list(self._moving.items()):
            if time.monotonic() >= until or self._ended.is_set():
                del self._moving[station]
                self._acts.note(event)

    def _start(self, request: requests.Start, t_s: float) -> None:
        base = self._base.get(request.flow)
        if base is None:
            raise ScenarioError(f"flow: there is no {request.flow!r}")
        if any(self._base[other] == base for other in self._open_flows()):
            raise ScenarioError(f"flow {base}: it is going already")
        flow = next(flow for flow in self._scenario.flow if flow.name == base)
        if base not in self._runtime.going:
            self._begin(flow)
            return
        count = sum(1 for other in self._base.values() if other == base)
        # Its counts begin anew, so it is another flow.
        self._add(flow.model_copy(update={"name": f"{base[:27]}-{count + 1}"}), base)

    def _new_flow(self, request: requests.NewFlow, t_s: float) -> None:
        name = next(n for i in range(MAX_FLOWS + 1) if (n := f"flow{i}") not in self._base)
        ends = request.model_dump(exclude_none=True)
        document = self._scenario.model_dump(exclude_none=True, mode="json")
        document["flow"] = [*document.get("flow", ()), {"name": name, **ends}]
        document["duration_s"] = MAX_DURATION_S
        try:
            whole = resolve(Scenario.model_validate_json(json.dumps(document)))
        except ValidationError as error:
            raise ScenarioError(f"flow: {mistake(error)}") from None
        self._add(whole.flow[-1], name)

    def _add(self, flow: ResolvedFlow, base: str) -> None:
        if len(self._scenario.flow) >= MAX_FLOWS:
            raise ScenarioError(f"flow: a session has at most {MAX_FLOWS}")
        self._scenario = self._scenario.model_copy(update={"flow": (*self._scenario.flow, flow)})
        self._base[flow.name] = base
        self._begin(flow)

    def _begin(self, flow: ResolvedFlow) -> None:
        whole = plan(self._endless())
        conversation = next(c for c in whole.conversations if c.name == flow.name)
        if flow.name in self._planned:
            self._runtime.start_server(conversation)
        else:
            self._runtime.join(conversation, whole)
        self._asked_at[conversation.name] = time.monotonic()
        self._tell()

    def _endless(self) -> Resolved:
        """Return the scenario with flows that have no planned end."""
        update = {"start_s": 0.0, "stop_s": MAX_DURATION_S}
        found = tuple(flow.model_copy(update=update) for flow in self._scenario.flow)
        return self._scenario.model_copy(update={"flow": found})

    def _begin_flows(self, now_s: float) -> None:
        """Start the clients whose servers listen by now."""
        for name, going in self._runtime.going.items():
            if going.begin_s is not None or going.end_s is not None:
                continue
            late = time.monotonic() - self._asked_at[name] > LISTEN_S
            if late or listens(going.conversation):
                self._runtime.start_client(going, now_s)

    def _stop(self, request: requests.Stop, t_s: float) -> None:
        if request.flow not in self._open_flows():
            raise ScenarioError(f"flow: {request.flow!r} is not going")
        self._end_flow(request.flow, t_s)
        self._tell()

    def _end_flow(self, name: str, t_s: float) -> None:
        going = self._runtime.going[name]
        self._runtime.end_flow(going, t_s)
        if going.begin_s is not None:
            self._runtime.event(t_s, going.conversation.flow.source, "flow-stop", name)

    def _watch(self, t_s: float) -> None:
        """A flow whose program has ended is over."""
        for side, _ in self._runtime.watch(t_s):
            name = side.conversation.name
            if name in self._open_flows():
                self._runtime.event(t_s, side.conversation.flow.source, "flow-lost", name)
                self._end_flow(name, t_s)
                self._tell()

    def _open_flows(self) -> list[str]:
        return [name for name, going in self._runtime.going.items() if going.end_s is None]

    def _tell(self) -> None:
        """Report to the host which flows there are, and which of them run."""
        shown = [
            {"name": flow.name, "source": flow.source, "destination": flow.destination}
            for flow in self._scenario.flow
        ]
        self._channel.say(flows=shown, going=self._open_flows())


def as_gone(going: Going, end_s: float) -> ResolvedFlow:
    """Return the flow with the times at which it ran, in a session that ended at ``end_s``."""
    begin_s = end_s if going.begin_s is None else going.begin_s
    until_s = end_s if going.end_s is None else going.end_s
    times = {"start_s": begin_s, "stop_s": max(until_s, begin_s + 1e-6)}
    return going.conversation.flow.model_copy(update=times)


def listens(conversation: Conversation) -> bool:
    """Return whether the flow's server listens. Datagrams of our own and echoes need none."""
    if conversation.flow.transport != "tcp" and not conversation.is_iperf3:
        return True
    table = "tcp6" if conversation.flow.ip == 6 else "tcp"
    with inside(conversation.flow.destination):
        text = Path("/proc/thread-self/net", table).read_text(encoding="ascii")
    local = f"{_hex(conversation.destination_address)}:{conversation.server_port:04X}"
    rows = (line.split() for line in text.splitlines()[1:])
    return any(row[1] == local and row[3] == LISTENING for row in rows)


def _hex(address: str) -> str:
    """Return an address as /proc/net/tcp and tcp6 have it: words in the host's byte order."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    octets = socket.inet_pton(family, address)
    return b"".join(octets[at : at + 4][::-1] for at in range(0, len(octets), 4)).hex().upper()
