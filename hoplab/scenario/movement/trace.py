# SPDX-License-Identifier: Apache-2.0
"""A station's path: waypoints with straight lines, walked at constant speed, between them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload


class Waypoint(NamedTuple):
    """Where a station is at a time of the scenario."""

    t_s: float
    x_m: float
    y_m: float


@dataclass(frozen=True)
class Trace(Sequence[Waypoint]):
    """At least one waypoint, in order of time; at rest before the first and after the last.

    Two waypoints at the same time are a jump: the later one holds from then on.
    Raises `ValueError` for no waypoints, times that decrease and values that are not finite.
    """

    waypoints: tuple[Waypoint, ...]

    def __post_init__(self) -> None:
        if not self.waypoints:
            raise ValueError("a trace needs at least one waypoint")
        for point in self.waypoints:
            if not all(math.isfinite(value) for value in point):
                raise ValueError(f"waypoint {tuple(point)}: every value must be finite")
        for earlier, later in zip(self.waypoints, self.waypoints[1:], strict=False):
            if later.t_s < earlier.t_s:
                raise ValueError(
                    f"waypoint at {later.t_s} s follows one at {earlier.t_s} s; "
                    "times must not decrease"
                )

    @classmethod
    def of(cls, points: Iterable[tuple[float, float, float]]) -> Trace:
        """A trace from plain (time in s, x in m, y in m)."""
        return cls(tuple(Waypoint(*map(float, point)) for point in points))

    def at(self, t_s: float) -> tuple[float, float]:
        """Position (x, y) in m at scenario time ``t_s``."""
        after = bisect_right(self.waypoints, t_s, key=lambda point: point.t_s)
        if after == 0:
            return self.waypoints[0][1:]
        start = self.waypoints[after - 1]
        if after == len(self.waypoints):
            return start[1:]
        end = self.waypoints[after]
        share = (t_s - start.t_s) / (end.t_s - start.t_s)
        return (
            start.x_m + share * (end.x_m - start.x_m),
            start.y_m + share * (end.y_m - start.y_m),
        )

    def __len__(self) -> int:
        return len(self.waypoints)

    @overload
    def __getitem__(self, index: int) -> Waypoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Waypoint, ...]: ...
    def __getitem__(self, index: int | slice) -> Waypoint | tuple[Waypoint, ...]:
        return self.waypoints[index]

    def __iter__(self) -> Iterator[Waypoint]:
        return iter(self.waypoints)
