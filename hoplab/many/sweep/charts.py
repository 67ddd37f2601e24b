# SPDX-License-Identifier: Apache-2.0
"""Charts of a sweep's dataset: means with their 95 % intervals over a parameter, as lines or bars,
or the runs' values as distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hoplab.host.results import parquet
from hoplab.host.runs.push import DATASET, FIRST_AFTER_PARAMETERS
from hoplab.host.statistics.samples import Sample
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.show.paper.chart import Chart, Series, distribution
from hoplab.show.paper.form import Kind
from hoplab.show.paper.of_runs import COLUMN, labelled
from hoplab.show.report.multiples import is_number, roles, said

FLOW = "flow"
MOST_CHARTS = 12
SHARE = "share of runs"

Row = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """What a user chose of a sweep: columns to draw, and the dimensions along x and for lines.
    ``only`` has the values (as text) that rows must have. Without a choice the page's rules
    hold."""

    y: Sequence[str] = ()
    x: str | None = None
    lines: str | None = None
    only: Sequence[tuple[str, str]] = ()


@dataclass
class _Data:
    """Rows of a dataset that count, with the dimensions that differ among them."""

    rows: list[Row]
    units: dict[str, str]
    """By column of numbers."""
    names: list[str]
    values: list[list[Any]] = field(default_factory=list)


def is_sweep(folder: Path) -> bool:
    """Return whether this is the results folder of a sweep."""
    return (folder / DATASET).exists()


def charts(folder: Path, kind: Kind | None, choice: Choice) -> list[Chart]:
    """Return the charts of the sweep in ``folder``. Without a ``kind`` numbers along x make lines
    and words bars. Raises `ResultsError`, and `ScenarioError` for a choice that cannot be."""
    data = _read(folder, choice)
    for name in choice.y:
        if name not in data.units:
            known = ", ".join(sorted(data.units))
            raise ScenarioError(
                f"--y: {name!r} is no column of numbers of {folder}; one of: {known}"
            )
    x, line, panels = _dimensions(data, choice)
    if kind == "cdf":
        line, x = (x, None) if line is None else (line, x)
        panels = panels if x is None else [x, *panels]
    drawn = kind or ("lines" if x is None or all(map(is_number, data.values[x])) else "bars")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in data.rows:
        groups.setdefault(tuple(row[data.names[i]] for i in panels), []).append(row)
    wanted = choice.y or (COLUMN,)
    if len(groups) * len(wanted) > MOST_CHARTS:
        raise ScenarioError(
            f"{folder}: makes {len(groups) * len(wanted)} panels, at most {MOST_CHARTS} are drawn; "
            f"choose among {', '.join(data.names[i] for i in panels)} with --only KEY=VALUE"
        )
    return [
        _chart(rows, column, drawn, data, x, line, _title([data.names[i] for i in panels], at))
        for column in wanted
        for at, rows in groups.items()
    ]


def _read(folder: Path, choice: Choice) -> _Data:
    path = folder / DATASET
    try:
        table = parquet.read(path)
    except (OSError, pa.ArrowException) as error:
        raise ResultsError(
            f"{path}: cannot be read: {str(error).splitlines()[0]}; run the sweep again"
        ) from None
    columns = table.column_names
    if FIRST_AFTER_PARAMETERS not in columns or FLOW not in columns or "error" not in columns:
        raise ResultsError(f"{path}: is no dataset of 'hoplab sweep'")
    names = columns[: columns.index(FIRST_AFTER_PARAMETERS)]
    names += [] if FLOW in names else [FLOW]
    units = {
        column.name: (column.metadata or {}).get(b"unit", b"").decode()
        for column in table.schema
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    }
    rows = [row for row in table.to_pylist() if row["error"] is None and row[FLOW] is not None]
    for key, text in choice.only:
        if key not in names:
            raise ScenarioError(f"--only: {key!r} does not vary; one of: {', '.join(names)}")
        found = [row for row in rows if said(row[key]) == text]
        if not found:
            there = ", ".join(dict.fromkeys(said(row[key]) for row in rows))
            raise ScenarioError(f"--only: no run has {key}={text}; there are: {there}")
        rows = found
    if not rows:
        raise ResultsError(f"{path}: has no run with a flow that ended well; nothing to draw")
    data = _Data(rows, units, names)
    data.values = [list(dict.fromkeys(row[name] for row in rows)) for name in names]
    return data


def _dimensions(data: _Data, choice: Choice) -> tuple[int | None, int | None, list[int]]:
    """Return the dimension along x, the one for lines, and those for panels."""
    usual = roles(data.values, data.names.index(FLOW))
    for option, name in (("--x", choice.x), ("--lines", choice.lines)):
        if name is not None and name not in data.names:
            raise ScenarioError(
                f"{option}: {name!r} does not vary; one of: {', '.join(data.names)}"
            )
    x = usual.x if choice.x is None else data.names.index(choice.x)
    line = None if choice.lines is None else data.names.index(choice.lines)
    if line is not None and line == x:
        if choice.x is not None:
            raise ScenarioError(f"--lines: is {choice.lines} as --x is; name another")
        x = next((i for i in (usual.line, *usual.panels) if i is not None), None)
    if choice.lines is None:
        line = next(
            (i for i in (usual.line, usual.x, *usual.panels) if i is not None and i != x), None
        )
    varying = [i for i, found in enumerate(data.values) if len(found) > 1]
    return x, line, [i for i in varying if i not in (x, line)]


def _chart(
    rows: list[Row],
    column: str,
    kind: Kind,
    data: _Data,
    x: int | None,
    line: int | None,
    title: str,
) -> Chart:
    label = labelled(column, data.units[column]) if column in data.units else column
    name = None if line is None else data.names[line]
    across = None if x is None or kind == "cdf" else data.names[x]
    chart = Chart(label, SHARE, kind, title)
    if kind != "cdf":
        chart = Chart(across or "", label, kind, title)
    by_line: dict[Any, list[Row]] = {}
    for row in rows:
        by_line.setdefault(None if name is None else row[name], []).append(row)
    for value, found in by_line.items():
        shown = "" if name is None else f"{name} {said(value)}" if is_number(value) else said(value)
        if kind == "cdf":
            chart.series.append(Series(shown, *distribution([row[column] for row in found])))
            continue
        values: dict[Any, list[float]] = {}
        for row in found:
            if row[column] is not None:
                at = "" if across is None else row[across]
                values.setdefault(at, []).append(float(row[column]))
        samples = {at: Sample.of(drawn) for at, drawn in values.items()}
        numbers = kind == "lines" and all(map(is_number, samples))
        places = sorted(samples) if numbers else list(samples)
        chart.series.append(
            Series(
                shown,
                places if numbers else [said(place) if place != "" else "" for place in places],
                [samples[place].mean for place in places],
                [samples[place].half_width for place in places],
            )
        )
    return chart


def _title(names: list[str], at: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {said(value)}" for name, value in zip(names, at, strict=True))
