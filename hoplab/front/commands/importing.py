# SPDX-License-Identifier: Apache-2.0
"""``hoplab import``: a scenario from another tool's network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.options import say
from hoplab.front.imports import formats
from hoplab.host.terminal import output
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve import file as scenario_file
from hoplab.model.resolve.resolve import resolve

app = typer.Typer()


@app.command("import")
def take(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Another tool's network.")],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The new scenario; default FILE.toml.")
    ] = None,
    named: Annotated[
        str | None,
        typer.Option("--as", metavar="TOOL", help=f"One of {', '.join(formats.FORMATS)}."),
    ] = None,
    routing: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(formats.PROTOCOLS)}.")
    ] = formats.WIRED,
) -> None:
    """Make a scenario of a network map, a floor plan, or a topology of CORE, Mininet or
    containerlab."""
    network = formats.read(file, named)
    text = formats.text(network, routing, file.name)
    resolve(scenario_file.parse(network.document(routing), str(file)), file.parent)
    place = out or file.with_suffix(".toml")
    try:
        with place.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise ScenarioError(f"{place}: is there already; name a new file") from None
    except OSError as error:
        raise ScenarioError(
            f"{place}: cannot be written: {error.strerror}; name another place"
        ) from None
    for line in formats.left_out(network):
        say(f"hoplab: left out: {line}")
    count = len(network.nodes)
    line = f"{place}: written, {count} stations; next: hoplab run {place}"
    output.print(line, markup=False, highlight=False, soft_wrap=True)
