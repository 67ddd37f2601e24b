# SPDX-License-Identifier: Apache-2.0
"""Checks of measured links: they have known radios, each link is named once, and no key contradicts
them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.faults import Event
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.keys.snr import MAX_POINTS, Snr


def check_snr(
    links: Sequence[Snr], radios: Collection[str], radio: ResolvedRadio, events: Sequence[Event]
) -> None:
    """Raise `ScenarioError` for the first contradiction."""
    if not links:
        return
    seen = set()
    for i, link in enumerate(links):
        for key, name in (("src", link.src), ("dst", link.dst)):
            if name not in radios:
                shown = ", ".join(radios)
                raise ScenarioError(
                    f"snr.{i}.{key}: no station with a radio is called {name!r}; there are: {shown}"
                )
        if link.src == link.dst:
            raise ScenarioError(f"snr.{i}: {link.src} is both ends; name two stations")
        if (link.src, link.dst) in seen:
            raise ScenarioError(f"snr.{i}: {link.src} to {link.dst} is given twice; remove one")
        seen.add((link.src, link.dst))
    points = sum(len(link.points) for link in links)
    if points > MAX_POINTS:
        raise ScenarioError(f"snr: {points} points in all; at most {MAX_POINTS}")
    if radio.shadowing_db:
        raise ScenarioError(
            "radio.shadowing_db: acts on nothing where links are measured; remove it"
        )
    for i, event in enumerate(events):
        if event.kind == "move":
            raise ScenarioError(
                f"event.{i}: a move acts on nothing where links are measured; remove it, or give "
                "the link's ratios at more times"
            )
