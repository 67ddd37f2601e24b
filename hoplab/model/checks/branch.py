# SPDX-License-Identifier: Apache-2.0
"""What a future may change of its past (`hoplab.model.keys.branch`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.faults import Event
from hoplab.model.keys.resolved import Resolved, ResolvedFlow
from hoplab.model.keys.stations import Station

CHANGEABLE = (
    "seed, event (from then on), flow.N.window, a further [[flow]], station.N.x_m and y_m, "
    "radio.tx_power_dbm"
)
OF_FLOW = frozenset({"window"})
OF_STATION = frozenset({"x_m", "y_m"})
OF_RADIO = frozenset({"tx_power_dbm"})


def check_branch(past: Resolved, future: Resolved, at_s: float) -> None:
    """Raise `ScenarioError` for the first thing that ``future`` cannot change at ``at_s``."""
    if at_s >= past.duration_s:
        raise ScenarioError(
            f"branch.at_s: {at_s:g}; expected less than duration_s, {past.duration_s:g}"
        )
    for what in _unchangeable(past, future, at_s):
        raise ScenarioError(f"branch: {what} cannot change at {at_s:g} s; what can: {CHANGEABLE}")


def _unchangeable(past: Resolved, future: Resolved, at_s: float) -> Iterator[str]:
    apart = {"title", "seed", "branch", "event", "flow", "station", "radio"}
    for name in sorted(type(past).model_fields.keys() - apart):
        if getattr(past, name) != getattr(future, name):
            yield name
    if _before(past.event, at_s) != _before(future.event, at_s):
        yield f"an event before {at_s:g} s"
    for key in _differing(past.radio, future.radio, OF_RADIO):
        yield f"radio.{key}"
    stations = zip_longest(past.station, future.station)
    for i, (station, other) in enumerate(stations):
        yield from _of_station(i, station, other)
    for i, flow in enumerate(future.flow):
        yield from _of_flow(i, past.flow[i] if i < len(past.flow) else None, flow, at_s)
    if len(future.flow) < len(past.flow):
        yield f"flow {past.flow[len(future.flow)].name}"


def _of_station(i: int, station: Station | None, other: Station | None) -> Iterator[str]:
    if station is None or other is None:
        yield f"station {i}"
        return
    for key in _differing(station, other, OF_STATION):
        yield f"station.{i}.{key}"
    if station.waypoints and (station.x_m, station.y_m) != (other.x_m, other.y_m):
        yield f"the place of station {station.name}, which moves by itself,"


def _of_flow(i: int, flow: ResolvedFlow | None, other: ResolvedFlow, at_s: float) -> Iterator[str]:
    if flow is None:
        if other.start_s <= at_s:
            yield f"flow {other.name}: start_s of a further flow must be later, so what was before"
        return
    for key in _differing(flow, other, OF_FLOW):
        yield f"flow.{i}.{key}"
    if flow.window != other.window and other.window is None:
        yield f"flow.{i}.window: to none"


def _differing(one: object, other: object, apart: frozenset[str]) -> list[str]:
    mine, others = vars(one), vars(other)
    return sorted(
        name for name in (mine.keys() | others.keys()) - apart if mine.get(name) != others.get(name)
    )


def _before(events: tuple[Event, ...], at_s: float) -> list[Event]:
    return [event for event in events if event.at_s <= at_s]
