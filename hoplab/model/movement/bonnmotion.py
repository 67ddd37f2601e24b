# SPDX-License-Identifier: Apache-2.0
"""BonnMotion traces: a line per station, ``t x y t x y …`` in s and m."""

from __future__ import annotations

from collections.abc import Mapping

from hoplab.model.errors import ScenarioError
from hoplab.model.movement.trace import Trace, Waypoint
from hoplab.model.movement.words import finite


def parse(text: str, source: str = "movements") -> dict[str, Trace]:
    """Return stations n0, n1, … in the order of the lines of ``text``; blank and # lines don't
    count.

    Raises `ScenarioError` that names ``source``, line, value and what was expected.
    """
    traces: dict[str, Trace] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{source}:{number}"
        if len(words) % 3:
            raise ScenarioError(f"{where}: {len(words)} values; expected groups of three: time x y")
        values = [finite(word, where) for word in words]
        points = [Waypoint(*values[i : i + 3]) for i in range(0, len(values), 3)]
        last = 0.0
        for point in points:
            if point.t_s < last:
                raise ScenarioError(
                    f"{where}: time {point.t_s:g}; expected at least {last:g}, "
                    "since times must not decrease"
                )
            last = point.t_s
        traces[f"n{len(traces)}"] = Trace(tuple(points))
    if not traces:
        raise ScenarioError(f"{source}: no station; expected a line `t x y t x y …` for each")
    return traces


def dump(traces: Mapping[str, Trace]) -> str:
    """The text of a ``.movements`` file with a line per station, in the mapping's order."""
    return "".join(
        " ".join(repr(value) for point in trace for value in point) + "\n"
        for trace in traces.values()
    )
