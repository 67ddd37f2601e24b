# SPDX-License-Identifier: Apache-2.0
"""What the report's figures draw, as plain lists: panels over time and the map."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from hoplab.errors import ResultsError
from hoplab.results.reader import Results
from hoplab.scenario.model import Scenario, Station

MAX_POINTS = 2400
"""Points drawn per line; a wider screen than this could not show more."""
MAX_EVENTS = 3000
GOODPUT_WINDOW_S = 1.0
NO_THRESHOLD = 1_000_000
"""Linux keeps ssthresh at 2^31 - 1 until the first loss; drawn, that would hide all else."""

Rows = list[dict[str, Any]]


def figures(results: Results) -> dict[str, Any]:
    """The report's data: ``duration_s``, ``panels``, ``events``, ``map``; JSON has no NaN."""
    scenario = _scenario(results)
    events = [event for event in results.rows("events") if event["t_s"] is not None]
    panels = [*_flow_panels(results, [str(flow.name) for flow in scenario.flow])]
    panels += _queue_panel(results)
    return {
        "duration_s": scenario.duration_s,
        "marks": [
            {
                "t": event.at_s,
                "kind": event.kind,
                "what": event.station or f"{event.src} → {event.dst}",
            }
            for event in scenario.event
        ],
        "panels": panels,
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


def _scenario(results: Results) -> Scenario:
    """What was run, resolved. Raises `ResultsError` where this version does not know it."""
    try:
        return Scenario.model_validate(results.scenario)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ResultsError(
            f"{results.run_dir / 'scenario.json'}: {key}: {first['msg']}; it is damaged or from "
            "another version of hoplab; run it again"
        ) from None


def number(value: Any) -> float | None:
    """``value`` as a finite float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _grouped(rows: Rows, *keys: str) -> dict[str, Rows]:
    groups: dict[str, Rows] = defaultdict(list)
    for row in rows:
        groups[" ".join(str(row[key]) for key in keys)].append(row)
    return groups


def _thin(count: int) -> range:
    """Indices of at most `MAX_POINTS` of ``count`` samples, the last included."""
    step = max(1, math.ceil(count / MAX_POINTS))
    return range((count - 1) % step, count, step)


def _line(
    group: str, t: Sequence[float], y: Iterable[Any], label: str = "", digits: int = 2
) -> dict[str, Any]:
    values = [number(value) for value in y]
    chosen = _thin(len(values))
    return {
        "group": group,
        "label": label,
        "t": [round(t[i], 3) for i in chosen],
        "y": [None if (v := values[i]) is None else round(v, digits) for i in chosen],
    }


def _rate_kbps(t: Sequence[float], total_bytes: Sequence[float]) -> list[float]:
    """Payload rate in kbit/s over the `GOODPUT_WINDOW_S` before each sample."""
    rates = []
    for i, now in enumerate(t):
        first = bisect_left(t, now - GOODPUT_WINDOW_S - 1e-9)
        span = now - t[first]
        before = total_bytes[first]
        if span < GOODPUT_WINDOW_S / 2:
            # The start of a flow: it had delivered nothing before.
            span, before = GOODPUT_WINDOW_S, total_bytes[0]
        rates.append((total_bytes[i] - before) * 8e-3 / span)
    return rates


def _flow_panels(results: Results, order: list[str]) -> list[dict[str, Any]]:
    """Lines in the order of the scenario's flows."""
    goodput, window, rtt, delay = [], [], [], []
    for name, rows in _grouped(results.rows("tcp"), "flow").items():
        rows.sort(key=lambda row: float(row["t_s"]))
        t = [row["t_s"] for row in rows]
        goodput.append(_line(name, t, _rate_kbps(t, [r["delivered_bytes"] or 0 for r in rows])))
        window.append(_line(name, t, [row["cwnd"] for row in rows], "cwnd"))
        thresholds = [
            None if (s := row["ssthresh"]) is None or s > NO_THRESHOLD else s for row in rows
        ]
        if any(value is not None for value in thresholds):
            window.append({**_line(name, t, thresholds, "ssthresh"), "dashed": True})
        rtt.append(_line(name, t, [row["rtt_ms"] for row in rows]))
    tcp_names = {line["group"] for line in goodput}
    for name, rows in _grouped(results.rows("packets"), "flow").items():
        arrived = sorted(
            (row for row in rows if row["received_s"] is not None),
            key=lambda row: float(row["received_s"]),
        )
        if not arrived:
            continue
        t = [row["received_s"] for row in arrived]
        delay.append(_line(name, t, [(r["received_s"] - r["sent_s"]) * 1e3 for r in arrived]))
        if name not in tcp_names:
            goodput.append(_packet_rate(name, arrived, t))
    for lines in (goodput, window, rtt, delay):
        lines.sort(key=lambda line: order.index(line["group"]))
    panels = [
        _panel("Goodput", "kbit/s", goodput, "Payload delivered, over the last second."),
        _panel(
            "Congestion window",
            "segments",
            window,
            "cwnd solid, ssthresh dashed; no ssthresh before the first loss.",
        ),
        _panel("Round-trip time", "ms", rtt, "The sender's smoothed estimate."),
        _panel("One-way delay", "ms", delay, "Of each packet that arrived."),
    ]
    return [panel for panel in panels if panel["lines"]]


def _packet_rate(name: str, arrived: Rows, t: list[float]) -> dict[str, Any]:
    """Goodput of a flow without a TCP socket, from its packets, every 100 ms."""
    sums = [0.0]
    for row in arrived:
        sums.append(sums[-1] + float(row["bytes"] or 0))
    first, steps = t[0], int((t[-1] - t[0]) * 10) + 1
    grid = [first + i / 10 for i in range(steps + 1)]
    totals = [sums[bisect_right(t, at)] for at in grid]
    return _line(name, grid, _rate_kbps(grid, totals))


def _queue_panel(results: Results) -> list[dict[str, Any]]:
    lines = []
    for name, rows in _grouped(results.rows("queues"), "node", "interface").items():
        if any(row["backlog_packets"] for row in rows):
            t = [row["t_s"] for row in rows]
            lines.append(_line(name, t, [row["backlog_packets"] for row in rows]))
    lines.sort(key=lambda line: -max(value or 0 for value in line["y"]))
    note = "Wired interfaces whose queue was ever in use."
    if len(lines) > 8:
        note = f"The 8 fullest of {len(lines)} wired queues."
    return [_panel("Queue", "packets", lines[:8], note)] if lines else []


def _panel(title: str, unit: str, lines: list[dict[str, Any]], note: str) -> dict[str, Any]:
    return {"title": title, "unit": unit, "lines": lines, "note": note}


def _map(results: Results, scenario: Scenario) -> dict[str, Any]:
    return {
        "stations": _tracks(results, scenario),
        "range_m": scenario.radio.range_m,
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


def _tracks(results: Results, scenario: Scenario) -> Rows:
    """Each station's path as [t, x, y], …: where it was measured to be, else where it was sent."""
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


def _planned(station: Station, scenario: Scenario) -> list[tuple[float, float, float]]:
    """By waypoints and by events, which put a station where it then stays."""
    points = [(float(t), float(x), float(y)) for t, x, y in station.waypoints]
    points = points or [(0.0, station.x_m, station.y_m)]
    for event in scenario.event:
        if event.kind != "move" or event.station != station.name:
            continue
        at_s = event.at_s
        before = [point for point in points if point[0] < at_s] or [(at_s, *points[0][1:])]
        points = [*before, (at_s, *before[-1][1:]), (at_s, event.x_m or 0.0, event.y_m or 0.0)]
    return points


def _simplified(points: list[tuple[float, float, float]]) -> list[list[float]]:
    """Without the samples that lie, to 0.1 m, on the way between those kept."""
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
