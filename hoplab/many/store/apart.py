# SPDX-License-Identifier: Apache-2.0
"""Differences between runs of the same title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hoplab.host.runs import compare

ELSEWHERE = ("seed", "title", "station", "link")
"""Keys with a column of their own, and keys that follow from others."""


def keys(scenarios: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each scenario, the keys and values that differ in another scenario of its
    title."""
    told: list[dict[str, Any]] = [{} for _ in scenarios]
    groups: dict[str, list[int]] = {}
    for place, scenario in enumerate(scenarios):
        groups.setdefault(str(scenario.get("title", "")), []).append(place)
    for places in groups.values():
        first = dict(scenarios[places[0]])
        found = {place: _differences(first, dict(scenarios[place])) for place in places}
        changed = {key: value for of in found.values() for key, (value, _) in of.items()}
        for place in places:
            own = {key: other for key, (_, other) in found[place].items()}
            told[place] = {key: own.get(key, value) for key, value in sorted(changed.items())}
    return told


def _differences(first: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        d.what: (d.first, d.second)
        for d in compare.scenarios("", first, other)
        if d.what.partition(".")[0] not in ELSEWHERE
    }
