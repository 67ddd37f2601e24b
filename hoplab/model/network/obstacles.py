# SPDX-License-Identifier: Apache-2.0
"""What walls and floors take of a signal, by material and by the way through them.

The loss of a material is that of a plane slab in air at normal incidence (ITU-R P.2040-3, section
2.2.2). With the relative permittivity ``n2``, the thickness ``d`` and the wavelength ``l``:

    q = 2 pi d / l * sqrt(n2)    R = (1 - sqrt(n2)) / (1 + sqrt(n2))
    T = (1 - R^2) exp(-j q) / (1 - R^2 exp(-2 j q))    loss = -20 log10 |T|

Here ``n2 = a f^b - j 17.98 c f^d / f``, with ``f`` in GHz (section 2.1.4).
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hoplab.model.keys.building import MOST_DB, Floor, Material, Slab, Wall
from hoplab.model.network.powers import SPEED_OF_LIGHT_MPS

MATERIALS: dict[Material, tuple[float, float, float, float]] = {
    "concrete": (5.24, 0.0, 0.0462, 0.7822),
    "brick": (3.91, 0.0, 0.0238, 0.16),
    "plasterboard": (2.73, 0.0, 0.0085, 0.9395),
    "wood": (1.99, 0.0, 0.0047, 1.0718),
    "glass": (6.31, 0.0, 0.0036, 1.3394),
    "chipboard": (2.58, 0.0, 0.0217, 0.78),
    "plywood": (2.71, 0.0, 0.33, 0.0),
    "marble": (7.074, 0.0, 0.0055, 0.9262),
}
"""a, b, c, d of P.2040-3, table 3: permittivity a f^b and conductivity c f^d in S/m, f in GHz."""
THICKNESS_M: dict[Material, float] = {
    "concrete": 0.2,
    "brick": 0.115,
    "plasterboard": 0.025,
    "wood": 0.04,
    "glass": 0.006,
    "chipboard": 0.03,
    "plywood": 0.018,
    "marble": 0.02,
}
"""Usual ones: half a brick, two boards of 12.5 mm, a door, a pane."""
VALID_MHZ = (1000.0, 40_000.0)
"""Where all rows of that table hold."""

Point = tuple[float, float, float]
"""x, y and z in m."""


class Segment(NamedTuple):
    """A straight wall with its loss."""

    start: tuple[float, float]
    end: tuple[float, float]
    bottom_m: float
    top_m: float
    loss_db: float


def slab_db(material: Material, thickness_m: float, frequency_mhz: float) -> float:
    """Return the loss in dB of a slab at normal incidence."""
    a, b, c, d = MATERIALS[material]
    ghz = frequency_mhz / 1000
    permittivity = complex(a * ghz**b, -17.98 * c * ghz**d / ghz)
    index = cmath.sqrt(permittivity)
    q = 2 * math.pi * thickness_m * frequency_mhz * 1e6 / SPEED_OF_LIGHT_MPS * index
    reflected = ((1 - index) / (1 + index)) ** 2
    passed = (1 - reflected) * cmath.exp(-1j * q) / (1 - reflected * cmath.exp(-2j * q))
    return min(MOST_DB, -20 * math.log10(abs(passed))) if passed else MOST_DB


def loss_db(slab: Slab, frequency_mhz: float) -> float:
    """Return what a wall or a floor takes of a signal, in dB."""
    if slab.material is None:
        assert slab.loss_db is not None
        return slab.loss_db
    thickness_m = slab.thickness_m or THICKNESS_M[slab.material]
    return slab_db(slab.material, thickness_m, frequency_mhz)


def segments(walls: Sequence[Wall], frequency_mhz: float) -> Iterator[Segment]:
    """Yield the straight pieces of walls."""
    for wall in walls:
        taken_db = loss_db(wall, frequency_mhz)
        for start, end in itertools.pairwise(wall.corners):
            yield Segment(start, end, wall.bottom_m, wall.top_m, taken_db)


def between_db(
    walls: Sequence[Segment], floors: Sequence[tuple[float, float]], a: Point, b: Point
) -> float:
    """Return what walls, and floors with their heights and losses, take of a signal between two
    points. The operations are those of the daemon's engine
    (`daemons/medium-core/src/space/obstacles.rs`)."""
    if (a[0], a[1]) > (b[0], b[1]):
        a, b = b, a
    through = sum(wall.loss_db for wall in walls if _stops(wall, a, b))
    return through + sum(
        taken_db for height_m, taken_db in floors if (a[2] >= height_m) != (b[2] >= height_m)
    )


def heights(floors: Sequence[Floor], frequency_mhz: float) -> list[tuple[float, float]]:
    """Return the height and the loss of each floor."""
    return [(floor.height_m, loss_db(floor, frequency_mhz)) for floor in floors]


def _side(start: Sequence[float], end: Sequence[float], of: Sequence[float]) -> float:
    return (end[0] - start[0]) * (of[1] - start[1]) - (end[1] - start[1]) * (of[0] - start[0])


def _stops(wall: Segment, a: Point, b: Point) -> bool:
    if (_side(a, b, wall.start) >= 0) == (_side(a, b, wall.end) >= 0):
        return False
    first, last = _side(wall.start, wall.end, a), _side(wall.start, wall.end, b)
    if (first >= 0) == (last >= 0):
        return False
    height_m = a[2] + (b[2] - a[2]) * (first / (first - last))
    return wall.bottom_m <= height_m < wall.top_m
