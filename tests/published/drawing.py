# SPDX-License-Identifier: Apache-2.0
"""Lines, markers and labels of a figure that matplotlib has saved as PDF, in its axes' units.

A page's content is a list of operators behind their operands (ISO 32000-1, 8 and 9). Matplotlib
draws each grid line before its label, so both axes are known. Curves are clipped to the axes, and
the legend is not.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.model.errors import HoplabError

Point = tuple[float, float]
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
TOKEN = re.compile(r"\((?:[^()\\]|\\.)*\)|[\[\]]|/\w+|[^\s\[\]()/]+")
CURVE_WIDTH = 2.0
"""Of model curves and markers in points; whiskers are thinner."""


@dataclass
class Drawing:
    """Shapes inside the axes, in the order in which they were drawn."""

    curves: list[list[Point]] = field(default_factory=list)
    markers: list[list[Point]] = field(default_factory=list)
    whiskers: list[tuple[Point, Point]] = field(default_factory=list)
    """Vertical lines from a marker to an end of its interval."""


@dataclass(frozen=True)
class Axis:
    """A straight line between places on the page and values."""

    origin: float
    scale: float

    @classmethod
    def through(cls, ticks: dict[float, float]) -> Axis:
        """``ticks``: values by place. Raises `HoplabError` where they are on no straight line."""
        (first, low), *_, (last, high) = sorted(ticks.items())
        axis = cls(first - low * (last - first) / (high - low), (last - first) / (high - low))
        for place, value in ticks.items():
            if abs(axis.value(place) - value) > 1e-3:
                raise HoplabError(f"a tick labelled {value:g} is at {axis.value(place):g}")
        return axis

    def value(self, place: float) -> float:
        return (place - self.origin) / self.scale


@dataclass
class _Reader:
    """What the operators so far have left behind."""

    path: list[Point] = field(default_factory=list)
    at: Point = (0.0, 0.0)
    """Where a marker goes: the sum of the translations since the last save."""
    saved: list[tuple[Point, bool]] = field(default_factory=list)
    clipped: bool = False
    width: float = 1.0
    placed: list[Point] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    grid_line: tuple[Point, Point] | None = None
    drawing: Drawing = field(default_factory=Drawing)
    ticks: tuple[dict[float, float], dict[float, float]] = field(default_factory=lambda: ({}, {}))

    def take(self, operator: str, operands: list[str]) -> None:
        match operator:
            case "m" | "l":
                self.path.append((float(operands[-2]), float(operands[-1])))
            case "w":
                self.width = float(operands[-1])
            case "W":
                self.clipped, self.path = True, []
            case "q":
                self.saved.append((self.at, self.clipped))
            case "Q":
                self._restore()
            case "cm":
                self.at = (self.at[0] + float(operands[-2]), self.at[1] + float(operands[-1]))
            case "Do":
                self.placed.append(self.at)
            case "S":
                self._stroke()
            case "f" | "B":
                self.path = []
            case "Tj":
                self.words.append(operands[-1].strip("()"))
            case "ET":
                self._label()

    def _restore(self) -> None:
        if self.placed:
            self.drawing.markers.append(self.placed)
            self.placed = []
        if self.saved:
            self.at, self.clipped = self.saved.pop()

    def _stroke(self) -> None:
        path, self.path = self.path, []
        if not self.clipped or len(path) < 2:
            return
        if len(path) > 2:
            self.drawing.curves.append(path)
        elif self.width < 1:
            self.grid_line = (path[0], path[1])
        elif path[0][0] == path[1][0]:
            self.drawing.whiskers.append((path[0], path[1]))

    def _label(self) -> None:
        # TeX's decimal point is the colon of a font of symbols.
        text = "".join(self.words).replace(":", ".")
        self.words = []
        if self.grid_line is None:
            return
        (x0, y0), (x1, _) = self.grid_line
        vertical = x0 == x1
        self.ticks[0 if vertical else 1][x0 if vertical else y0] = float(text)
        self.grid_line = None


def _content(path: Path) -> str:
    """The page's operators. Raises `HoplabError` where no stream draws a curve."""
    for found in STREAM.finditer(path.read_bytes()):
        try:
            text = zlib.decompress(found.group(1)).decode("latin-1")
        except zlib.error:
            continue
        if re.search(r"\bre W n\b", text):
            return text
    raise HoplabError(f"{path}: has no drawing of matplotlib's; expected a figure saved as PDF")


def read(path: Path) -> Drawing:
    """The drawing in the units of its axes. Raises `HoplabError` where it has none."""
    reader, operands = _Reader(), list[str]()
    for token in TOKEN.findall(_content(path)):
        if re.fullmatch(r"[-+.\d]+|[\[\](/].*", token, re.DOTALL):
            operands.append(token)
        else:
            reader.take(token, operands)
            operands = []
    if min(map(len, reader.ticks)) < 2:
        raise HoplabError(f"{path}: has not two labelled grid lines on each axis")
    x, y = map(Axis.through, reader.ticks)

    def scaled(points: list[Point]) -> list[Point]:
        return [(x.value(at), y.value(height)) for at, height in points]

    drawing = reader.drawing
    ends = [scaled(list(pair)) for pair in drawing.whiskers]
    return Drawing(
        [scaled(curve) for curve in drawing.curves],
        [scaled(markers) for markers in drawing.markers],
        [(begin, end) for begin, end in ends],
    )


def half_width(drawing: Drawing, mean: Point) -> float:
    """Of the interval about a marker; 0 where it has no whiskers."""
    return max(
        (
            abs(end[1] - begin[1])
            for begin, end in drawing.whiskers
            if abs(begin[0] - mean[0]) < 0.01 and abs(begin[1] - mean[1]) < 0.01
        ),
        default=0.0,
    )
