# SPDX-License-Identifier: Apache-2.0
"""Messages to pages about a run: all of it at first, then the news.

Every page has a `Cursor` that says how much of the run it has. A slow page gets more at a time, and
nothing waits for it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from hoplab.model.keys.faults import Event
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.variants import FIXED_WINDOW, OFFERED
from hoplab.model.network.reach import reach_m
from hoplab.show.live.course import Course, stood
from hoplab.show.report import figures, on_map
from hoplab.show.report.data import way
from hoplab.show.report.figures import MANY_STATIONS

DEFAULT_VARIANT = "cubic"
SCROLL_S = 60.0
"""Seconds in view of a run without a planned end."""
MAX_TOLD_EVENTS = 200
"""Events in one message."""
AROUND = 0.35
"""Share of the reception range that the map leaves around the stations."""


@dataclass
class Cursor:
    """The part of a run that a page has."""

    shape: tuple[Any, ...] = ()
    """The lines of its figure, and the era of each."""
    points: list[int] = field(default_factory=list)
    """Number of points of each line."""
    events: int = 0
    status: str = ""
    version: int = -1


class View:
    """A run for pages. Any thread may call all of its methods."""

    def __init__(self, scenario: Resolved, endless: bool = False) -> None:
        """With ``endless`` the run has no planned end, so the figures scroll."""
        self._lock = threading.Lock()
        self._course = Course(scenario)
        self._endless = endless
        self._status = "waiting"
        self._note = ""
        self._version = 0
        self._going: list[str] | None = [] if endless else None
        names = [station.name for station in scenario.station]
        chosen = (f.congestion_control for f in scenario.flow if f.protocol == "tcp")
        usual = next(chosen, None) or DEFAULT_VARIANT
        self.about: dict[str, Any] = {
            "title": scenario.title or "A run",
            "duration_s": None if endless else scenario.duration_s,
            "stations": names,
            "radios": sorted(self._course.radios, key=names.index),
            "flows": [
                {"name": flow.name, "source": flow.source, "destination": flow.destination}
                for flow in scenario.flow
            ],
            "variants": [n for n in dict.fromkeys((*OFFERED, usual)) if n != FIXED_WINDOW],
            "variant": usual,
            "events": [{"at_s": e.at_s, "text": _words(e)} for e in scenario.event],
        }
        """The facts that do not change. They are ``title``, ``duration_s`` (None without an end),
        ``stations``, ``radios``, ``flows``, ``variants`` of TCP, the initial choice among them, and
        the scenario's ``events``."""

    def add_all(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows of one table of the run."""
        with self._lock:
            for row in rows:
                self._course.add(table, row)
            self._version += 1
            if self._status == "waiting" and self._course.t_s > 0:
                self._status = "running"

    def tell(self, status: str, note: str = "") -> None:
        """Set the run's status: ``waiting``, ``running``, ``over`` or ``failed``, with a line about
        it."""
        with self._lock:
            self._status, self._note = status, note
            self._version += 1

    def tell_flows(self, flows: list[dict[str, Any]], going: list[str]) -> None:
        """Set the flows that exist, and the names of those that run."""
        with self._lock:
            self.about["flows"] = flows
            self._going = going
            self._version += 1

    def message(self, cursor: Cursor) -> str | None:
        """Return, as JSON, what a page with ``cursor`` lacks, and move the cursor on. None if it
        lacks nothing."""
        with self._lock:
            if cursor.version == self._version:
                return None
            content = self._content(cursor)
            cursor.version, cursor.status = self._version, self._status
        return json.dumps(content, separators=(",", ":"))

    def moment(self, t_s: float) -> str:
        """Return, as JSON, the map, the flows and the lost frames at ``t_s``."""
        with self._lock:
            content = self._moment(min(t_s, self._course.t_s))
        return json.dumps(content, separators=(",", ":"))

    @property
    def t_s(self) -> float:
        """The run's progress, in s."""
        return self._course.t_s

    def _content(self, cursor: Cursor) -> dict[str, Any]:
        course = self._course
        content: dict[str, Any] = {
            "status": self._status,
            "note": self._note,
            **self._moment(course.t_s),
            "events": self._events(cursor),
            "event_count": course.event_count,
        }
        if self._going is not None:
            content["flow_list"], content["going"] = self.about["flows"], self._going
            content["flows"] = [
                flow if flow["flow"] in self._going else stood(flow) for flow in content["flows"]
            ]
        lines = list(course.lines.each())
        shape = tuple((line.group, line.label, line.era) for line in lines)
        if self._endless:
            content["window"] = [max(0.0, course.t_s - SCROLL_S), max(SCROLL_S, course.t_s)]
        if cursor.version < 0:
            content["about"] = self.about
            content["map_figure"] = self._map_figure()
            content["losses_figure"] = _json(figures.losses_figure(content["lost"]))
        if cursor.version < 0 or cursor.shape != shape:
            content["over_time"] = self._over_time() if lines else None
        else:
            content["points"] = [
                [i, line.t[have:], line.y[have:]]
                for i, (line, have) in enumerate(zip(lines, cursor.points, strict=True))
                if len(line.t) > have
            ]
        cursor.shape, cursor.points = shape, [len(line.t) for line in lines]
        return content

    def _moment(self, t_s: float) -> dict[str, Any]:
        course = self._course
        places, down = course.places(t_s), course.down(t_s)
        network = course.scenario
        traces = on_map.links(places, course.links(t_s))
        traces.append(on_map.wires(places, (link.ends for link in network.link)))
        metres = on_map.metres(places.values(), self._around_m())
        if others := self._others:
            there = {name: on_map.place_at(track, t_s) for name, (_, track) in others.items()}
            told = {name: kind for name, (kind, _) in others.items()}
            traces.append(on_map.interferers(there, told))
        traces.append(on_map.stations(places, course.radios, down, metres))
        shapes = on_map.walls(wall.corners for wall in network.wall)
        if network.radio.range_m and len(places) <= MANY_STATIONS:
            shown = [place for name, place in places.items() if name in course.radios - down]
            shapes += on_map.circles(shown, network.radio.range_m)
        lost = course.lost(t_s)
        return {
            "t_s": round(t_s, 3),
            "flows": course.flows(t_s),
            "map": traces,
            "shapes": shapes,
            "down": sorted(down),
            "lost": lost,
            "losses": on_map.losses(lost),
            "losses_px": on_map.losses_px(lost),
        }

    def _over_time(self) -> dict[str, Any]:
        course = self._course
        duration_s = SCROLL_S if self._endless else course.scenario.duration_s
        marks = [{"t": event.at_s} for event in course.scenario.event]
        # All points that are kept, so that the next ones join without a gap.
        panels = course.lines.panels(whole=True)
        data = {"duration_s": duration_s, "marks": marks, "panels": panels}
        return _json(figures.over_time_figure(data))

    def _map_figure(self) -> dict[str, Any]:
        course = self._course
        planned = [
            (float(x), float(y))
            for station in course.scenario.station
            for _, x, y in station.waypoints
        ]
        planned += [(x, y) for _, track in self._others.values() for _, x, y in track]
        planned += [corner for wall in course.scenario.wall for corner in wall.corners]
        places = course.places(0.0)
        figure = figures.live_map(places, course.radios, self._around_m(), planned)
        return _json(figure)

    @property
    def _others(self) -> dict[str, tuple[str, list[tuple[float, float, float]]]]:
        """Kinds and paths of other transmitters by name."""
        return {one.name: (one.kind, way(one)) for one in self._course.scenario.interferer}

    def _around_m(self) -> float:
        return AROUND * (reach_m(self._course.scenario.radio))

    def _events(self, cursor: Cursor) -> list[dict[str, Any]]:
        course = self._course
        fresh = min(course.event_count - cursor.events, len(course.events), MAX_TOLD_EVENTS)
        cursor.events = course.event_count
        return list(islice(course.events, len(course.events) - fresh, None))


def _words(event: Event) -> str:
    """What an event does, for people."""
    match event.kind:
        case "down":
            return f"the radio of {event.station} goes off"
        case "up":
            return f"the radio of {event.station} comes on"
        case "move":
            return f"{event.station} is at ({event.x_m:g}, {event.y_m:g}) m"
        case _:
            return f"{event.src} to {event.dst} loses {100 * (event.rate or 0):g} % of frames"


def _json(figure: Any) -> dict[str, Any]:
    """A figure's data and layout as plain values."""
    found: dict[str, Any] = json.loads(figure.to_json())
    return {"data": found["data"], "layout": found["layout"]}
