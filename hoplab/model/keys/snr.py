# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[snr]]`: measured links, and the file of `radio.snr_trace`."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.columns import Columns, rows
from hoplab.model.keys.declare import Name, Table, Time, key
from hoplab.model.wording import worded

MAX_POINTS = 1_000_000
"""Points of all links."""
MAX_MEASURED_LINKS = 50_000
"""Both ways between all of more than 200 stations."""
COLUMNS: Columns = {"t_s": "number", "src": "station", "dst": "station", "snr_db": "number"}

Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-100, le=150)]


class Snr(Table):
    """Signal to noise ratio of a link's frames at their receiver, as it was measured.

    Where one link has it, positions and propagation decide nothing: a link that no table names
    carries nothing.
    """

    src: Name = key(..., "sender")
    dst: Name = key(..., "receiver")
    points: tuple[tuple[Time, Ratio], ...] = key(
        ...,
        "`[[t_s, snr_db], …]`: linear between two, constant before and after all; two at "
        "one time are a jump",
        min_length=1,
        max_length=MAX_POINTS,
    )

    @field_validator("points")
    @classmethod
    def _in_order(cls, points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        for (before, _), (after, _) in pairwise(points):
            if after < before:
                raise ValueError(f"{after:g} s follows {before:g} s; put them in order of time")
        return points

    def at(self, t_s: float) -> float:
        """The ratio in dB at a time in s, as the medium has it."""
        after = bisect_right(self.points, t_s, key=lambda point: point[0])
        if after in (0, len(self.points)):
            return self.points[max(after - 1, 0)][1]
        (begin_s, from_db), (end_s, to_db) = self.points[after - 1 : after + 1]
        return from_db + (to_db - from_db) * (t_s - begin_s) / (end_s - begin_s)


def load(path: Path) -> tuple[Snr, ...]:
    """Return the links of a trace with the columns `COLUMNS`, in any order of rows.

    Links come in order of their names. Raises `ScenarioError` that names file, row and value.
    """
    links: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for t_s, src, dst, snr_db in rows(
        path, "radio.snr_trace", COLUMNS, MAX_POINTS, "measured links"
    ):
        links.setdefault((str(src), str(dst)), []).append((float(t_s), float(snr_db)))
    found = []
    for (src, dst), points in sorted(links.items()):
        points.sort(key=lambda point: point[0])
        try:
            found.append(Snr.model_validate({"src": src, "dst": dst, "points": tuple(points)}))
        except ValidationError as error:
            why = worded(error)[0]["msg"]
            raise ScenarioError(f"{path}: link {src!r} to {dst!r}: {why}") from None
    return tuple(found)
