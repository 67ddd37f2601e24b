# SPDX-License-Identifier: Apache-2.0
"""A station's path: waypoints with straight lines between them, walked at constant speed."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, overload

from hoplab.model.movement.geo import Degrees, middle, projected


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

    def top_speed_mps(self) -> float:
        """The highest speed between two waypoints, jumps left out."""
        legs = pairwise(self.waypoints)
        moves = ((a, b) for a, b in legs if b.t_s > a.t_s)
        return max((math.dist(a[1:], b[1:]) / (b.t_s - a.t_s) for a, b in moves), default=0.0)

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


@dataclass(frozen=True)
class Movement:
    """What a movement file says."""

    traces: Mapping[str, Trace]
    """By station, n0, n1 and so on, in the file's order."""
    called: tuple[str, ...] = ()
    """The file's name of each station; empty if its format has no names. Named stations come and
    go: they exist from their first waypoint in the file to their last."""
    about: Degrees | None = None
    """The middle of the projection, where the file has latitudes and longitudes."""


def numbered(tracks: Mapping[str, Sequence[Waypoint]], about: Degrees | None = None) -> Movement:
    """Return stations n0, n1, … for a file's stations with other names. Only the ends of a rest are
    kept."""
    traces = {f"n{i}": Trace(_sparse(points)) for i, points in enumerate(tracks.values())}
    return Movement(traces, tuple(tracks), about)


def on_plane(
    tracks: Mapping[str, Sequence[tuple[float, Degrees]]],
) -> tuple[dict[str, list[Waypoint]], Degrees]:
    """Convert times and places on the globe to m, to 1 mm, and return the middle of the projection
    (`geo`) too. Places are east and north of the south-west corner of the box around all of them.

    Raises `ValueError` for places that are too far apart for a plane.
    """
    places = [place for track in tracks.values() for _, place in track]
    about = middle(places)
    plane = list(projected(places, about))
    west, south = (min(point[axis] for point in plane) for axis in (0, 1))
    points = iter(plane)
    found = {}
    for name, track in tracks.items():
        found[name] = [
            Waypoint(t_s, round(x_m - west, 3), round(y_m - south, 3))
            for (t_s, _), (x_m, y_m) in zip(track, points, strict=False)
        ]
    return found, about


def _sparse(points: Sequence[Waypoint]) -> tuple[Waypoint, ...]:
    kept: list[Waypoint] = []
    for point in points:
        if len(kept) > 1 and kept[-2][1:] == kept[-1][1:] == point[1:]:
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
