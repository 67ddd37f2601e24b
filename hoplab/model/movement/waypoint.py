# SPDX-License-Identifier: Apache-2.0
"""Random waypoint movement (Broch et al. 1998, MobiCom, section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hoplab.model.movement.trace import Trace, Waypoint
from hoplab.model.streams import stream


@dataclass(frozen=True)
class RandomWaypoint:
    """How stations walk: over which area, how fast, and how long they rest.

    Raises `ValueError` for an area, speed or pause that makes no movement.
    """

    width_m: float
    height_m: float
    min_speed_mps: float
    max_speed_mps: float
    pause_s: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.width_m < math.inf and 0 < self.height_m < math.inf):
            raise ValueError(
                f"area {self.width_m} m x {self.height_m} m: both sides must be above 0"
            )
        lowest, highest = self.min_speed_mps, self.max_speed_mps
        if not 0 < lowest <= highest < math.inf:
            raise ValueError(f"speeds {lowest} to {highest} m/s: expected 0 < lowest <= highest")
        if not 0 <= self.pause_s < math.inf:
            raise ValueError(f"pause {self.pause_s} s must be 0 or more")

    def place(self, draw: Callable[[], float]) -> tuple[float, float]:
        """A place in the area."""
        return self.width_m * draw(), self.height_m * draw()

    def speed_mps(self, draw: Callable[[], float]) -> float:
        """The speed of one leg."""
        return self.min_speed_mps + (self.max_speed_mps - self.min_speed_mps) * draw()


def random_waypoint(
    stations: Iterable[str], walk: RandomWaypoint, duration_s: float, seed: int
) -> dict[str, Trace]:
    """Return traces of stations. Each walks to a place drawn from the area, rests, and walks on.

    Every station draws from its own stream ``mobility/STATION``, always the same number of values
    per leg. Its places therefore depend only on the seed and the area. Speeds of 0.9 v to 1.1 v
    give the same path for every v, only faster or slower. Further stations do not change those
    before them. The last leg ends at or after ``duration_s``.

    Raises `ValueError` for a duration that makes no movement.
    """
    if not 0 <= duration_s < math.inf:
        raise ValueError(f"duration {duration_s} s must be 0 or more")

    def trace(name: str) -> Trace:
        draw = stream(seed, f"mobility/{name}").random
        (x, y), t = walk.place(draw), 0.0
        points = [_rounded(t, x, y)]
        while t < duration_s:
            new_x, new_y = walk.place(draw)
            t += math.hypot(new_x - x, new_y - y) / walk.speed_mps(draw)
            x, y = new_x, new_y
            points.append(_rounded(t, x, y))
            if walk.pause_s > 0 and t < duration_s:
                t += walk.pause_s
                points.append(_rounded(t, x, y))
        return Trace(tuple(points))

    return {name: trace(name) for name in stations}


def _rounded(t_s: float, x_m: float, y_m: float) -> Waypoint:
    """Round to 1 us and 1 mm, so that a resolved scenario stays readable."""
    return Waypoint(round(t_s, 6), round(x_m, 3), round(y_m, 3))
