# SPDX-License-Identifier: Apache-2.0
"""Acts of an agent on a network between two of its steps (`hoplab.guest.lab.stepped`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hoplab.guest.lab.channel import MediumClient
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.runtime import Runtime
from hoplab.guest.lab.session import event_of, note, to_medium
from hoplab.guest.lab.started import Started
from hoplab.guest.medium.config import of_radios, radios_of
from hoplab.guest.network import wifi
from hoplab.guest.routing import static
from hoplab.guest.tcp.live_windows import LiveWindow
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.faults import Event
from hoplab.model.network.plan import Conversation

Act = Callable[[dict[str, Any], float], None]


class Acts:
    """Carries out a request at once and records it in table `events`."""

    def __init__(
        self, stage: Started, runtime: Runtime, control: Path | None, undo: CleanUp
    ) -> None:
        """``control`` is the socket at which the medium takes changes; None without a radio."""
        self.events: list[Event] = []
        """Acts that became events of the scenario, in order."""
        self._built = stage.built
        self._group = stage.built.group
        self._runtime = runtime
        self._undo = undo
        self._windows: dict[str, LiveWindow] = {}
        self._limits: dict[str, int] = {}
        self._acts: dict[str, Act] = {
            "window": self._window,
            "route": self._route,
            "mcs": self._mcs,
            "rate": self._rate,
        }
        self._medium: MediumClient | None = None
        if control is not None:
            self.ask_at(control)

    def ask_at(self, control: Path) -> None:
        """From now on the medium takes changes, at its socket ``control``."""
        self._medium = MediumClient(control, self._undo)
        for kind in ("up", "down", "move", "loss"):
            self._acts[kind] = self._event_of(kind)
        self._acts["transmit"] = self._transmit

    def reseed(self, seed: int) -> None:
        """Let what the medium draws at random depend on another seed from now on."""
        if self._medium is not None:
            self._ask({"do": "reseed", "seed": seed})

    def add(self, what: str, act: Act) -> None:
        """Register another act, requested as ``what``."""
        self._acts[what] = act

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

    def do(self, request: dict[str, Any], t_s: float) -> None:
        """Carry out a request. Raises `ScenarioError` if that is impossible."""
        given = dict(request)
        what = given.pop("do", None)
        act = self._acts.get(what) if isinstance(what, str) else None
        if act is None:
            raise ScenarioError(f"do: {what!r:.40} is not known; one of: {', '.join(self._acts)}")
        act(given, t_s)

    def _window(self, given: dict[str, Any], t_s: float) -> None:
        name, segments = given["flow"], given["segments"]
        window = self._windows.get(name)
        if window is None:
            raise ScenarioError(f"window: flow {name} is none whose window was to change")
        self._limits[name] = segments
        window.set(segments)
        flow = next(c for c in self._built.plan.conversations if c.name == name).flow
        self._runtime.event(t_s, flow.source, "window", f"flow={name} segments={segments}")

    def _route(self, given: dict[str, Any], t_s: float) -> None:
        station, destination, via = given["station"], given["destination"], given["via"]
        plan, namespaces = self._built.plan, self._built.network.namespaces
        static.change(plan, namespaces, station, via, destination)
        self._runtime.event(t_s, station, "route", f"destination={destination} via={via}")

    def _mcs(self, given: dict[str, Any], t_s: float) -> None:
        station, mcs = given["station"], given["mcs"]
        radio = self._built.plan.scenario.radio.model_copy(update={"mcs": mcs})
        wifi.fix_scheme(wifi.wiphy_in(station), radio)
        self._runtime.event(t_s, station, "mcs", f"mcs={mcs}")

    def _rate(self, given: dict[str, Any], t_s: float) -> None:
        station, mbps = given["station"], given["mbps"]
        wifi.fix_legacy_rate(wifi.wiphy_in(station), mbps)
        self._runtime.event(t_s, station, "rate", f"mbps={mbps:g}")

    def _transmit(self, given: dict[str, Any], t_s: float) -> None:
        for radio in radios_of(self._built.plan, given["station"]):
            self._ask({"do": "transmit", **given, "station": radio})
        self._runtime.event(t_s, given["station"], "transmit-power", f"dbm={given['dbm']}")

    def _event_of(self, kind: str) -> Act:
        def change(given: dict[str, Any], t_s: float) -> None:
            event = event_of(kind, given, t_s)
            for each in of_radios(self._built.plan, event):
                self._ask(to_medium(each))
            self.events.append(event)
            note(self._runtime, event)

        return change

    def _ask(self, request: dict[str, Any]) -> None:
        assert self._medium is not None
        self._medium.ask(request)
