# SPDX-License-Identifier: Apache-2.0
"""A network that somebody plays with in real time: what they ask for is done, all is sampled.

Requests come as JSON objects, a line each, and each is answered by its ``id``. What was done
becomes the run's scenario in the end: flows with the times at which they went, events.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.started import Started
from hoplab.guest.network.namespaces import inside
from hoplab.guest.probes.captures import Captures
from hoplab.guest.probes.sampler import Sampler
from hoplab.guest.probes.standby import StandbyProbe
from hoplab.guest.system.processes import last_line
from hoplab.guest.traffic import flows
from hoplab.guest.traffic.flows import Side
from hoplab.model.errors import DaemonDied, HoplabError, ScenarioError
from hoplab.model.records.writer import Records
from hoplab.model.scenario.faults import Event
from hoplab.model.scenario.keys import MAX_DURATION_S
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import Conversation, plan
from hoplab.model.scenario.resolve import resolve
from hoplab.model.scenario.traffic import MAX_FLOWS, Flow

LONGEST_REQUEST = 4096
ANSWER_S = 6.0
"""In which the medium answers, on a slow host too; less than
`hoplab.host.runs.session.ANSWER_S`."""
LISTEN_S = 30.0
"""In which a flow's server listens, on a slow host too."""
LOOK_S = 0.05
"""Between two looks whether it does."""
SETTLED_S = 0.5
"""A station that has not been moved for so long has arrived: that is one event."""
LISTENING = "0A"
"""In /proc/net/tcp (include/net/tcp_states.h)."""


@dataclass
class _Going:
    """A flow that has been started: from when until when it goes, its programs."""

    conversation: Conversation
    sides: list[Side]
    begin_s: float | None = None
    """None until its server listens."""
    asked_at: float = 0.0
    end_s: float | None = None


class Channel:
    """Lines from and to the host; ``descriptor`` is a terminal in raw mode, or a socket."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def requests(self, wait_s: float) -> list[dict[str, Any]]:
        """What has come within ``wait_s``; lines that are too long or no objects are dropped."""
        readable, _, _ = select.select([self._descriptor], [], [], max(0.0, wait_s))
        if not readable:
            return []
        came = os.read(self._descriptor, LONGEST_REQUEST)
        if not came:
            return [{"do": "end"}]
        *lines, self._rest = (self._rest + came).split(b"\n")
        if len(self._rest) > LONGEST_REQUEST:
            self._rest = b""
        found = []
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(line)
                if isinstance(value, dict):
                    found.append(value)
        return found

    def say(self, **what: Any) -> None:
        """A line to the host."""
        data = (json.dumps(what, separators=(",", ":")) + "\n").encode()
        while data:
            data = data[os.write(self._descriptor, data) :]


class Session:
    """From `serve` until somebody asks for the end, or `stop`."""

    def __init__(self, started: Started, control: Path, channel: Channel, undo: CleanUp) -> None:
        built = started.built
        self._started = started
        self._built = built
        self._clock = started.clock
        self._namespaces = built.network.namespaces
        self._scenario = built.plan.scenario
        self._channel = channel
        self._ended = threading.Event()
        self._records = Records(built.out / "raw")
        undo.later(self._records.close)
        epoch_ns = built.account.realtime_epoch_ns or 0
        self._standby = StandbyProbe(built.plan, built.elfn, self._records, epoch_ns)
        self._sampler = Sampler(built.plan, self._namespaces, self._records, self._standby)
        undo.later(self._sampler.close)
        self._captures = Captures()
        undo.later(self._captures.stop)
        self._elfn_later = undo.later
        self._going: dict[str, _Going] = {}
        undo.later(self._stop_all)
        self._base = {str(flow.name): str(flow.name) for flow in self._scenario.flow}
        self._planned = frozenset(self._base)
        self._events: list[Event] = []
        self._moving: dict[str, tuple[float, Event]] = {}
        self._medium = _medium(control, undo)

    def serve(self) -> None:
        """Do what is asked, and sample, until the end. Raises `DaemonDied` where one does."""
        self._built.account.write(self._built.out)
        self._clock.sleep_until(0.0)
        self._tell()
        interval_s = self._scenario.measure.interval_s
        next_s = interval_s
        while not self._ended.is_set():
            wait_s = min(next_s - self._clock.now_s(), LOOK_S)
            for request in self._channel.requests(wait_s):
                self._answer(request)
            now_s = round(self._clock.now_s(), 6)
            self._begin_flows(now_s)
            self._arrive(now_s)
            if now_s >= next_s:
                next_s = max(next_s + interval_s, now_s)
                self._sampler.sample(now_s)
                self._captures.drain()
                self._watch(now_s)
                self._records.flush()

    def stop(self) -> None:
        """Let `serve` return; any thread may ask for it."""
        self._ended.set()

    def finish(self) -> None:
        """After `serve`: write what has been done as the run's scenario."""
        end_s = round(self._clock.now_s(), 6)
        self._arrive(end_s + SETTLED_S)
        for name in list(self._going):
            self._end_flow(name, end_s)
        self._sampler.end(end_s)
        self._records.flush()
        self._built.account.virtual_s = end_s
        done = self._scenario.model_copy(
            update={
                "duration_s": end_s,
                "flow": tuple(_as_gone(going, end_s) for going in self._going.values()),
                "event": (*self._scenario.event, *self._events),
            }
        )
        text = done.model_dump_json(exclude_none=True, indent=1)
        (self._built.out / "scenario.json").write_text(text, encoding="utf-8")

    def _answer(self, request: dict[str, Any]) -> None:
        number = request.pop("id", None)
        try:
            self._do(request)
        except HoplabError as error:
            self._channel.say(id=number, error=str(error))
        else:
            self._channel.say(id=number, ok=True)

    def _do(self, request: dict[str, Any]) -> None:
        what = request.pop("do", None)
        actions: dict[Any, Callable[[dict[str, Any]], None]] = {
            "move": lambda given: self._change("move", given),
            "loss": lambda given: self._change("loss", given),
            "power": self._power,
            "start": self._start,
            "stop": self._stop,
            "flow": self._new_flow,
            "end": lambda given: self.stop(),
        }
        action = actions.get(what) if isinstance(what, str) else None
        if action is None:
            raise ScenarioError(f"do: {what!r:.40} is not known; one of: {', '.join(actions)}")
        action(request)

    def _power(self, given: dict[str, Any]) -> None:
        up = given.pop("up", None)
        if not isinstance(up, bool):
            raise ScenarioError("up: expected true or false")
        self._change("up" if up else "down", given)

    def _change(self, kind: str, given: dict[str, Any]) -> None:
        """An event of the scenario, now."""
        now_s = round(self._clock.now_s(), 6)
        try:
            event = Event.model_validate({**given, "kind": kind, "at_s": now_s})
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise ScenarioError(f"{key or kind}: {first['msg']}") from None
        self._medium(_to_medium(event))
        if kind == "move":
            self._moving[str(event.station)] = (time.monotonic(), event)
        else:
            self._note(event)

    def _arrive(self, now_s: float) -> None:
        """Note the stations that have come to rest."""
        for station, (moved_at, event) in list(self._moving.items()):
            if time.monotonic() - moved_at >= SETTLED_S or now_s > event.at_s + SETTLED_S:
                del self._moving[station]
                self._note(event)

    def _note(self, event: Event) -> None:
        self._events.append(event)
        detail = {
            "move": f"x_m={event.x_m} y_m={event.y_m}",
            "loss": f"dst={event.dst} rate={event.rate}",
        }
        node = event.station or event.src or ""
        self._event(event.at_s, node, event.kind, detail.get(event.kind, ""))

    def _event(self, t_s: float, node: str, kind: str, detail: str) -> None:
        self._records.add("events", t_s=t_s, node=node, source="scenario", kind=kind, detail=detail)

    def _start(self, given: dict[str, Any]) -> None:
        name = given.get("flow")
        base = self._base.get(name) if isinstance(name, str) else None
        if base is None:
            raise ScenarioError(f"flow: there is no {name!r:.40}")
        if any(self._base[other] == base for other in self._open_flows()):
            raise ScenarioError(f"flow {base}: it is going already")
        flow = next(flow for flow in self._scenario.flow if flow.name == base)
        if base not in self._going:
            self._begin(flow)
            return
        count = sum(1 for other in self._base.values() if other == base)
        # Its counts begin anew, so it is another flow.
        self._add(flow.model_copy(update={"name": f"{base[:27]}-{count + 1}"}), base)

    def _new_flow(self, given: dict[str, Any]) -> None:
        wanted = {"source", "destination", "congestion_control"}
        if given.keys() - wanted or not all(isinstance(v, str) for v in given.values()):
            raise ScenarioError(f"flow: expected names for {', '.join(sorted(wanted))}")
        name = next(n for i in range(MAX_FLOWS + 1) if (n := f"flow{i}") not in self._base)
        document = self._scenario.model_dump(exclude_none=True, mode="json")
        document["flow"] = [*document.get("flow", ()), {"name": name, **given}]
        document["duration_s"] = MAX_DURATION_S
        try:
            whole = resolve(Scenario.model_validate_json(json.dumps(document)))
        except ValidationError as error:
            raise ScenarioError(f"flow: {error.errors()[0]['msg']}") from None
        self._add(whole.flow[-1], name)

    def _add(self, flow: Flow, base: str) -> None:
        if len(self._scenario.flow) >= MAX_FLOWS:
            raise ScenarioError(f"flow: a session has at most {MAX_FLOWS}")
        self._scenario = self._scenario.model_copy(update={"flow": (*self._scenario.flow, flow)})
        self._base[str(flow.name)] = base
        self._begin(flow)

    def _begin(self, flow: Flow) -> None:
        whole = plan(self._endless())
        conversation = next(c for c in whole.conversations if c.name == flow.name)
        if flow.name not in self._planned:
            self._built.prepare(conversation, self._elfn_later)
        self._standby.follow(conversation)
        if flow.protocol == "udp":
            self._captures.follow(conversation, self._built.out)
        server = flows.start_server(conversation, self._namespaces, self._built.out)
        self._going[conversation.name] = _Going(conversation, [server], None, time.monotonic())
        self._tell()

    def _endless(self) -> Scenario:
        """The scenario with flows that nobody has planned an end of."""
        update = {"start_s": 0.0, "stop_s": MAX_DURATION_S}
        found = tuple(flow.model_copy(update=update) for flow in self._scenario.flow)
        return self._scenario.model_copy(update={"flow": found})

    def _begin_flows(self, now_s: float) -> None:
        """Start the clients whose servers listen by now."""
        for name, going in self._going.items():
            if going.begin_s is not None or going.end_s is not None:
                continue
            late = time.monotonic() - going.asked_at > LISTEN_S
            if not late and not _listens(going.conversation):
                continue
            client = flows.start_client(going.conversation, self._namespaces, self._built.out)
            going.sides.append(client)
            going.begin_s = now_s
            self._sampler.begin(going.conversation)
            self._event(now_s, going.conversation.flow.source, "flow-start", name)

    def _stop(self, given: dict[str, Any]) -> None:
        name = given.get("flow")
        if not isinstance(name, str) or name not in self._open_flows():
            raise ScenarioError(f"flow: {name!r:.40} is not going")
        self._end_flow(name, round(self._clock.now_s(), 6))
        self._tell()

    def _end_flow(self, name: str, now_s: float) -> None:
        going = self._going[name]
        if going.end_s is not None:
            return
        going.end_s = now_s
        if going.begin_s is not None:
            self._sampler.finish(going.conversation, now_s)
            self._event(now_s, going.conversation.flow.source, "flow-stop", name)
        for side in reversed(going.sides):
            side.stop()

    def _stop_all(self) -> None:
        for going in self._going.values():
            for side in reversed(going.sides):
                side.stop()

    def _watch(self, now_s: float) -> None:
        for daemon in self._started.daemons:
            if daemon.process.poll() is not None:
                raise DaemonDied(
                    f"{daemon.name}: ended at {now_s:g} s: {last_line(daemon.log)}; "
                    f"see logs/{daemon.log.name}"
                )
        for name in self._open_flows():
            going = self._going[name]
            if any(side.process.poll() is not None for side in going.sides):
                self._event(now_s, going.conversation.flow.source, "flow-lost", name)
                self._end_flow(name, now_s)
                self._tell()

    def _open_flows(self) -> list[str]:
        return [name for name, going in self._going.items() if going.end_s is None]

    def _tell(self) -> None:
        """Tell the host which flows there are, and which of them go."""
        shown = [
            {"name": flow.name, "source": flow.source, "destination": flow.destination}
            for flow in self._scenario.flow
        ]
        self._channel.say(flows=shown, going=self._open_flows())


def _as_gone(going: _Going, end_s: float) -> Flow:
    begin_s = end_s if going.begin_s is None else going.begin_s
    until_s = end_s if going.end_s is None else going.end_s
    times = {"start_s": begin_s, "stop_s": max(until_s, begin_s + 1e-6)}
    return going.conversation.flow.model_copy(update=times)


def _to_medium(event: Event) -> dict[str, Any]:
    if event.kind == "move":
        return {"do": "move", "station": event.station, "x_m": event.x_m, "y_m": event.y_m}
    if event.kind == "loss":
        return {"do": "loss", "src": event.src, "dst": event.dst, "rate": event.rate}
    return {"do": "power", "station": event.station, "up": event.kind == "up"}


def _medium(control: Path, undo: CleanUp) -> Callable[[dict[str, Any]], None]:
    """What asks the medium; raises `ScenarioError` with its reason where it refuses."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    undo.later(client.close)
    client.bind("")  # an address of the kernel's choice, for the answer

    def ask(request: dict[str, Any]) -> None:
        try:
            _forget_late_answers(client)
            client.sendto(json.dumps(request).encode(), str(control))
            answer = client.recv(LONGEST_REQUEST).decode("utf-8", "replace")
        except OSError as error:
            raise ScenarioError(f"medium: does not answer: {error}") from None
        if answer != "ok":
            raise ScenarioError(answer)

    return ask


def _forget_late_answers(client: socket.socket) -> None:
    """What answers an earlier request answers none that is still to come."""
    # MSG_DONTWAIT would not do: with a timeout Python waits before it calls recv.
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            client.recv(LONGEST_REQUEST)
    client.settimeout(ANSWER_S)


def _listens(conversation: Conversation) -> bool:
    """Whether the flow's server does; spaced packets need none."""
    if conversation.is_spaced:
        return True
    with inside(conversation.flow.destination):
        text = Path("/proc/thread-self/net/tcp").read_text(encoding="ascii")
    local = f"{_hex(conversation.destination_address)}:{conversation.server_port:04X}"
    rows = (line.split() for line in text.splitlines()[1:])
    return any(row[1] == local and row[3] == LISTENING for row in rows)


def _hex(address: str) -> str:
    """As /proc/net/tcp has it: in the host's byte order."""
    return socket.inet_aton(address)[::-1].hex().upper()
