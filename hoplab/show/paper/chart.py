# SPDX-License-Identifier: Apache-2.0
"""Charts as values: axes with their labels, and series of points. `hoplab.show.paper.drawing` draws
them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hoplab.show.paper.form import Kind


@dataclass(frozen=True)
class Series:
    """Points of one name. ``x`` are numbers, or words for bars. A ``y`` that is None is a gap.
    ``half_widths`` are those of its intervals. Series with one ``group`` share a colour, ``dashed``
    ones of a name an entry in the legend."""

    name: str
    x: Sequence[Any]
    y: Sequence[float | None]
    half_widths: Sequence[float] | None = None
    group: str | None = None
    dashed: bool = False
    joined: bool = True


@dataclass
class Chart:
    """A panel: axes with their labels, and its series."""

    x_label: str
    y_label: str
    kind: Kind = "lines"
    title: str = ""
    series: list[Series] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words on its x axis, in order; none if that has numbers."""
        found = dict.fromkeys(value for one in self.series for value in one.x)
        return [str(value) for value in found] if any(isinstance(v, str) for v in found) else []


def distribution(values: Sequence[float | None]) -> tuple[list[float], list[float]]:
    """Return the steps of the values' empirical distribution: each value with the share of values
    up to it, after the smallest with 0."""
    known = sorted(value for value in values if value is not None and math.isfinite(value))
    if not known:
        return [], []
    return [known[0], *known], [i / len(known) for i in range(len(known) + 1)]
