# SPDX-License-Identifier: Apache-2.0
"""How long the set-up of a scenario takes, by the number of its parts."""

from __future__ import annotations

from hoplab.model.keys.resolved import Resolved

RADIO_S, WIRED_S = 0.02, 0.007
"""Processor seconds for a station with a radio, and for one without."""
LINK_S = 0.027
ROUTE_S = 12e-6
"""For each of a static network's routes, from every station to every other one."""
WORTH_SAYING_S = 10.0


def set_up_s(scenario: Resolved) -> float:
    """Return the processor seconds of a guest's set-up, within a factor of two."""
    radios = sum(station.radio for station in scenario.station)
    stations = len(scenario.station)
    routes = stations * (stations - 1) if scenario.routing.protocol == "static" else 0
    return (
        radios * RADIO_S
        + (stations - radios) * WIRED_S
        + len(scenario.link) * LINK_S
        + routes * ROUTE_S
    )


def told(scenario: Resolved) -> str | None:
    """Return a line about a set-up that takes long; None if it takes a moment."""
    takes_s = set_up_s(scenario)
    if takes_s < WORTH_SAYING_S:
        return None
    parts = [f"{len(scenario.station)} stations"]
    if scenario.link:
        parts.append(f"{len(scenario.link)} links")
    return (
        f"setting up {' and '.join(parts)} takes some {_rounded(takes_s)} s of processor time, "
        "before the first virtual second"
    )


def _rounded(seconds: float) -> int:
    """Return seconds to one digit or two, as an estimate has them."""
    step = 10 if seconds < 100 else 50
    return max(step, round(seconds / step) * step)
