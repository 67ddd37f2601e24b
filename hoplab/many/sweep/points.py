# SPDX-License-Identifier: Apache-2.0
"""The runs of a sweep: every combination of its axes under every seed."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hoplab.many.sweep.conditions import Condition
from hoplab.many.sweep.file import THEN, Axis, Settings, SweepFile, load
from hoplab.many.sweep.stopping import Rule
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.records.schema import TABLES
from hoplab.model.resolve.file import assign, parse
from hoplab.model.resolve.resolve import Walk, no_walk, resolve

OWN = frozenset({"seed", "key", "digest", "error", "from_store"})
TAKEN = OWN | TABLES["flows"].names
"""Columns of the results that are no parameters."""
MOST_TOLD = 10
"""Combinations that cannot be run and are named."""
MACHINE = "machine"
"""The key of an axis over kernels by their names. As a table it is the scenario's."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Point:
    """A run to be made.

    ``parameters`` are the values of the axes, by name. ``document`` is a scenario's document with
    the seed in it. Files that it names are looked up in ``folder``. ``machine`` is the name of a
    kernel (``hoplab machine build``); None for the machine of all runs.
    """

    parameters: Mapping[str, Any]
    document: dict[str, Any] = field(repr=False)
    folder: Path = Path()
    walk: Walk = field(default=no_walk, repr=False)
    machine: str | None = None

    @property
    def seed(self) -> int:
        return int(self.document.get("seed", 1))

    @property
    def label(self) -> str:
        """A label for people: its parameters and its seed."""
        parts = [f"{name} {value}" for name, value in self.parameters.items() if value is not None]
        return ", ".join([*parts, f"seed {self.seed}"])

    def scenario(self) -> Resolved:
        """Return the resolved scenario. If it contradicts itself, raises `ScenarioError`, which
        names the point."""
        scenario = parse(self.document, self.label)
        try:
            return resolve(scenario, self.folder, self.walk)
        except ScenarioError as error:
            raise ScenarioError(f"{self.label}: {error}") from None

    def with_seed(self, seed: int) -> Point:
        """The same combination under another seed."""
        return replace(self, document={**self.document, "seed": seed})


@dataclass(frozen=True)
class Combination:
    """Values of all axes, by name, and the keys that they set."""

    parameters: Mapping[str, Any]
    settings: Settings


@dataclass(frozen=True)
class Sweep:
    """The contents of a sweep's file, or a sweep made in a program. ``name`` heads its results."""

    name: str
    file: SweepFile
    base: dict[str, Any] = field(repr=False)
    folder: Path = Path()
    source: str = "sweep"
    short: str = "sweep"
    """A name for files."""
    walk: Walk = field(default=no_walk, repr=False)

    def __post_init__(self) -> None:
        for axis in self._axes():
            if NAME.fullmatch(axis.parameter) is None:
                raise ScenarioError(
                    f"{self.source}: axis: {axis.parameter!r} is no name of a column; give it "
                    'one: name = "hops"'
                )
            if axis.parameter in TAKEN:
                raise ScenarioError(
                    f"{self.source}: axis: {axis.parameter!r} is a column of the results already; "
                    'give it another name: name = "variant"'
                )
        for group in self._groups():
            names = [axis.parameter for axis in group]
            for name in names:
                if names.count(name) > 1:
                    raise ScenarioError(
                        f"{self.source}: axis: two are called {name!r}; give one a name"
                    )
        unknown = [name for name in self.file.keep if name not in TABLES]
        if unknown:
            raise ScenarioError(
                f"{self.source}: keep: {unknown[0]!r} is no table; one of: {', '.join(TABLES)}"
            )
        _ = self.rule, self._conditions
        self._require_few()

    def _require_few(self) -> None:
        """Count the combinations without making them: after a slip there may be more than memory
        can hold."""
        made = sum(math.prod(len(a.steps()) for a in group) for group in self._groups())
        runs = made * len(self.seeds)
        if runs > self.file.most_runs:
            before = " before any is left out" if self.file.leave_out else ""
            raise ScenarioError(
                f"{self.source}: has {runs} runs{before}, {made} combinations under "
                f"{len(self.seeds)} seeds; expected at most {self.file.most_runs}; where they are "
                f"meant, say so: most_runs = {runs}"
            )

    @cached_property
    def rule(self) -> Rule | None:
        """When a combination has enough seeds; None if their number is given."""
        return Rule.of(self.file, self.source)

    @cached_property
    def _conditions(self) -> list[Condition]:
        return [
            Condition(text, self.parameters, f"{self.source}: leave_out")
            for text in self.file.leave_out
        ]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of all axes, in their order."""
        return tuple(dict.fromkeys(axis.parameter for axis in self._axes()))

    def values(self, name: str) -> list[Any]:
        """Return the values of all axes called ``name``, in their order."""
        labels = [
            label for axis in self._axes() if axis.parameter == name for label, _ in axis.steps()
        ]
        return list({repr(label): label for label in labels}.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables to keep beside the totals."""
        return self.file.keep

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of every combination. With a stopping rule, the seeds that it begins with."""
        if self.rule is not None:
            return self.rule.begin
        return self.file.all_seeds() or (int(self.base.get("seed", 1)),)

    def combinations(self) -> Iterator[Combination]:
        """Yield every combination that is not left out. The first axis is the slowest."""
        for group, settings in self._with_settings():
            for steps in itertools.product(*(axis.steps() for axis in group)):
                given = dict(
                    zip((a.parameter for a in group), (label for label, _ in steps), strict=True)
                )
                parameters = {name: given.get(name) for name in self.parameters}
                if any(condition.holds(parameters) for condition in self._conditions):
                    continue
                merged = [*settings, *(pair for _, pairs in steps for pair in pairs)]
                yield Combination(parameters, tuple(merged))

    def point(self, combination: Combination, seed: int) -> Point:
        """Return a combination's run under a seed."""
        document = copy.deepcopy(self.base)
        machine = None
        for key, value in combination.settings:
            # The kernel is a property of the machine, never of the scenario.
            if key == MACHINE and isinstance(value, str):
                machine = value
                continue
            if key.startswith(THEN):
                branch = document.setdefault("branch", {})
                branch.setdefault("set", {})[key.removeprefix(THEN)] = copy.deepcopy(value)
                continue
            assign(document, key, copy.deepcopy(value), f"{self.source}: {key}")
        document["seed"] = seed
        return Point(combination.parameters, document, self.folder, self.walk, machine)

    def points(self) -> Iterator[Point]:
        """Yield every combination under every seed, the seed being the fastest. Points are made on
        demand."""
        for combination in self.combinations():
            seeds = self._seeds_of(combination)
            first = self.point(combination, seeds[0])
            yield first
            for seed in seeds[1:]:
                yield first.with_seed(seed)

    def check(self) -> None:
        """Raise `ScenarioError` with a line for each of the first combinations that contradict
        themselves under one of their seeds."""
        wrong = [mistake for one in self.combinations() if (mistake := self._mistake(one))]
        if not wrong:
            return
        shown = wrong[:MOST_TOLD]
        if len(wrong) > len(shown):
            shown.append(f"and {len(wrong) - len(shown)} more combinations")
        shown.append("nothing was run; leave such combinations out with leave_out, or mend them")
        raise ScenarioError("\n".join(f"{self.source}: {line}" for line in shown))

    def _mistake(self, combination: Combination) -> str | None:
        """Return why a combination cannot be run. Where two seeds give the same network, no seed
        gives another."""
        before: Resolved | None = None
        for seed in self._seeds_of(combination):
            try:
                found = self.point(combination, seed).scenario().model_copy(update={"seed": 0})
            except ScenarioError as error:
                return str(error)
            if found == before:
                return None
            before = found
        return None

    def _seeds_of(self, combination: Combination) -> tuple[int, ...]:
        """An axis may set the seed, together with other keys that follow from it."""
        own = [value for key, value in combination.settings if key == "seed"]
        return (int(own[-1]),) if own and self.file.seeds is None else self.seeds

    def count(self) -> int:
        """Return the number of runs; with a stopping rule, the least number."""
        return sum(1 for _ in self.combinations()) * len(self.seeds)

    def _axes(self) -> Iterator[Axis]:
        yield from self.file.axis
        for grid in self.file.grid:
            yield from grid.axis
        for branch in self.file.branch:
            yield from branch.axes()

    def _groups(self) -> list[tuple[Axis, ...]]:
        return [group for group, _ in self._with_settings()]

    def _with_settings(self) -> list[tuple[tuple[Axis, ...], Settings]]:
        pasts: list[tuple[tuple[Axis, ...], Settings]] = [(self.file.axis, ())]
        if self.file.grid:
            pasts = [
                ((*self.file.axis, *grid.axis), tuple(grid.set.items())) for grid in self.file.grid
            ]
        if not self.file.branch:
            return pasts
        return [
            ((*axes, *branch.axes()), (*settings, *branch.settings()))
            for axes, settings in pasts
            for branch in self.file.branch
        ]


def read(path: Path | str, walk: Walk = no_walk) -> Sweep:
    """Return the sweep of a file, with ``walk`` for `resolve`. Raises `ScenarioError` with one line
    per mistake."""
    where = Path(path)
    file, base = load(where)
    stem = where.stem if where.stem != "sweep" else where.resolve().parent.name
    # Files that the base scenario names are looked up beside it.
    folder = (where.parent / file.scenario).parent
    return Sweep(file.title or stem, file, base, folder, str(where), stem, walk)
