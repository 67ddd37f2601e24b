# SPDX-License-Identifier: Apache-2.0
"""A sweep's file: a base scenario and the axes along which it varies (``docs/sweeps.md``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from hoplab.many.sweep import conditions
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import Integer, Number, Table, Text
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve import file as scenarios

BASE = "scenario.toml"
MOST_VALUES = 100_000
"""Values of an axis."""
MOST_SEEDS = 1_000_000
MOST_AXES = 50
MOST_RUNS = 100_000
"""Runs unless the file says otherwise. More take days on all cores, and are more likely a slip."""
PLAIN = {"congestion_control": "variant"}
"""Names of axes over such keys, whose own names are columns of the results."""
DIGITS = 12
"""Digits of a range's values, so that 0.1 + 0.2 is 0.3."""

THEN = "then:"
"""Begins a key that is to be set from the branch on."""

Scalar = bool | int | float | str
Settings = tuple[tuple[str, Any], ...]
"""Keys of the scenario, with the values to set."""


class SweepTable(Table):
    """A table of a sweep's file; ``from`` is a word of Python's."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


class Case(SweepTable):
    """A value of an axis that stands for several keys, by a name of its own."""

    name: Scalar
    set: dict[str, Any]


class Axis(SweepTable):
    """What varies: one key over a list or a range, several keys together, or named cases."""

    name: Text | None = None
    key: Text | None = None
    keys: tuple[Text, ...] = ()
    values: tuple[Any, ...] = Field((), max_length=MOST_VALUES)
    names: tuple[Scalar, ...] = ()
    first: Annotated[Number | None, Field(alias="from")] = None
    last: Annotated[Number | None, Field(alias="to")] = None
    step: Number | None = None
    count: Annotated[Integer | None, Field(ge=2, le=MOST_VALUES)] = None
    scale: Literal["linear", "log"] = "linear"
    case: tuple[Case, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Axis:
        ranged = self.first is not None or self.last is not None
        kinds = [bool(self.values), ranged, bool(self.case)]
        if sum(kinds) != 1:
            raise ValueError("needs values = [...], or from and to, or [[axis.case]]; one of them")
        if self.case:
            if self.key is not None or self.keys:
                raise ValueError("its cases name their keys; remove key and keys")
        elif (self.key is not None) == bool(self.keys):
            raise ValueError('needs key = "path.to.key", or keys = [...] for values in step')
        if ranged:
            self._check_range()
        if self.keys and any(
            not isinstance(row, list | tuple) or len(row) != len(self.keys) for row in self.values
        ):
            raise ValueError(f"each of its values must be a list of {len(self.keys)}, one a key")
        if self.names and len(self.names) != len(self.values):
            raise ValueError(f"has {len(self.values)} values, but {len(self.names)} names")
        labels = [label for label, _ in self.steps()]
        for label in labels:
            if not isinstance(label, Scalar):
                raise ValueError("values that are tables or lists need names = [...], one each")
        if len(set(map(repr, labels))) < len(labels):
            raise ValueError("has a value twice; remove one")
        return self

    def _check_range(self) -> None:
        if self.first is None or self.last is None or (self.step is None) == (self.count is None):
            raise ValueError("a range needs from, to, and either step or count")
        if self.key is None:
            raise ValueError('a range needs key = "path.to.key"')
        if self.scale == "log" and (self.step is not None or min(self.first, self.last) <= 0):
            raise ValueError('scale = "log" needs count, and from and to above 0')
        if self.step is not None and self.step * (self.last - self.first) <= 0:
            raise ValueError(f"no step of {self.step:g} leads from {self.first:g} to {self.last:g}")
        if self.step is not None and (self.last - self.first) / self.step > MOST_VALUES:
            raise ValueError(f"has more than {MOST_VALUES} values")

    @property
    def parameter(self) -> str:
        """The column of its values in the results."""
        if self.name is not None:
            return self.name
        key = self.key or (self.keys[0] if self.keys else "")
        last = key.rpartition(".")[2]
        return PLAIN.get(last, last)

    def steps(self) -> list[tuple[Any, Settings]]:
        """Return every value: its name, and what it sets."""
        if self.case:
            return [(case.name, tuple(case.set.items())) for case in self.case]
        values: tuple[Any, ...] = self.values or self._range()
        settings: list[Settings]
        if self.keys:
            settings = [tuple(zip(self.keys, row, strict=True)) for row in values]
            plain = [row[0] for row in values]
        else:
            settings = [((str(self.key), value),) for value in values]
            plain = list(values)
        return list(zip(self.names or plain, settings, strict=True))

    def _range(self) -> tuple[float, ...]:
        assert self.first is not None and self.last is not None
        if self.step is not None:
            steps = math.floor((self.last - self.first) / self.step + 1e-9)
            found = [self.first + i * self.step for i in range(steps + 1)]
        else:
            assert self.count is not None
            parts = [i / (self.count - 1) for i in range(self.count)]
            if self.scale == "log":
                ratio = self.last / self.first
                found = [self.first * ratio**part for part in parts]
            else:
                found = [self.first + part * (self.last - self.first) for part in parts]
        rounded = [float(f"{value:.{DIGITS}g}") for value in found]
        # Keys that count things take only whole numbers.
        if all(value.is_integer() for value in rounded):
            return tuple(int(value) for value in rounded)
        return tuple(rounded)


class Grid(SweepTable):
    """Axes of its own beside those that all grids share."""

    axis: tuple[Axis, ...] = Field(min_length=1, max_length=MOST_AXES)
    set: dict[str, Any] = Field({})


class Futures(SweepTable):
    """What counts from a time on: axes of its own, whose runs share what was before."""

    at_s: Annotated[Number, Field(ge=0)]
    axis: tuple[Axis, ...] = Field((), max_length=MOST_AXES)
    set: dict[str, Any] = Field({})

    def axes(self) -> tuple[Axis, ...]:
        """Return the axes, whose keys are those of the branch."""
        return tuple(_then(axis) for axis in self.axis)

    def settings(self) -> Settings:
        """Return what all its runs set."""
        then = ((THEN + key, value) for key, value in self.set.items())
        return (("branch.at_s", float(self.at_s)), *then)


def _then(axis: Axis) -> Axis:
    return axis.model_copy(
        update={
            "name": axis.parameter,
            "key": None if axis.key is None else THEN + axis.key,
            "keys": tuple(THEN + key for key in axis.keys),
            "case": tuple(
                Case(name=case.name, set={THEN + key: value for key, value in case.set.items()})
                for case in axis.case
            ),
        }
    )


class Seeds(SweepTable):
    """Repetitions: so many seeds from ``first`` on."""

    first: Annotated[Integer, Field(alias="from", ge=0)] = 1
    count: Annotated[Integer, Field(ge=1, le=MOST_SEEDS)]


class SweepFile(SweepTable):
    """The whole file."""

    title: Annotated[Text, Field(max_length=200)] = ""
    scenario: Text = BASE
    set: dict[str, Any] = Field({})
    axis: tuple[Axis, ...] = Field((), max_length=MOST_AXES)
    grid: tuple[Grid, ...] = Field((), max_length=MOST_AXES)
    branch: tuple[Futures, ...] = Field((), max_length=MOST_AXES)
    leave_out: tuple[Text, ...] = Field((), max_length=conditions.MOST)
    seeds: (
        Annotated[Integer, Field(ge=1, le=MOST_SEEDS)]
        | Annotated[tuple[Annotated[Integer, Field(ge=0)], ...], Field(min_length=1)]
        | Seeds
        | None
    ) = None
    stop_when: Text | None = None
    most_seeds: Annotated[Integer | None, Field(ge=2, le=MOST_SEEDS)] = None
    most_runs: Annotated[Integer, Field(ge=1, le=10**12)] = MOST_RUNS
    keep: tuple[Text, ...] = ()

    def all_seeds(self) -> tuple[int, ...] | None:
        """Return the seeds of every combination; None for the base scenario's seed."""
        if self.seeds is None or isinstance(self.seeds, tuple):
            return self.seeds
        if isinstance(self.seeds, Seeds):
            return tuple(range(self.seeds.first, self.seeds.first + self.seeds.count))
        return tuple(range(1, self.seeds + 1))


def load(path: Path) -> tuple[SweepFile, dict[str, Any]]:
    """Return a sweep's file, and its base scenario's document with the file's settings for all
    runs.

    Raises `ScenarioError` with one line per mistake.
    """
    document = scenarios.read(path)
    own = sorted(document.keys() & Scenario.model_fields.keys() - SweepFile.model_fields.keys())
    if own and not document.keys() & set(scenarios.SWEEPS_OWN):
        raise ScenarioError(
            f"{path}: is a scenario, not a sweep: it has the key {own[0]!r}; "
            f"use 'hoplab run {path}'"
        )
    try:
        sweep = SweepFile.model_validate(document)
    except ValidationError as error:
        raise ScenarioError(scenarios.told(error, str(path), SweepFile)) from None
    base = scenarios.read(path.parent / sweep.scenario)
    settle(base, sweep.set, f"{path}: set")
    return sweep, base


def settle(document: dict[str, Any], settings: Mapping[str, Any], source: str) -> None:
    """Set keys of a document."""
    for key, value in settings.items():
        scenarios.assign(document, key, value, f"{source}: {key}")
