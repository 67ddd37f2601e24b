# SPDX-License-Identifier: Apache-2.0
"""``hoplab report`` and ``hoplab finish``: pages and tables made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoplab.host.runs import collect
from hoplab.host.terminal import output
from hoplab.show import report as reports

app = typer.Typer()


@app.command()
def report(run_folder: Annotated[Path, typer.Argument(metavar="RUN")]) -> None:
    """Write the report of a finished run again."""

    output.print(f"report: {reports.render(run_folder)}", soft_wrap=True)


@app.command()
def finish(run_folder: Annotated[Path, typer.Argument(metavar="RUN")]) -> None:
    """Make the tables and the report of a run that was killed or had no space for them."""

    manifest = collect.finish(run_folder)
    page = reports.render(run_folder)
    ended = manifest.verdict.error or "the run had come to its end"
    output.print(f"{run_folder}: tables made; {ended}", soft_wrap=True, markup=False)
    output.print(f"report: {page}", soft_wrap=True, markup=False)
