# SPDX-License-Identifier: Apache-2.0
"""Random waypoint movement (Broch et al. 1998, MobiCom, section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hoplab.model.scenario.movement.trace import Trace, Waypoint
from hoplab.model.scenario.streams import stream


def random_waypoint(
    stations: Iterable[str],
    *,
    width_m: float,
    height_m: float,
    min_speed_mps: float,
    max_speed_mps: float,
    duration_s: float,
    seed: int,
    pause_s: float = 0.0,
) -> dict[str, Trace]:
    """Each station walks to a place drawn from the area, rests ``pause_s``, and walks on.

    Every station draws from its own stream ``mobility/STATION``, always the same number of
    values per leg. So a station's places depend on the seed and the area only: speeds of
    0.9 v to 1.1 v walk the same path for every v, only faster or slower, and further stations
    leave those before them as they were. The last leg ends at or after ``duration_s``.

    Raises `ValueError` for an area, speed, pause or duration that makes no movement.
    """
    if not (0 < width_m < math.inf and 0 < height_m < math.inf):
        raise ValueError(f"area {width_m} m x {height_m} m: both sides must be above 0")
    if not 0 < min_speed_mps <= max_speed_mps < math.inf:
        raise ValueError(
            f"speeds {min_speed_mps} to {max_speed_mps} m/s: expected 0 < lowest <= highest"
        )
    if not (0 <= pause_s < math.inf and 0 <= duration_s < math.inf):
        raise ValueError(f"pause {pause_s} s and duration {duration_s} s must be 0 or more")

    def walk(name: str) -> Trace:
        draw = stream(seed, f"mobility/{name}").random
        x, y, t = width_m * draw(), height_m * draw(), 0.0
        points = [_rounded(t, x, y)]
        while t < duration_s:
            new_x, new_y = width_m * draw(), height_m * draw()
            speed = min_speed_mps + (max_speed_mps - min_speed_mps) * draw()
            t += math.hypot(new_x - x, new_y - y) / speed
            x, y = new_x, new_y
            points.append(_rounded(t, x, y))
            if pause_s > 0 and t < duration_s:
                t += pause_s
                points.append(_rounded(t, x, y))
        return Trace(tuple(points))

    return {name: walk(name) for name in stations}


def _rounded(t_s: float, x_m: float, y_m: float) -> Waypoint:
    """To 1 us and 1 mm: a resolved scenario stays readable."""
    return Waypoint(round(t_s, 6), round(x_m, 3), round(y_m, 3))
