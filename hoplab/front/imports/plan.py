# SPDX-License-Identifier: Apache-2.0
"""A floor plan as a network: its walls, and the stations that it names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import get_args

from hoplab.front.imports.network import Document, Network, plain
from hoplab.front.imports.values import number
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.building import MAX_CORNERS, MAX_SEGMENTS, MAX_WALLS, Material

RADIO = {"profile": "80211n", "propagation": "friis"}
"""Free space, as the walls are there themselves. Exponents of buildings have them on average."""
UNKNOWN: Material = "brick"
"""Of a wall whose material the plan does not name."""
MATERIALS = get_args(Material)
MARGIN = 0.1
"""Stations of a plan without any are this share of its sides away from two corners."""

Place = tuple[float, float]


class Plan:
    """Collects walls and stations. Places are metres."""

    def __init__(self, title: str) -> None:
        self.network = Network(title, radio=dict(RADIO))
        self.walls: list[Document] = []
        self._pieces = 0

    def wall(self, corners: Sequence[Place], said: Document) -> None:
        """Add a wall from corner to corner, of the material or the loss that ``said`` names."""
        apart = [corners[0], *(b for a, b in itertools.pairwise(corners) if a != b)]
        if len(apart) < 2:
            self.network.left_out["walls without a length"] += 1
            return
        for first in range(0, len(apart) - 1, MAX_CORNERS - 1):
            part = apart[first : first + MAX_CORNERS]
            self._pieces += len(part) - 1
            if len(self.walls) == MAX_WALLS or self._pieces > MAX_SEGMENTS:
                raise ScenarioError(
                    f"{self.network.title}: has more than {MAX_WALLS} walls, or {MAX_SEGMENTS} "
                    "straight pieces; simplify it first"
                )
            rounded = [[round(x_m, 3), round(y_m, 3)] for x_m, y_m in part]
            self.walls.append({"corners": rounded, **self._slab(said)})

    def _slab(self, said: Document) -> Document:
        if said.get("loss_db") is not None:
            return {"loss_db": number(said["loss_db"], f"{self.network.title}: loss_db")}
        material = said.get("material")
        if material not in MATERIALS:
            self.network.left_out[f"materials of walls, which are {UNKNOWN} now"] += 1
            material = UNKNOWN
        found: Document = {"material": material}
        if said.get("thickness_m") is not None:
            found["thickness_m"] = number(said["thickness_m"], f"{self.network.title}: thickness_m")
        return found

    def station(self, key: str, called: str, place: Place) -> None:
        """Add a station with a radio."""
        self.network.add(key, plain(called), x_m=place[0], y_m=place[1], radio=True)

    def whole(self) -> Network:
        """Return the network. A plan without stations gets two in opposite corners."""
        if not self.walls:
            raise ScenarioError(f"{self.network.title}: has no wall; expected lines of a plan")
        if not self.network.nodes:
            places = [corner for wall in self.walls for corner in wall["corners"]]
            (west, east), (south, north) = ((min(v), max(v)) for v in zip(*places, strict=True))
            x_m, y_m = MARGIN * (east - west), MARGIN * (north - south)
            self.station("0", "n0", (west + x_m, south + y_m))
            self.station("1", "n1", (east - x_m, north - y_m))
        names = [node.name for node in self.network.nodes.values()]
        self.network.joined = [(names[0], name) for name in names[1:]]
        self.network.further = {"wall": self.walls}
        return self.network
