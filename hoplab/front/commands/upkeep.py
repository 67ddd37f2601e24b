# SPDX-License-Identifier: Apache-2.0
"""``hoplab clean`` and ``hoplab doctor``: leftovers of crashed runs, and missing tools."""

from __future__ import annotations

import os

import typer
from rich.table import Table
from rich.text import Text

from hoplab.front import doctor as examination
from hoplab.host.machine import host, private
from hoplab.host.terminal import output
from hoplab.model import errors

app = typer.Typer()


@app.command()
def clean() -> None:
    """Remove what your crashed runs and commands left, and only that; as root, host runs' too."""

    removed = private.clean()
    if os.geteuid() == 0:
        removed += host.clean()
    for thing in removed:
        output.print(f"removed {thing}", soft_wrap=True)
    if not removed:
        output.print("nothing was left behind")


@app.command()
def doctor() -> None:
    """Tell what this machine can run and what is missing."""

    table = Table("", "what", "for", "found")
    results = list(examination.checks())
    for check in results:
        sign = "[green]ok[/]" if check.ok else "[red]missing[/]"
        table.add_row(sign, check.subject, check.purpose, Text(check.found))
    output.print(table)
    if not all(check.ok for check in results if check.needed):
        raise typer.Exit(errors.MissingTool.exit_status)
