# SPDX-License-Identifier: Apache-2.0
"""``hoplab examples``: the documentation's scenarios, listed and run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from hoplab.front import catalogue
from hoplab.host.terminal import output
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve import file

app = typer.Typer()


def _names(incomplete: str) -> list[tuple[str, str]]:
    found = catalogue.examples().values()
    return [(one.name, one.shows) for one in found if one.name.startswith(incomplete)]


@app.command()
def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Run this one; none: list them.", autocompletion=_names
        ),
    ] = None,
    changed: Annotated[
        bool, typer.Option("--changed", help="Run it with the setting that the list names.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Override its seed.")] = None,
    out: Annotated[Path | None, typer.Option(help="Results folder; must be new.")] = None,
    copy: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Copy its files there; run nothing.")
    ] = None,
) -> None:
    """List the documentation's examples, or run one of them."""
    if name is None:
        if changed or copy or out or seed is not None:
            raise ScenarioError("--changed, --copy, --out and --seed are for one example; name it")
        output.print(_listing())
        return
    example = catalogue.named(name)
    if copy is not None:
        _copied(example, copy)
        return
    # What a run needs takes longer to load than the list, which a shell asks for too.
    from hoplab.front.commands import run

    overrides = list(example.overrides) if changed else None
    run.run_files([example.file], run.Options(overrides=overrides, seed=seed, out=out))
    if not changed:
        line = f"now with {example.words}: hoplab examples {name} --changed"
        output.print(line, markup=False, highlight=False, soft_wrap=True)


def _listing() -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("example", "what it shows", "--changed sets"):
        table.add_column(column)
    for one in catalogue.examples().values():
        table.add_row(one.name, Text(one.shows), Text(", ".join(one.overrides)))
    return table


def _copied(example: catalogue.Example, folder: Path) -> None:
    """Copy a scenario, and the folder of its programs if it has one, without their caches."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / example.file.name
        with copy.open("xb") as written:
            written.write(example.file.read_bytes())
        if (programs := example.file.with_suffix("")).is_dir():
            shutil.copytree(programs, folder / programs.name, dirs_exist_ok=True)
        if "machine" in file.read(copy):
            shutil.copy(example.file.with_name("packages.lock"), folder)
    except OSError as error:
        raise ScenarioError(
            f"{error.filename}: cannot be written: {error.strerror}; name another folder"
        ) from None
    output.print(f"{copy}: written; next: hoplab run {copy}", markup=False, soft_wrap=True)
