# SPDX-License-Identifier: Apache-2.0
"""``hoplab mcp``: the lab as a server of the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.context.place import Limits, Place
from hoplab.model.errors import MissingTool, ResultsError

app = typer.Typer()
USUAL = Limits()


@app.command("mcp")
def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The one folder of scenarios and results.")
    ] = Path("hoplab-mcp"),
    virtual: Annotated[
        float, typer.Option(metavar="S", min=1, help="Longest run, in virtual time.")
    ] = USUAL.virtual_s,
    wall: Annotated[
        float, typer.Option(metavar="S", min=1, help="Longest call, in wall time.")
    ] = USUAL.wall_s,
    stations: Annotated[int, typer.Option(min=1, help="Most of a scenario.")] = USUAL.stations,
    runs: Annotated[int, typer.Option(min=1, help="Most of a sweep.")] = USUAL.sweep_runs,
    size: Annotated[
        int, typer.Option(metavar="MB", min=1, help="No new run in a folder of this size.")
    ] = USUAL.folder_mb,
) -> None:
    """Serve the lab to an agent, by the Model Context Protocol on standard input and output."""
    try:
        # The server needs an extra package, which the list of commands does without.
        from hoplab.front.context.server import served
    except ModuleNotFoundError as error:
        raise MissingTool(
            f"mcp: needs the package {error.name}; run: pip install 'hoplab[mcp]'"
        ) from None
    limits = Limits(virtual, wall, stations, runs, size)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{folder}: {error.strerror}; name a folder") from None
    served(Place(folder.resolve(), limits))
