# SPDX-License-Identifier: Apache-2.0
"""Units in which rates are shown: Mbit/s from 10,000 kbit/s on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LARGE_KBPS = 10_000


@dataclass(frozen=True)
class Unit:
    """A unit by its name, what makes it of kbit/s, and the decimals that it is shown with."""

    name: str
    per_kbps: float
    decimals: int


KBPS, MBPS = Unit("kbit/s", 1.0, 1), Unit("Mbit/s", 1e-3, 3)


def of_rates(values_kbps: Iterable[float | None]) -> Unit:
    """Return the unit for rates that stand together, of which the largest decides."""
    largest = max((value for value in values_kbps if value is not None), default=0.0)
    return MBPS if largest >= LARGE_KBPS else KBPS


def of_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a finished run's figures with each panel's rates in their unit."""
    return {**data, "panels": [_of_panel(panel) for panel in data["panels"]]}


def _of_panel(panel: Mapping[str, Any]) -> dict[str, Any]:
    if panel["unit"] != KBPS.name:
        return dict(panel)
    unit = of_rates(value for line in panel["lines"] for value in line["y"])
    lines = [
        {**line, "y": [None if y is None else round(y * unit.per_kbps, 5) for y in line["y"]]}
        for line in panel["lines"]
    ]
    return {**panel, "unit": unit.name, "lines": lines if unit is MBPS else panel["lines"]}
