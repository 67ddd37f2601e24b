# SPDX-License-Identifier: Apache-2.0
"""Floor plans as drawings in SVG: straight lines are walls, circles are stations.

One unit of the drawing is `METRES` long, or as long as the attribute ``data-metres`` of ``<svg>``
says. An element's ``class`` names the material of its wall, or its attributes ``data-material``,
``data-thickness-m`` and ``data-loss-db`` do. A circle's ``id`` is its station's name.
"""

from __future__ import annotations

import re
from pathlib import Path

from hoplab.front.imports.network import Document, Network, plain
from hoplab.front.imports.plan import MATERIALS, Place, Plan
from hoplab.model.errors import ScenarioError
from hoplab.model.movement.markup import Reader
from hoplab.model.movement.words import finite
from hoplab.model.reading import read_text

MAX_BYTES = 16 << 20
DEEPEST = 100
METRES = 1.0
TOKENS = re.compile(r"[A-Za-z]|[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
MOVED = re.compile(r"translate\(\s*([^,\s)]+)(?:[,\s]+([^,\s)]+))?\s*\)")
STRAIGHT = {"M": 2, "L": 2, "H": 1, "V": 1, "Z": 0}
"""Numbers after a command of a path (SVG 1.1 section 8.3)."""


class _Curved(Exception):
    """A path has other pieces than straight ones."""


class _File(Reader):
    def __init__(self, source: str, plan: Plan) -> None:
        super().__init__(source, "svg")
        self.plan = plan
        self.metres = METRES
        self._moved: list[Place] = [(0.0, 0.0)]

    def begin(self, name: str, values: dict[str, str]) -> None:
        if self.depth > DEEPEST:
            raise ScenarioError(f"{self.where}: is nested too deeply; expected a plan")
        if name == "svg" and "data-metres" in values:
            self.metres = self.number(name, values, "data-metres")
            if self.metres <= 0:
                raise ScenarioError(f"{self.where}: data-metres: is not above 0")
        self._moved.append(self._offset(values))
        if name == "circle":
            key = str(len(self.plan.network.nodes))
            places = [(self._number(values, "cx"), self._number(values, "cy"))]
            self.plan.station(key, values.get("id", f"n{key}"), self._placed(places)[0])
            return
        try:
            lines = self._lines(name, values)
        except _Curved:
            self.plan.network.left_out["curves"] += 1
            return
        for line in lines:
            if line:
                self.plan.wall(self._placed(line), _said(values))

    def end(self, name: str) -> None:
        self._moved.pop()

    def _offset(self, values: dict[str, str]) -> Place:
        x, y = self._moved[-1]
        if not (transform := values.get("transform", "").strip()):
            return x, y
        found = MOVED.fullmatch(transform)
        if found is None:
            raise ScenarioError(
                f"{self.where}: transform: {plain(transform)!r} is no translate(x, y); remove it "
                "in your drawing program first"
            )
        dx, dy = (finite(word or "0", f"{self.where}: transform") for word in found.groups())
        return x + dx, y + dy

    def _placed(self, places: list[Place]) -> list[Place]:
        """Return metres. A drawing's y grows downwards."""
        dx, dy = self._moved[-1]
        return [((x + dx) * self.metres, -(y + dy) * self.metres) for x, y in places]

    def _lines(self, name: str, values: dict[str, str]) -> list[list[Place]]:
        number = self._number
        if name == "line":
            ends = [(number(values, f"x{i}"), number(values, f"y{i}")) for i in (1, 2)]
            return [ends]
        if name == "rect":
            x, y = number(values, "x"), number(values, "y")
            right, low = x + number(values, "width"), y + number(values, "height")
            return [[(x, y), (right, y), (right, low), (x, low), (x, y)]]
        if name in ("polyline", "polygon"):
            numbers = [self._finite(word) for word in TOKENS.findall(values.get("points", ""))]
            line = list(zip(numbers[::2], numbers[1::2], strict=False))
            return [[*line, *line[:1]] if name == "polygon" else line]
        return self._path(TOKENS.findall(values.get("d", ""))) if name == "path" else []

    def _path(self, tokens: list[str]) -> list[list[Place]]:
        lines: list[list[Place]] = []
        command, at = "", 0
        x = y = 0.0
        while at < len(tokens):
            if tokens[at].isalpha():
                command, at = tokens[at], at + 1
            wanted = STRAIGHT.get(command.upper())
            if wanted is None:
                raise _Curved
            numbers = [self._finite(word) for word in tokens[at : at + wanted]]
            at += wanted
            if len(numbers) < wanted or (command.upper() != "M" and not lines):
                raise ScenarioError(f"{self.where}: d: ends or begins amiss; expected a path")
            before = (x, y) if command.islower() else (0.0, 0.0)
            if command.upper() == "Z":
                x, y = lines[-1][0]
            elif command.upper() == "H":
                x = before[0] + numbers[0]
            elif command.upper() == "V":
                y = before[1] + numbers[0]
            else:
                x, y = before[0] + numbers[0], before[1] + numbers[1]
            if command.upper() == "M":
                lines.append([(x, y)])
                # Further pairs after a move are lines to there.
                command = "l" if command == "m" else "L"
            else:
                lines[-1].append((x, y))
                if command.upper() == "Z":
                    lines.append([(x, y)])
                    command = ""
        return [line for line in lines if len(line) > 1]

    def _number(self, values: dict[str, str], key: str) -> float:
        return self._finite(values.get(key, "0"), key)

    def _finite(self, word: str, key: str = "points") -> float:
        return finite(word, f"{self.where}: {key}")


def _said(values: dict[str, str]) -> Document:
    named = [word for word in values.get("class", "").split() if word in MATERIALS]
    return {
        "material": values.get("data-material", named[0] if named else None),
        "thickness_m": values.get("data-thickness-m"),
        "loss_db": values.get("data-loss-db"),
    }


def read(path: Path) -> Network:
    """Return the network of a plan. Raises `ScenarioError` for a file that is none."""
    plan = Plan(path.stem)
    _File(str(path), plan).read(read_text(path, MAX_BYTES, "an SVG drawing"))
    return plan.whole()
