# SPDX-License-Identifier: Apache-2.0
"""The observations of an agent: numbers of a run's samples, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from hoplab.host.stream.sink import Batch
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.records.schema import TABLES

SAMPLED = ("tcp", "exchanges", "nodes", "link_samples", "queues")
PER_SECOND = "/s"
SIGNED = ("x_m", "y_m")
"""Columns with values below 0."""
FORM = "TABLE.SUBJECT.COLUMN, as tcp.flow0.cwnd, nodes.n1.queue_len or link_samples.n0>n1.collided"
AGAIN = re.compile(r"-\d+$")
"""Suffix of a flow's name after a restart."""


@dataclass(frozen=True)
class Field:
    """A column of a table's latest row about one subject. With ``per_second`` it is the growth
    since the last step, over the time between."""

    name: str
    table: str
    subject: tuple[str, ...]
    column: str
    per_second: bool

    @property
    def space(self) -> spaces.Space[Any]:
        low = -np.inf if self.per_second or self.column in SIGNED else 0.0
        return spaces.Box(low, np.inf, (1,), dtype=np.float64)


def field(name: str, scenario: Resolved) -> Field:
    """Return the field of this name. Raises `ScenarioError` if the scenario's runs lack it."""
    whole, per_second = name.removesuffix(PER_SECOND), name.endswith(PER_SECOND)
    table, _, rest = whole.partition(".")
    subject, _, column = rest.rpartition(".")
    if not subject:
        raise ScenarioError(f"observe: {name!r:.60} is no field; expected {FORM}")
    if table not in SAMPLED:
        raise ScenarioError(
            f"observe: {name:.60}: {table} is no table of samples; one of: {', '.join(SAMPLED)}"
        )
    numbers = [c.name for c in TABLES[table].columns if c.type != "string" and c.name != "t_s"]
    if column not in numbers:
        raise ScenarioError(
            f"observe: {name:.60}: {table} has no number {column!r}; one of: {', '.join(numbers)}"
        )
    keys = TABLES[table].keys
    parts = tuple(subject.split(">")) if len(keys) > 1 else (subject,)
    if len(parts) != len(keys):
        raise ScenarioError(f"observe: {name:.60}: {table} is about {'>'.join(keys)}")
    for key, part in zip(keys, parts, strict=True):
        known = _subjects(table, key, scenario)
        if known is not None and part not in known:
            there = ", ".join(known) or "(none)"
            raise ScenarioError(f"observe: {name:.60}: there is no {key} {part!r}; one of: {there}")
    return Field(name, table, parts, column, per_second)


def _subjects(table: str, key: str, scenario: Resolved) -> list[str] | None:
    """Return the names that a run's rows can have; None for any name."""
    if key == "flow":
        wanted = ("tcp", "rr") if table == "tcp" else ("ping", "rr")
        # Names of programs' connections are unknown before the run.
        named = [flow.name for flow in scenario.flow if flow.protocol in wanted]
        return None if scenario.program else named
    if key == "interface":
        return None
    radios_only = table in ("nodes", "link_samples")
    return [s.name for s in scenario.station if s.radio or not radios_only]


class Observer:
    """Follows a run's samples and returns the fields' values."""

    def __init__(
        self, fields: Iterable[Field], flows: Iterable[str], planned: Iterable[str]
    ) -> None:
        """Flows of ``flows`` that are among the ``planned`` ones may restart; their later instances
        count as the same flow."""
        self._fields = tuple(fields)
        self._again = frozenset(flows)
        self._planned = frozenset(planned)
        self._tables = {one.table for one in self._fields}
        self._latest: dict[tuple[str, tuple[str, ...]], Mapping[str, Any]] = {}
        self._before: dict[str, tuple[str, float]] = {}
        """For a growing field, the flow of its last value, and that value."""
        self._before_s = 0.0

    def take(self, batch: Batch) -> None:
        """Take rows from a stream."""
        if batch.table in self._tables:
            keys = TABLES[batch.table].keys
            for row in batch.rows:
                self._latest[batch.table, tuple(self._named(row[key]) for key in keys)] = row

    def observe(self, t_s: float) -> tuple[dict[str, np.ndarray[Any, Any]], list[str]]:
        """Return every field's value at a step, and the names of those without a value, which are
        0."""
        found, missing = {}, []
        for one in self._fields:
            row = self._latest.get((one.table, one.subject), {})
            value = row.get(one.column)
            if value is None:
                missing.append(one.name)
            now = float(value or 0.0)
            if one.per_second:
                whose = str(row.get("flow", ""))
                before_whose, before = self._before.get(one.name, (whose, 0.0))
                # A flow that restarts counts from 0.
                grown = now - (before if before_whose == whose else 0.0)
                self._before[one.name] = whose, now
                now = grown / (t_s - self._before_s) if t_s > self._before_s else 0.0
            found[one.name] = np.array([now], dtype=np.float64)
        self._before_s = t_s
        return found, missing

    def _named(self, name: str) -> str:
        base = AGAIN.sub("", name)
        return base if base in self._again and name not in self._planned else name
