# SPDX-License-Identifier: Apache-2.0
"""``hoplab export`` and ``hoplab show``: tables for other programs, and on the terminal."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyarrow
import pyarrow.csv
import typer

from hoplab.host import results
from hoplab.host.analysis import flent, path_trace
from hoplab.host.results import parquet
from hoplab.host.results.reader import Results
from hoplab.host.runs.push import DATASET
from hoplab.host.terminal import output
from hoplab.many.sweep.conditions import Condition
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.records.schema import TABLES

app = typer.Typer()

USUAL_ROWS = 40
GAP = "  "
DIGITS = 12
"""Digits of a number, as many as a table's values have."""
FORMS = (*path_trace.FORMS, "flent")


@app.command()
def export(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Or a sweep's folder.")],
    csv: Annotated[bool, typer.Option("--csv", help="Tables as CSV files, the default.")] = True,
    form: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="FORM", help="A flow's path: mahimahi, netem or csv; rrul: flent."
        ),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="Which flow's, with --as.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files, RUN/csv by default; with --as, the file."),
    ] = None,
) -> None:
    """Write a finished run's tables, or a sweep's results, as CSV files for other programs.

    With --as, write what the path gave a flow that always had something to send, for emulators. Or
    write a flow of rrul as a data file of flent.
    """

    if form is not None:
        _path(run_folder, form, flow, out)
        return
    if flow is not None:
        raise ScenarioError("--flow: counts only with --as; remove it")
    folder = out or run_folder / "csv"
    if (run_folder / DATASET).exists():
        path = run_folder / DATASET
        _write_csv(_dataset(path), (folder / path.name).with_suffix(".csv"))
    else:
        run = results.load(run_folder)
        for name in TABLES:
            table = run.table(name)
            if table.num_rows:
                _write_csv(table, folder / f"{name}.csv")
    output.print(f"csv: {folder}", soft_wrap=True, markup=False)


def _path(run_folder: Path, form: str, flow: str | None, out: Path | None) -> None:
    """Write a flow's path as a trace, or a test for flent."""
    if form not in FORMS:
        raise ScenarioError(f"--as: {form!r} is no form; one of: {', '.join(FORMS)}")
    run = results.load(run_folder)
    if form == "flent":
        path = out or run_folder / f"rrul.{flent.SUFFIX}"
        content = flent.packed(run, flow)
    else:
        packets = path_trace.of_flow(run, run.resolved, flow)
        path = out or run_folder / f"path.{path_trace.SUFFIXES[form]}"
        content = path_trace.text(packets, form, path.name).encode("ascii")
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}; name --out") from None
    output.print(f"{form}: {path}", soft_wrap=True, markup=False)


def _dataset(path: Path) -> pyarrow.Table:
    try:
        return parquet.read(path)
    except (OSError, pyarrow.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ResultsError(f"{path}: cannot be read: {reason}; run the sweep again") from None


def _write_csv(table: pyarrow.Table, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            pyarrow.csv.write_csv(table, file)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}; name --out") from None
    except pyarrow.ArrowException as error:
        raise ResultsError(f"{path}: CSV has no form for it: {error}") from None


@app.command()
def show(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Or a sweep's folder.")],
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Of docs/tables.md; all by default.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="These columns, in this order.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Only rows as flow == 'flow0' and t_s > 5."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = USUAL_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a row.")] = False,
) -> None:
    """Print a table of a run or a sweep: rows, columns, conditions. Without TABLE, list them."""

    found = _table(run_folder, table)
    if found is None:
        _list(results.load(run_folder))
        return
    chosen = _columns(columns, found.column_names)
    condition = None if where is None else Condition(where, found.column_names, "--where")
    # Further ones are counted, a batch at a time.
    fitting = (
        row
        for batch in found.to_batches()
        for row in batch.to_pylist()
        if condition is None or condition.holds(row)
    )
    shown = list(islice(fitting, rows))
    if as_json:
        for row in shown:
            print(json.dumps({name: row[name] for name in chosen}))
        return
    _print(chosen, [[_text(row[name]) for name in chosen] for row in shown])
    more = sum(1 for _ in fitting)
    if more:
        lines = "row" if more == 1 else "rows"
        told = f"and {more} more {lines}; --rows {len(shown) + more} shows all"
        output.print(told, highlight=False)


def _table(folder: Path, name: str | None) -> pyarrow.Table | None:
    """Return a table of a run, or the results of a sweep; None if none is named."""
    if (folder / DATASET).exists():
        if name not in (None, "results"):
            raise ScenarioError(f"{folder}: is a sweep's; its only table is 'results'")
        return _dataset(folder / DATASET)
    return None if name is None else results.load(folder).table(name)


def _list(run: Results) -> None:
    names = [name for name in TABLES if run.table(name).num_rows]
    _print(["table", "rows"], [[name, str(run.table(name).num_rows)] for name in names])


def _columns(given: str | None, there: list[str]) -> list[str]:
    chosen = there if given is None else [name.strip() for name in given.split(",")]
    for name in chosen:
        if name not in there:
            raise ScenarioError(f"--columns: no column {name!r}; one of: {', '.join(there)}")
    return chosen


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return "" if value is None else str(value)


def _print(names: list[str], rows: list[list[str]]) -> None:
    """Print columns side by side, and on a terminal those that fit."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    fitting = len(names)
    while output.is_terminal and fitting > 1 and _width(widths[:fitting]) > output.width:
        fitting -= 1
    for row in (names, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths[:fitting], strict=False))
        line = GAP.join(cells).rstrip()
        output.print(line, soft_wrap=True, markup=False, highlight=False)
    if fitting < len(names):
        left = ", ".join(names[fitting:])
        output.print(f"left out: {left}; --columns chooses", markup=False, highlight=False)


def _width(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)
