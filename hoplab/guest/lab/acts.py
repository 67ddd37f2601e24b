# SPDX-License-Identifier: Apache-2.0
"""What a running network is asked to do: by a page (`hoplab.guest.lab.session`), an agent
(`hoplab.guest.lab.stepped`) or a branch (`hoplab.guest.lab.branched`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hoplab.guest.lab import standby
from hoplab.guest.lab.channel import MediumClient
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.runtime import Runtime
from hoplab.guest.lab.started import Started
from hoplab.guest.medium.config import of_radios
from hoplab.guest.network import wifi
from hoplab.guest.routing import static
from hoplab.guest.tcp.live_windows import LiveWindow
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.faults import Event
from hoplab.model.keys.requests import OfChannel, Request
from hoplab.model.network.plan import Conversation

CONTROL = Path("/hoplab-medium")
"""A socket of the medium's for those that may ask it later. A sealed machine's root is a ramfs,
where its name costs no random number of the kernel's. A tmpfs draws one for each file."""
T = TypeVar("T", bound=Request)
Act = Callable[[T, float], None]


class Acts:
    """Carries out a request at once and records it in table `events`: changes of the channel, and
    what is added."""

    def __init__(
        self, stage: Started, runtime: Runtime, control: Path | None, undo: CleanUp
    ) -> None:
        """``control`` is the socket at which the medium takes changes; None without a radio."""
        self.events: list[Event] = []
        """Acts that became events of the scenario, in order."""
        self._built = stage.built
        self._runtime = runtime
        self._undo = undo
        self._acts: dict[type[Request], Act[Any]] = {}
        self._medium: MediumClient | None = None
        if control is not None:
            self.ask_at(control)

    def ask_at(self, control: Path) -> None:
        """From now on the medium takes changes, at its socket ``control``."""
        self._medium = MediumClient(control, self._undo)
        for kind in (requests.Up, requests.Down, requests.Move, requests.Lose):
            self.add(kind, self._happen)
        self.add(requests.Transmit, self._transmit)

    def add(self, kind: type[T], act: Act[T]) -> None:
        """Carry out requests of this kind by ``act``."""
        self._acts[kind] = act

    def answer(self, given: dict[str, Any], t_s: float) -> str | None:
        """Read a request and carry it out. Return the reason if that is impossible."""
        try:
            self.do(requests.read(given, self._acts), t_s)
        except HoplabError as error:
            return str(error)
        return None

    def do(self, request: Request, t_s: float) -> None:
        """Carry out a request. Raises `ScenarioError` if that is impossible."""
        self._acts[type(request)](request, t_s)

    def ask(self, request: OfChannel) -> None:
        """Let the medium carry out a request. Raises `ScenarioError` if it refuses."""
        assert self._medium is not None
        for each in of_radios(self._built.plan, request):
            self._medium.ask(each.document())

    def note(self, event: Event) -> None:
        """Record an event that has been carried out."""
        self.events.append(event)
        detail = {
            "move": f"x_m={event.x_m} y_m={event.y_m}",
            "loss": f"dst={event.dst} rate={event.rate}",
        }
        self._runtime.event(event.at_s, event.node, event.kind, detail.get(event.kind, ""))

    def _happen(self, request: requests.Happening, t_s: float) -> None:
        self.ask(request)
        self.note(request.event(t_s))

    def _transmit(self, request: requests.Transmit, t_s: float) -> None:
        self.ask(request)
        self._runtime.event(t_s, request.station, "transmit-power", f"dbm={request.dbm}")


class Decisions(Acts):
    """Acts of the one that planned them: an agent, or a branch."""

    def __init__(
        self,
        stage: Started,
        runtime: Runtime,
        control: Path | None,
        undo: CleanUp,
        later: Path | None = None,
    ) -> None:
        """``later`` is the socket for the medium's first request, where ``control`` is None: the
        kernel draws the address of the one that asks at random."""
        super().__init__(stage, runtime, control, undo)
        self._later = later
        self._group = stage.built.group
        self._windows: dict[str, LiveWindow] = {}
        self._limits: dict[str, int] = {}
        self.add(requests.Window, self._window)
        self.add(requests.Route, self._route)
        self.add(requests.Scheme, self._scheme)
        self.add(requests.Rate, self._rate)
        self.add(requests.Reseed, self._reseed)

    def follow_windows(self, flows: Sequence[str]) -> None:
        """Make the windows of these flows changeable. Call this before their connections begin."""
        for conversation in self._built.plan.conversations:
            if conversation.name in flows:
                self.follow_window(conversation, conversation.name)

    def follow_window(self, conversation: Conversation, name: str) -> None:
        """From now on, the window of flow ``name`` is the window of this conversation."""
        window = LiveWindow(conversation.client_port, self._group)
        self._undo.later(window.close)
        self._group, self._windows[name] = window.group, window
        if name in self._limits:
            window.set(self._limits[name])

    def follows_window(self, name: str) -> bool:
        """Return whether the window of flow ``name`` can change."""
        return name in self._windows

    def _window(self, request: requests.Window, t_s: float) -> None:
        name, segments = request.flow, request.segments
        window = self._windows.get(name)
        if window is None:
            raise ScenarioError(f"window: flow {name} is none whose window was to change")
        self._limits[name] = segments
        window.set(segments)
        flow = next(c for c in self._built.plan.conversations if c.name == name).flow
        self._runtime.event(t_s, flow.source, "window", f"flow={name} segments={segments}")

    def _route(self, request: requests.Route, t_s: float) -> None:
        station, destination, via = request.station, request.destination, request.via
        plan, namespaces = self._built.plan, self._built.network.namespaces
        static.change(plan, namespaces, station, via, destination)
        self._runtime.event(t_s, station, "route", f"destination={destination} via={via}")

    def _scheme(self, request: requests.Scheme, t_s: float) -> None:
        radio = self._built.plan.scenario.radio.model_copy(update={"mcs": request.mcs})
        wifi.fix_scheme(wifi.only_phy(request.station)[1], radio)
        self._runtime.event(t_s, request.station, "mcs", f"mcs={request.mcs}")

    def _reseed(self, request: requests.Reseed, t_s: float) -> None:
        if self._medium is None and self._later is not None:
            self.ask_at(self._later)
        standby.reseed(request.seed)
        if self._medium is not None:
            self.ask(request)

    def _rate(self, request: requests.Rate, t_s: float) -> None:
        wifi.fix_legacy_rate(wifi.only_phy(request.station)[1], request.mbps)
        self._runtime.event(t_s, request.station, "rate", f"mbps={request.mbps:g}")
