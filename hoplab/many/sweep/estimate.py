# SPDX-License-Identifier: Apache-2.0
"""A forecast of a sweep: number of runs, runs in the store, expected time for the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from hoplab.host.machine.kernels import Machines
from hoplab.host.machine.sealed import Machine
from hoplab.many.store.entry import Entry
from hoplab.many.store.files import Store
from hoplab.many.store.key import key_of, text_of
from hoplab.many.sweep.points import Point, Sweep

MOST_LOOKED_AT = 20_000
"""Runs of a larger sweep, evenly spread, that stand for all."""
MOST_OTHERS = 200
GUESS_S, GUESS_PER_S = 0.8, 25.0
"""Guess for a run without any similar one: seconds for start and end, then virtual seconds a
second."""


@dataclass(frozen=True)
class Estimate:
    """``there`` of ``runs`` are in the store, and ``failed`` of these failed. Each other run should
    take ``run_s`` of a core; ``basis`` says why. Exact unless ``sampled``."""

    runs: int
    there: int
    failed: int
    run_s: float
    basis: str
    sampled: bool

    def left_s(self, workers: int) -> float:
        """Return the wall time of the missing runs."""
        return (self.runs - self.there) * self.run_s / workers


def estimate(sweep: Sweep, store: Store, machine: Machine, tables: tuple[str, ...]) -> Estimate:
    """Look up every run. Raises `ScenarioError` for the first contradictory one."""
    runs = sweep.count()
    step = max(1, -(-runs // MOST_LOOKED_AT))
    looked_at = there = failed = 0
    times: list[float] = []
    missing_s: list[float] = []
    machines = Machines(machine)
    for point in itertools.islice(_points(sweep), 0, None, step):
        looked_at += 1
        scenario = point.scenario()
        found = store.get(key_of(text_of(scenario), machines.of(point.machine).id))
        if found is not None and (found.error is not None or found.has(tables)):
            there += 1
            failed += found.error is not None
            if found.head.get("wall_s") and found.error is None:
                times.append(_cost_s(found))
        else:
            missing_s.append(scenario.duration_s + scenario.warm_up_s)
    scale = runs / max(1, looked_at)
    if times:
        run_s, basis = fmean(times), f"as {len(times)} of its runs did"
    else:
        virtual_s = fmean(missing_s) if missing_s else 0.0
        run_s, basis = _by_others(store, virtual_s)
    return Estimate(
        runs, round(there * scale), round(failed * scale), run_s, basis, sampled=step > 1
    )


def _points(sweep: Sweep) -> Iterator[Point]:
    return sweep.points()


def _cost_s(entry: Entry) -> float:
    """Return the processor time, which a core needs when nothing else runs on it."""
    return float(entry.head.get("cpu_s") or entry.head["wall_s"])


def _by_others(store: Store, virtual_s: float) -> tuple[float, str]:
    """Estimate from any runs in the store."""
    costs = []
    for key in itertools.islice(store, MOST_OTHERS):
        found = store.get(key)
        if found is not None and found.error is None and found.head.get("virtual_s"):
            costs.append((_cost_s(found) - GUESS_S, float(found.head["virtual_s"])))
    rate = sum(max(0.0, cost) for cost, _ in costs)
    if not costs or not rate:
        return GUESS_S + virtual_s / GUESS_PER_S, "a guess: no run of this sweep is there yet"
    return (
        GUESS_S + virtual_s * rate / sum(virtual for _, virtual in costs),
        f"a guess from {len(costs)} runs of other sweeps",
    )
