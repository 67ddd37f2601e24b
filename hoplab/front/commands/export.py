# SPDX-License-Identifier: Apache-2.0
"""``hoplab export``: results for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyarrow.csv
import typer

from hoplab.host import results
from hoplab.host.terminal import output
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.records.schema import TABLES

app = typer.Typer()


@app.command()
def export(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    csv: Annotated[bool, typer.Option("--csv", help="A CSV file for each table.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; RUN/csv by default.")
    ] = None,
) -> None:
    """Write a finished run's tables for other programs."""

    if not csv:
        raise ScenarioError("export: name a format: --csv")
    run = results.load(run_folder)
    folder = out or run_folder / "csv"
    for name in TABLES:
        table = run.table(name)
        if table.num_rows:
            _write_csv(table, folder / f"{name}.csv")
    output.print(f"csv: {folder}", soft_wrap=True, markup=False)


def _write_csv(table: pyarrow.Table, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            pyarrow.csv.write_csv(table, file)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}; name --out") from None
