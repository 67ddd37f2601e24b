# SPDX-License-Identifier: Apache-2.0
"""Floor plans in GeoJSON (RFC 7946): lines and outlines are walls, points are stations.

Places are longitude and latitude. A feature's properties ``material``, ``thickness_m`` and
``loss_db`` say what its wall takes, ``name`` what a station is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hoplab.front.imports.network import Document, Network
from hoplab.front.imports.plan import Plan
from hoplab.front.imports.values import entries, json_of, number, table, text
from hoplab.model.errors import ScenarioError
from hoplab.model.movement.geo import Degrees, middle, projected

Line = list[Degrees]
DEPTH = {"Point": 0, "LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}
"""How deep a geometry's places lie in its lists (RFC 7946 section 3.1)."""


def read(path: Path) -> Network:
    """Return the network of a plan. Raises `ScenarioError` for a file that is none."""
    whole = table(json_of(path), str(path))
    plan = Plan(path.stem)
    shapes: list[tuple[list[Line], Document, bool]] = []
    for i, value in enumerate(entries(whole.get("features"), f"{path}: features")):
        where = f"{path}: features.{i}"
        feature = table(value, where)
        geometry = table(feature.get("geometry") or {}, f"{where}.geometry")
        kind = str(geometry.get("type"))
        if kind not in DEPTH:
            plan.network.left_out["features of other kinds than lines and points"] += 1
            continue
        lines = _lines(geometry.get("coordinates"), DEPTH[kind], f"{where}.geometry.coordinates")
        said = table(feature.get("properties") or {}, f"{where}.properties")
        shapes.append((lines, said, kind == "Point"))
    places = [place for lines, _, _ in shapes for line in lines for place in line]
    if not places:
        raise ScenarioError(f"{path}: has no line; expected a plan's walls")
    about = middle(places)
    origin = Degrees(min(place.latitude for place in places), about.longitude)
    try:
        ((_, south_m),) = projected([origin], about)
        for lines, said, is_station in shapes:
            for line in lines:
                metres = [(x_m, y_m - south_m) for x_m, y_m in projected(line, about)]
                if is_station:
                    number_of = len(plan.network.nodes)
                    called = text(said.get("name", f"n{number_of}"), f"{path}: name")
                    plan.station(str(number_of), called, metres[0])
                else:
                    plan.wall(metres, said)
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None
    return plan.whole()


def _lines(value: Any, depth: int, where: str) -> list[Line]:
    """Return the lines in nested lists of places. A place alone is a line of one."""
    if depth == 0:
        return [[_place(value, where)]]
    listed = entries(value, where)
    if depth == 1:
        if not listed:
            raise ScenarioError(f"{where}: is empty; expected places")
        return [[_place(one, f"{where}.{i}") for i, one in enumerate(listed)]]
    return [line for i, one in enumerate(listed) for line in _lines(one, depth - 1, f"{where}.{i}")]


def _place(value: Any, where: str) -> Degrees:
    listed = entries(value, where)
    if len(listed) < 2:
        raise ScenarioError(f"{where}: has {len(listed)} numbers; expected longitude and latitude")
    longitude, latitude = (number(one, where) for one in listed[:2])
    if abs(longitude) > 180 or abs(latitude) > 89:
        raise ScenarioError(
            f"{where}: {longitude:g}, {latitude:g} is no longitude and latitude in degrees; "
            "a plan in metres can be an SVG"
        )
    return Degrees(latitude, longitude)
