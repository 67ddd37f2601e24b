# SPDX-License-Identifier: Apache-2.0
"""Data of the report's figures, as plain lists: panels over time and the map."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import Station
from hoplab.model.keys.stations import Placed
from hoplab.show.report.lines import Lines

MAX_EVENTS = 3000
MAX_CONNECTIONS = 12
"""Connections of programs that are drawn over time: those that carried most."""
DRAG_S = 1.0
"""Moves of one station that follow each other within this many seconds count as one."""

Rows = list[dict[str, Any]]


def figures(results: Results, whole: bool = False) -> dict[str, Any]:
    """The report's data: ``duration_s``, ``panels``, ``events``, ``map``; JSON has no NaN. With
    ``whole`` lines have all their points, not only as many as a screen shows."""
    scenario = results.resolved
    events = [event for event in results.rows("events") if event["t_s"] is not None]
    return {
        "duration_s": scenario.duration_s,
        "marks": _marks(scenario) + _handovers(results),
        "panels": _panels(results, scenario, whole),
        "events": [
            {
                "t": round(event["t_s"], 6),
                **{key: str(event[key] or "") for key in ("node", "source", "kind", "detail")},
            }
            for event in events[:MAX_EVENTS]
        ],
        "events_left_out": max(0, len(events) - MAX_EVENTS),
        "map": _map(results, scenario),
    }


def _marks(scenario: Resolved) -> Rows:
    """Return when a user changed the network. A dragged station moves many times a second, which
    makes one mark, at the end."""
    marks: Rows = []
    for event in sorted(scenario.event, key=lambda event: event.at_s):
        what = event.station or f"{event.src} → {event.dst}"
        mark = {"t": event.at_s, "kind": event.kind, "what": what}
        if marks and event.kind == "move":
            before = marks[-1]
            same = (before["kind"], before["what"]) == ("move", what)
            if same and event.at_s - before["t"] < DRAG_S:
                marks.pop()
        marks.append(mark)
    return marks


def _handovers(results: Results) -> Rows:
    """Return when a client's packets begin to pass through another access point."""
    return [
        {"t": row["first_s"], "kind": f"goes to {row['new']}", "what": row["node"]}
        for row in results.rows("handovers")
    ]


def _grouped(rows: Rows, *keys: str) -> dict[str, Rows]:
    groups: dict[str, Rows] = defaultdict(list)
    for row in rows:
        groups[" ".join(str(row[key]) for key in keys)].append(row)
    return groups


def _panels(results: Results, scenario: Resolved, whole: bool) -> Rows:
    """Lines in the order of the scenario's flows."""
    order = [flow.name for flow in scenario.flow]
    lines = Lines(order, interval_s=scenario.measure.interval_s)
    for table in ("tcp", "udp"):
        sampled = results.rows(table)
        shown = _most({row["flow"]: row["delivered_bytes"] or 0 for row in sampled}, order)
        for row in sampled:
            if row["flow"] in shown:
                lines.add(table, row)
    for table in ("exchanges", "queues", "queue_parts", "wifi_queues"):
        for row in results.rows(table):
            lines.add(table, row)
    packets = _grouped(results.rows("packets"), "flow")
    most = _most({name: sum(row["bytes"] for row in rows) for name, rows in packets.items()}, order)
    for name, rows in packets.items():
        if name in most:
            lines.add_packets(name, rows)
    return lines.panels(whole)


def _most(carried: dict[str, int], flows: list[str]) -> set[str]:
    """Return the names of all flows, and of the programs' connections that carried most."""
    others = sorted(carried.keys() - set(flows), key=lambda name: (-carried[name], name))
    return {*flows, *others[:MAX_CONNECTIONS]}


def _map(results: Results, scenario: Resolved) -> dict[str, Any]:
    return {
        "stations": _tracks(results, scenario),
        # It is unknown for a script's network, and has no meaning for measured links.
        "range_m": None if scenario.is_found or scenario.snr else scenario.radio.range_m,
        "interferers": [
            {"name": one.name, "kind": one.kind, "track": way(one)} for one in scenario.interferer
        ],
        "walls": [[list(corner) for corner in wall.corners] for wall in scenario.wall],
        "wired": [list(link.ends) for link in scenario.link],
        "links": [
            {
                "src": row["src"],
                "dst": row["dst"],
                "frames": row["frames"],
                "ratio": round(row["delivered"] / row["frames"], 4),
            }
            for row in results.rows("links")
            if row["frames"] and row["delivered"]
        ],
    }


def _tracks(results: Results, scenario: Resolved) -> Rows:
    """Return each station's path as [t, x, y], …: its measured places, or else its planned ones."""
    measured = _grouped(results.rows("nodes"), "node")
    tracks = []
    for station in scenario.station:
        points = [
            (row["t_s"], row["x_m"], row["y_m"])
            for row in measured.get(station.name, [])
            if row["x_m"] is not None and row["y_m"] is not None
        ]
        points = points or _planned(station, scenario)
        tracks.append({"name": station.name, "radio": station.radio, "track": _simplified(points)})
    return tracks


def way(placed: Placed) -> list[tuple[float, float, float]]:
    """Return a planned path as points of time and place."""
    points = [(float(t), float(x), float(y)) for t, x, y in placed.waypoints]
    return points or [(0.0, placed.x_m, placed.y_m)]


def _planned(station: Station, scenario: Resolved) -> list[tuple[float, float, float]]:
    """Return places by waypoints, and by events that put a station where it then stays."""
    points = way(station)
    for event in scenario.event:
        if event.kind != "move" or event.station != station.name:
            continue
        at_s = event.at_s
        before = [point for point in points if point[0] < at_s] or [(at_s, *points[0][1:])]
        points = [*before, (at_s, *before[-1][1:]), (at_s, *event.place)]
    return points


def _simplified(points: list[tuple[float, float, float]]) -> list[list[float]]:
    """Drop samples that lie, to 0.1 m, on the line between those kept."""
    kept: list[tuple[float, float, float]] = []
    for i, point in enumerate(points):
        if 0 < i < len(points) - 1:
            (t0, x0, y0), (t1, x1, y1) = kept[-1], points[i + 1]
            share = (point[0] - t0) / (t1 - t0) if t1 > t0 else 2.0
            off = math.hypot(x0 + share * (x1 - x0) - point[1], y0 + share * (y1 - y0) - point[2])
            if off < 0.1:
                continue
        kept.append(point)
    return [[round(t, 3), round(x, 2), round(y, 2)] for t, x, y in kept]
