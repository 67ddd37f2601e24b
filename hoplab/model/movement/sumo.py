# SPDX-License-Identifier: Apache-2.0
"""SUMO's floating car data, written by its option ``--fcd-output``:

    <fcd-export>
        <timestep time="0.00">
            <vehicle id="bus" x="5.10" y="-1.60" angle="90.00" speed="13.89" …/>
            <person id="ann" x="…" y="…" …/>
        </timestep>

Times are in s, and places in m of SUMO's network. With ``--fcd-output.geo``, which the file's
opening comment names, places are in degrees of WGS84. Angles are in degrees, clockwise from north.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from hoplab.model.errors import ScenarioError
from hoplab.model.movement.geo import NORTHERNMOST_DEG, Degrees
from hoplab.model.movement.markup import Reader
from hoplab.model.movement.trace import Movement, Trace, Waypoint, numbered, on_plane
from hoplab.model.movement.words import SHOWN

MOVERS = ("vehicle", "person", "container")
STEP_S = 1.0
"""SUMO's default step length."""
MOST_POSITIONS = 2_000_000
"""Positions in a written file, which can then be read again (`MAX_BYTES`)."""
_GEO = re.compile(r'<fcd-output\.geo\s+value="(true|1|t|x|on|yes)"', re.IGNORECASE)


def parse(text: str, source: str = "fcd.xml") -> Movement:
    """A station for each vehicle, person and container of ``text``, in order of appearance.

    Raises `ScenarioError` that names ``source``, line, value and what was expected.
    """
    file = _File(source)
    file.read(text)
    if not file.tracks:
        raise ScenarioError(f'{source}: no station; expected <vehicle id="…" x="…" y="…"/>')
    if not file.is_geo:
        return numbered(file.tracks)
    globe = {
        name: [(point.t_s, Degrees(point.y_m, point.x_m)) for point in track]
        for name, track in file.tracks.items()
    }
    try:
        return numbered(*on_plane(globe))
    except ValueError as error:
        raise ScenarioError(f"{source}: {error}") from None


class _File(Reader):
    def __init__(self, source: str) -> None:
        super().__init__(source, "fcd-export")
        self.tracks: dict[str, list[Waypoint]] = {}
        self.is_geo = False
        self.t_s: float | None = None

    def comment(self, text: str) -> None:
        self.is_geo = self.is_geo or _GEO.search(text) is not None

    def begin(self, name: str, values: dict[str, str]) -> None:
        if name == "timestep":
            t_s = self.number(name, values, "time")
            if t_s < (self.t_s or 0.0):
                raise ScenarioError(
                    f"{self.where}: time {t_s:g}; expected at least {self.t_s or 0.0:g}, "
                    "since times must not decrease"
                )
            self.t_s = t_s
        elif name in MOVERS:
            self._seen(name, values)

    def _seen(self, name: str, values: dict[str, str]) -> None:
        if self.t_s is None:
            raise ScenarioError(f'{self.where}: <{name}>; expected <timestep time="…"> before it')
        if "id" not in values:
            raise ScenarioError(f"{self.where}: <{name}> has no id; expected its name")
        point = Waypoint(self.t_s, self.number(name, values, "x"), self.number(name, values, "y"))
        if self.is_geo and not (abs(point.x_m) <= 180 and abs(point.y_m) <= NORTHERNMOST_DEG):
            raise ScenarioError(
                f"{self.where}: x {point.x_m:g}, y {point.y_m:g}; expected a longitude to 180 "
                f"and a latitude to {NORTHERNMOST_DEG:g} degrees, either way"
            )
        track = self.tracks.setdefault(values["id"], [])
        if track and track[-1].t_s == self.t_s:
            raise ScenarioError(
                f"{self.where}: {values['id'][:SHOWN]!r} again at {self.t_s:g} s; "
                "expected it once in a timestep"
            )
        track.append(point)


def dump(traces: Mapping[str, Trace], step_s: float = STEP_S) -> str:
    """Return the text of an FCD file: the place of every station every ``step_s``, from 0 until all
    rest.

    When the file is read again, a station cuts the corners between two steps. It is off by at most
    its speed times half a step there, and by a jump's length for a step. Raises `ValueError` for a
    step that is no time or makes too many positions.
    """
    end_s = max(trace[-1].t_s for trace in traces.values())
    if not 0 < step_s < math.inf:
        raise ValueError(f"step {step_s:g} s; expected above 0")
    if max(end_s, 0.0) / step_s * len(traces) > MOST_POSITIONS:
        raise ValueError(
            f"a step of {step_s:g} s makes over {MOST_POSITIONS} positions; use a longer one"
        )
    return "".join(_lines(traces, step_s, math.ceil(max(end_s, 0.0) / step_s)))


def _lines(traces: Mapping[str, Trace], step_s: float, steps: int) -> Iterator[str]:
    """Yield the lines. As in SUMO, speed and angle belong to the step that ends, and at 0 to the
    one that begins."""
    # It loads what opens URLs, which other commands do not need.
    from xml.sax.saxutils import quoteattr

    yield '<?xml version="1.0" encoding="UTF-8"?>\n<fcd-export>\n'
    angle = dict.fromkeys(traces, 0.0)
    before = {name: trace.at(step_s) for name, trace in traces.items()}
    names = {name: quoteattr(name) for name in traces}
    for step in range(steps + 1):
        t_s = round(step * step_s, 6)
        yield f'    <timestep time="{t_s!r}">\n'
        for name, trace in traces.items():
            here = trace.at(t_s)
            start, end = (before[name], here) if step else (here, before[name])
            if start != end:
                angle[name] = math.degrees(math.atan2(end[0] - start[0], end[1] - start[1])) % 360
            before[name] = here
            yield (
                f'        <vehicle id={names[name]} x="{here[0]:.3f}" y="{here[1]:.3f}" '
                f'angle="{angle[name]:.2f}" type="hoplab" '
                f'speed="{math.dist(start, end) / step_s:.3f}"/>\n'
            )
        yield "    </timestep>\n"
    yield "</fcd-export>\n"
