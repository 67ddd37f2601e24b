# SPDX-License-Identifier: Apache-2.0
"""``hoplab study``: repeat a published study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands import study as command
from hoplab.host.terminal import messages, output
from hoplab.many.study import folder
from hoplab.model import errors

app = typer.Typer()


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(help="A study, or a folder of its shape; none: list them.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The short version, compared with committed values.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for tables and pictures.")] = None,
    docs: Annotated[
        bool, typer.Option("--docs", help="Renew the study's page and pictures in docs/.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    expect: Annotated[
        bool, typer.Option("--expect", help="With --quick: write the values to compare with.")
    ] = False,
    draws: Annotated[
        int, typer.Option(min=2, help="With --expect: so many times, each under other seeds.")
    ] = 10,
) -> None:
    """Run a study, or what is missing of it: tables, pictures, a verdict for each claim."""

    if name is None:
        output.print(command.listing())
        return
    if expect and not quick:
        raise errors.ScenarioError("--expect: goes with --quick only")
    if docs and quick:
        raise errors.ScenarioError("--docs: pages show the full version; leave out --quick")
    found = folder.find(name)
    if expect:
        output.print(f"written: {command.expect(found, draws, messages)}", soft_wrap=True)
        return
    outcome = command.perform(found, quick, out, docs, messages)
    if as_json:
        print(json.dumps(outcome.document()))
    else:
        output.print(command.summary(outcome))
        output.print(f"written: {outcome.folder}", soft_wrap=True, markup=False)
    outcome.require()
    if quick and not as_json:
        output.print(command.compared(outcome), soft_wrap=True, markup=False)
