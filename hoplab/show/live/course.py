# SPDX-License-Identifier: Apache-2.0
"""The present state of a run in progress, from its rows as they come.

Memory is bounded whatever the run's length. Lines, ways and counters keep a number of points, and
then drop every other one.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Mapping
from typing import Any

from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.wlans import station_of
from hoplab.show.report.lines import Lines, Received, Sampled, number
from hoplab.show.report.on_map import Place, lost, place_at

MAX_POINTS = 4800
"""Points of a line or a way, beyond which every other one is dropped."""
MAX_EVENTS = 2000
"""Number of latest events that are kept."""
LINK_WINDOW_S = 2.0
"""Seconds before the moment shown over which a link's use counts."""
STOPPED_S, STOPPED_SAMPLES = 1.0, 3
"""A flow has stopped if it had no sample for this many seconds and this many intervals."""
FATES = ("collided", "weak", "capture_lost", "error_model", "deaf", "off")
ON, OFF = ("up",), ("down", "battery-empty")


class Way:
    """The path of a station: points [t, x, y], without those at rest between others."""

    def __init__(self, place: Place) -> None:
        self.points: list[list[float]] = [[0.0, *place]]

    def add(self, t_s: float, x_m: float, y_m: float) -> None:
        here = [round(t_s, 3), round(x_m, 2), round(y_m, 2)]
        if len(self.points) > 1 and self.points[-1][1:] == self.points[-2][1:] == here[1:]:
            self.points[-1] = here
        else:
            self.points.append(here)
        if len(self.points) >= MAX_POINTS:
            del self.points[1:-1:2]


class Use:
    """The load of a link: its counters, at each time that has some."""

    def __init__(self) -> None:
        self.t: list[float] = [0.0]
        self.counts: list[Mapping[str, int]] = [dict.fromkeys(("frames", "delivered", *FATES), 0)]

    def add(self, t_s: float, row: Mapping[str, Any]) -> None:
        self.t.append(t_s)
        self.counts.append({key: int(row[key] or 0) for key in ("frames", "delivered", *FATES)})
        if len(self.t) >= MAX_POINTS:
            del self.t[1:-1:2], self.counts[1:-1:2]

    def at(self, t_s: float) -> Mapping[str, int]:
        """Return the counters as last reported by then."""
        return self.counts[max(0, bisect_right(self.t, t_s) - 1)]

    def within(self, begin_s: float, end_s: float) -> tuple[int, float]:
        """Frames, and the share of them delivered."""
        before, after = self.at(begin_s), self.at(end_s)
        frames = after["frames"] - before["frames"]
        return frames, (after["delivered"] - before["delivered"]) / frames if frames else 0.0


class States:
    """States of a flow's sender, each with its beginning."""

    def __init__(self) -> None:
        self.t: list[float] = []
        self.names: list[str] = []

    def add(self, t_s: float, name: str) -> None:
        if self.names and self.names[-1] == name:
            return
        self.t.append(t_s)
        self.names.append(name)
        if len(self.t) >= MAX_POINTS:
            del self.t[1:-1:2], self.names[1:-1:2]

    def at(self, t_s: float) -> str:
        """Return the state by then, "" before the first."""
        place = bisect_right(self.t, t_s)
        return self.names[place - 1] if place else ""


def stood(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values to show of a stopped flow, without any that would look as if it went on."""
    return {**dict.fromkeys(flow), "flow": flow["flow"], "state": "stopped"}


class Course:
    """A run so far. `add` takes any row of its tables; two threads must not call it at once."""

    def __init__(self, scenario: Resolved) -> None:
        self.scenario = scenario
        self.t_s = 0.0
        """The run's progress: the latest time of any row."""
        names = (flow.name for flow in scenario.flow)
        self.lines = Lines(names, MAX_POINTS, scenario.measure.interval_s)
        self._states: dict[str, States] = {}
        self._stops_s = {f.name: f.stop_s for f in scenario.flow if f.stop_s is not None}
        self.nodes: dict[str, dict[str, Any]] = {}
        """The latest sample of each radio."""
        self.events: deque[dict[str, Any]] = deque(maxlen=MAX_EVENTS)
        self.event_count = 0
        self.radios = frozenset(s.name for s in scenario.station if s.radio)
        self._ways = {s.name: Way(_begin(s)) for s in scenario.station}
        self._uses: dict[tuple[str, str], Use] = {}
        self._power = sorted(
            (event.at_s, str(event.station), event.kind in ON)
            for event in scenario.event
            if event.kind in (*ON, *OFF)
        )

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Take a row, as the table's schema has it. Tables that the page does not show are
        ignored."""
        t_s = number(row.get("t_s"))
        if t_s is not None and t_s >= 0:
            self.t_s = max(self.t_s, t_s)
        if table in ("tcp", "udp", "exchanges", "queues", "queue_parts", "wifi_queues"):
            self.lines.add(table, row)
            if table == "tcp":
                state = "stands by" if row.get("standby") else str(row["ca_state"])
                self._states.setdefault(str(row["flow"]), States()).add(float(row["t_s"]), state)
        elif table == "nodes":
            self._add_node(row)
        elif table in ("link_samples", "links"):
            self._add_link(self.t_s if t_s is None else t_s, row)
        elif table == "events" and t_s is not None:
            self._add_event(t_s, row)

    def places(self, t_s: float) -> dict[str, Place]:
        """Return the place of each station."""
        return {name: place_at(way.points, t_s) for name, way in self._ways.items()}

    def down(self, t_s: float) -> set[str]:
        """Return the stations whose radio was off."""
        off: set[str] = set()
        for at_s, name, up in self._power:
            if at_s <= t_s:
                (off.discard if up else off.add)(name)
        return off

    def links(self, t_s: float) -> list[dict[str, Any]]:
        """Return the links that carried frames in the `LINK_WINDOW_S` before, as the map draws
        them."""
        found = []
        for (src, dst), use in self._uses.items():
            frames, ratio = use.within(t_s - LINK_WINDOW_S, t_s)
            if frames:
                found.append({"src": src, "dst": dst, "frames": frames, "ratio": ratio})
        return found

    def flows(self, t_s: float) -> list[dict[str, Any]]:
        """Return each flow by then. A flow without recent samples has stopped, and has no
        values."""
        found = []
        for last in self.lines.sampled(t_s):
            told = {
                "flow": last.flow,
                "goodput_kbps": last.goodput_kbps,
                "cwnd": last.cwnd,
                "rtt_ms": last.rtt_ms,
                "state": self._states[last.flow].at(t_s),
            }
            found.append(stood(told) if self._has_stopped(last, t_s) else told)
        for came in self.lines.received(t_s):
            told = {
                "flow": came.flow,
                "goodput_kbps": came.goodput_kbps,
                "cwnd": None,
                "rtt_ms": None,
                "state": _state_of(came),
            }
            found.append(stood(told) if self._has_stopped(came, t_s) else told)
        for name, rtt_ms in self.lines.answered(t_s):
            state = "no reply" if rtt_ms is None else "replies"
            told = {
                "flow": name,
                "goodput_kbps": None,
                "cwnd": None,
                "rtt_ms": rtt_ms,
                "state": state,
            }
            found.append(stood(told) if t_s >= self._stops_s.get(name, math.inf) else told)
        return found

    def _has_stopped(self, last: Sampled | Received, t_s: float) -> bool:
        silent_s = STOPPED_SAMPLES * self.scenario.measure.interval_s * last.step
        return t_s - last.t_s > max(STOPPED_S, silent_s)

    def lost(self, t_s: float) -> dict[str, int]:
        """Frames lost by cause since time 0."""
        return lost(use.at(t_s) for use in self._uses.values())

    def _add_node(self, row: Mapping[str, Any]) -> None:
        name, t_s = str(row["node"]), float(row["t_s"])
        way = self._ways.get(name)
        if way is None or t_s < way.points[-1][0]:
            return
        self.nodes[name] = dict(row)
        way.add(t_s, float(row["x_m"]), float(row["y_m"]))

    def _add_link(self, t_s: float, row: Mapping[str, Any]) -> None:
        ends = station_of(str(row["src"])), station_of(str(row["dst"]))
        if all(name in self._ways for name in ends):
            self._uses.setdefault(ends, Use()).add(t_s, row)

    def _add_event(self, t_s: float, row: Mapping[str, Any]) -> None:
        self.event_count += 1
        told = {key: str(row[key] or "") for key in ("node", "source", "kind", "detail")}
        self.events.append({"t": round(t_s, 3), **told})
        if told["kind"] in (*ON, *OFF) and told["source"] != "dsr":
            insort(self._power, (t_s, told["node"], told["kind"] in ON))


def _state_of(came: Received) -> str:
    """Return what a live page says of a UDP flow beside its goodput."""
    if came.delay_ms is None:
        return "nothing arrives"
    lost = f", {came.lost_percent:.0f} % lost" if came.lost_percent else ""
    return f"{came.delay_ms:.1f} ms one way{lost}"


def _begin(station: Any) -> Place:
    if station.waypoints:
        return float(station.waypoints[0][1]), float(station.waypoints[0][2])
    return station.x_m, station.y_m
