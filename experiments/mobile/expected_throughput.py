# SPDX-License-Identifier: Apache-2.0
"""What a moving connection would carry if its routes were always the shortest and known at once.

Holland and Vaidya 1999: the sum over i of t_i T_i over the sum of t_i. Here t_i is the time for
which the shortest path has i hops. The throughput of a static chain of i hops is T_i, 0 where there
is no path.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hoplab.model.movement import RandomWaypoint, random_waypoint

STATIONS = 30
WIDTH_M, HEIGHT_M = 1500.0, 300.0
RANGE_M = 250.0
"""The scenario's; `tests/unit/test_mobile_study.py` holds them equal."""
STEP_S = 0.1


def hops(pattern: int, speed_mps: float, duration_s: float) -> list[int]:
    """Hops of the shortest path from n0 to n1 every `STEP_S`, 0 where there is none."""
    times = np.arange(0.0, duration_s, STEP_S)
    slowest, fastest = round(0.9 * speed_mps, 6), round(1.1 * speed_mps, 6)
    walk = RandomWaypoint(WIDTH_M, HEIGHT_M, slowest, fastest)
    traces = random_waypoint([f"n{i}" for i in range(STATIONS)], walk, duration_s, seed=pattern)
    ways = [list(zip(*trace, strict=True)) for trace in traces.values()]
    x = np.stack([np.interp(times, t, at_x) for t, at_x, _ in ways], axis=1)
    y = np.stack([np.interp(times, t, at_y) for t, _, at_y in ways], axis=1)
    apart = (x[:, :, None] - x[:, None, :]) ** 2 + (y[:, :, None] - y[:, None, :]) ** 2
    linked = apart <= RANGE_M**2
    reached = np.zeros((len(times), STATIONS), dtype=bool)
    reached[:, 0] = True
    found = np.zeros(len(times), dtype=int)
    for n in range(1, STATIONS):
        further = reached | (linked & reached[:, None, :]).any(axis=2)
        found[(found == 0) & further[:, 1]] = n
        if (further == reached).all():
            break
        reached = further
    return [int(n) for n in found]


def expected_kbps(way: list[int], chain_kbps: Mapping[int, float]) -> float:
    """Mean over the way's instants; longer paths than the table has get its longest chain's."""
    longest = max(chain_kbps)
    return sum(chain_kbps[min(n, longest)] for n in way if n) / len(way)
