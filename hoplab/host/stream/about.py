# SPDX-License-Identifier: Apache-2.0
"""Tables about a run that a stream carries beside the run's own (`schema.toml`)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isinf
from typing import Any

from hoplab.host.stream.sink import NANOSECONDS, Course
from hoplab.model.keys.faults import Event


def run_row(course: Course, state: str, t_s: float) -> dict[str, Any]:
    """Return a row of table `run`."""
    scenario = course.scenario
    return {
        "t_s": t_s,
        "title": scenario.title or course.run,
        "machine": course.machine,
        "state": state,
        "start_s": course.start_ns / NANOSECONDS,
        "duration_s": scenario.duration_s,
        "stations": len(scenario.station),
        "flows": len(scenario.flow),
        "seed": scenario.seed,
    }


def whole_run(course: Course, state: str) -> list[dict[str, Any]]:
    """Return all rows of table `run` of a run that has ended: one a second, and the last."""
    end_s = course.scenario.duration_s
    going = [run_row(course, "running", float(t_s)) for t_s in range(ceil(end_s))]
    return [*going, run_row(course, state, end_s)]


def plan_rows(course: Course) -> list[dict[str, Any]]:
    """Return rows of table `plan`: the scenario's acts on stations and links, with the time at
    which each is due."""
    return [
        {
            "at_s": event.at_s,
            "node": event.node,
            "kind": event.kind,
            "detail": _detail(event),
        }
        for event in course.scenario.event
    ]


def _detail(event: Event) -> str:
    if event.kind == "move":
        return f"x_m={event.x_m:g} y_m={event.y_m:g}"
    if event.kind == "loss":
        return f"dst={event.dst} rate={event.rate:g}"
    return ""


def health_rows(account: Any) -> list[dict[str, Any]]:
    """Return every number in the medium's account of itself: rows of table `health`."""
    return [{"item": item, "value": value} for item, value in numbers(account)]


def numbers(value: Any, prefix: str = "") -> list[tuple[str, float]]:
    """Return every number in an object and the objects in it: ``frames.acked``."""
    found: list[tuple[str, float]] = []
    if isinstance(value, dict):
        for key, inner in sorted(value.items()):
            found += numbers(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, int | float):
        found.append((prefix, float(value)))
    return found


class Seconds:
    """The whole seconds that a run has reached since the last query."""

    def __init__(self, end_s: float) -> None:
        """``end_s`` is infinite for a run without a planned end."""
        self._planned_s = end_s
        self._latest_s = 0.0
        self._next_s = 1

    @property
    def end_s(self) -> float:
        """The run's end: the planned one, or else the latest time so far."""
        return self._latest_s if isinf(self._planned_s) else self._planned_s

    def reached(self, times_s: Iterable[float]) -> range:
        """Return the new seconds up to the latest of these times, before the run's end."""
        self._latest_s = max(self._latest_s, min(max(times_s, default=0.0), self._planned_s))
        after_s = max(self._next_s, min(int(self._latest_s) + 1, ceil(self.end_s)))
        passed = range(self._next_s, after_s)
        self._next_s = after_s
        return passed
