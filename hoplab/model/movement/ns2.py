# SPDX-License-Identifier: Apache-2.0
"""ns-2 movement files, as its setdest tool and BonnMotion's NSFile write them.

    $node_(0) set X_ 83.36
    $node_(0) set Y_ 239.43
    $node_(0) set Z_ 0.0
    $ns_ at 2.0 "$node_(0) setdest 89.66 283.49 1.37"

``setdest X Y SPEED`` sends a station off in a straight line. If it comes before the station has
reached the last place, the station turns where it is. Speed 0 stops it, which is how setdest writes
a pause. Lines of the ``$god_`` object (shortest hop counts) are skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise

from hoplab.model.errors import ScenarioError
from hoplab.model.movement.trace import Trace, Waypoint
from hoplab.model.movement.words import finite

_NODE = r"\$node_\((?P<node>[^)]*)\)\s+"
_SET = re.compile(rf"^{_NODE}set\s+(?P<axis>\w+)\s+(?P<value>\S+)$")
_SETDEST = re.compile(
    rf'^\$ns_?\s+at\s+(?P<t>\S+)\s+"\s*{_NODE}setdest\s+(?P<x>\S+)\s+(?P<y>\S+)\s+(?P<v>\S+?)\s*"$'
)
_IGNORED = re.compile(r'^(#.*|set\s.*|\$god_\s.*|\$ns_?\s+at\s+\S+\s+"\s*\$god_\s.*)?$')
_SAME_TIME_S = 1e-6
"""An arrival this close to the next departure counts as that departure, because speeds are
rounded."""


def parse(text: str, source: str = "movement") -> dict[str, Trace]:
    """Station nI for every ``$node_(I)`` of ``text``, in order of I.

    Raises `ScenarioError` that names ``source``, line, value and what was expected.
    """
    start: dict[int, dict[str, float]] = {}
    legs: dict[int, list[tuple[float, float, float, float]]] = {}
    first_line: dict[int, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line, where = raw.strip().rstrip(";").rstrip(), f"{source}:{number}"
        if match := _SET.match(line):
            node = _node(match["node"], where)
            axis, value = match["axis"], finite(match["value"], where)
            if axis not in ("X_", "Y_", "Z_"):
                raise ScenarioError(f"{where}: sets {axis!r}; expected X_, Y_ or Z_")
            if axis == "Z_" and value != 0:
                raise ScenarioError(
                    f"{where}: Z_ is {value:g}; expected 0, the plane has no height"
                )
            start.setdefault(node, {})[axis] = value
        elif match := _SETDEST.match(line):
            node = _node(match["node"], where)
            t, x, y, speed = (finite(match[key], where) for key in ("t", "x", "y", "v"))
            if t < 0:
                raise ScenarioError(f"{where}: time {t:g}; expected 0 or later")
            if speed < 0:
                raise ScenarioError(f"{where}: speed {speed:g}; expected 0 or above, in m/s")
            legs.setdefault(node, []).append((t, x, y, speed))
        elif not _IGNORED.match(line):
            raise ScenarioError(
                f"{where}: {line[:60]!r}; expected `$node_(I) set X_ VALUE` or "
                '`$ns_ at T "$node_(I) setdest X Y SPEED"`'
            )
        else:
            continue
        first_line.setdefault(node, number)
    if not first_line:
        raise ScenarioError(f"{source}: no station; expected `$node_(0) set X_ VALUE` and so on")
    traces = {}
    for node in sorted(first_line):
        place = start.get(node, {})
        for axis in ("X_", "Y_"):
            if axis not in place:
                raise ScenarioError(
                    f"{source}:{first_line[node]}: node {node} has no {axis}; "
                    f"expected a line `$node_({node}) set {axis} VALUE`"
                )
        traces[f"n{node}"] = _walk(Waypoint(0.0, place["X_"], place["Y_"]), legs.get(node, []))
    return traces


def _walk(start: Waypoint, legs: list[tuple[float, float, float, float]]) -> Trace:
    """Return waypoints of a station that leaves at the times of ``legs`` (t, x, y, speed)."""
    points = [start]
    for t, x, y, speed in sorted(legs, key=lambda leg: leg[0]):
        _turn_at(points, t)
        here = points[-1]
        distance = math.hypot(x - here.x_m, y - here.y_m)
        arrival = here.t_s + distance / speed if speed > 0 and distance > 0 else math.inf
        # If a leg is so fast or so slow that float64 has no time for it, the station stays.
        if here.t_s < arrival < math.inf:
            points.append(Waypoint(arrival, x, y))
    return Trace(tuple(points))


def _turn_at(points: list[Waypoint], t_s: float) -> None:
    """End the walk of ``points`` with a waypoint at ``t_s``, where the next leg starts."""
    last = points[-1]
    if len(points) > 1 and abs(last.t_s - t_s) <= _SAME_TIME_S and points[-2].t_s < t_s:
        points[-1] = last._replace(t_s=t_s)
        return
    if last.t_s == t_s:
        return
    # Legs come in order of time, so the station is on the last one.
    x_m, y_m = Trace(tuple(points[-2:])).at(t_s) if last.t_s > t_s else last[1:]
    if last.t_s > t_s:
        points.pop()
    if not points or points[-1].t_s < t_s:
        points.append(Waypoint(t_s, x_m, y_m))


def dump(traces: Mapping[str, Trace]) -> str:
    """The text of a movement file; nodes are numbered in the mapping's order.

    Raises `ValueError` for a trace that jumps, which ``setdest`` cannot express.
    """
    lines = []
    for node, trace in enumerate(traces.values()):
        x_m, y_m = trace.at(0.0)
        for axis, value in (("X_", x_m), ("Y_", y_m), ("Z_", 0.0)):
            lines.append(f"$node_({node}) set {axis} {value!r}")
    for node, (name, trace) in enumerate(traces.items()):
        lines.extend(
            f'$ns_ at {t!r} "$node_({node}) setdest {end.x_m!r} {end.y_m!r} {speed!r}"'
            for t, end, speed in _departures(name, trace)
        )
    return "\n".join(lines) + "\n"


def _departures(name: str, trace: Trace) -> list[tuple[float, Waypoint, float]]:
    """Yield (time in s, destination, speed in m/s) of every leg that moves, from time 0 on."""
    found = []
    for start, end in pairwise(trace):
        if end.t_s <= 0 or start[1:] == end[1:]:
            continue
        if end.t_s == start.t_s:
            raise ValueError(
                f"{name}: jumps at {end.t_s:g} s; ns-2's files cannot say that, .movements can"
            )
        speed = math.hypot(end.x_m - start.x_m, end.y_m - start.y_m) / (end.t_s - start.t_s)
        found.append((max(start.t_s, 0.0), end, speed))
    return found


def _node(word: str, where: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise ScenarioError(f"{where}: node {word[:40]!r}; expected a number such as 0")
    return int(word)
