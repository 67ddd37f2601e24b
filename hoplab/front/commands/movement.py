# SPDX-License-Identifier: Apache-2.0
"""``hoplab movement``: what a file of movement has, and the same in another format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from hoplab.host.terminal import output
from hoplab.model import movement as files
from hoplab.model.errors import ScenarioError

app = typer.Typer()


@app.command()
def movement(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A movement file, or .gz of one.")],
    out: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help=f"The file to write: {', '.join(files.WRITTEN)}."),
    ] = None,
    begin: Annotated[
        float, typer.Option(metavar="S", min=0, help="From this time, which becomes 0.")
    ] = 0.0,
    end: Annotated[float | None, typer.Option(metavar="S", help="Until then.")] = None,
    stations: Annotated[
        int | None, typer.Option(min=1, help="The first so many of those that are there.")
    ] = None,
    step: Annotated[
        float, typer.Option(metavar="S", help="Between the time steps of SUMO's file.")
    ] = files.sumo.STEP_S,
) -> None:
    """Tell what is in a movement file, and write it in another format (docs/traces.md)."""
    found = files.read(file)
    if end is not None and not end > begin:
        raise ScenarioError(f"--end: {end:g} is not after --begin, {begin:g}")
    last = max(trace[-1].t_s for trace in found.traces.values())
    traces = files.within(found, begin, max(last, begin) if end is None else end)
    if not traces:
        raise ScenarioError(f"{file}: no station is there in that time; its last is at {last:g} s")
    traces = dict(list(traces.items())[:stations])
    if out is None:
        output.print(_stations(found, traces))
    else:
        # A format without names numbers its stations from 0.
        files.save({f"n{i}": trace for i, trace in enumerate(traces.values())}, out, step)
    output.print(_extent(file, found, traces), markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        output.print(f"{out}: written", markup=False, highlight=False, soft_wrap=True)


def _stations(found: files.Movement, traces: Mapping[str, files.Trace]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("station", "in the file", "from s", "to s", "waypoints", "m", "top m/s"):
        table.add_column(name, justify="left" if name in ("station", "in the file") else "right")
    called = dict(zip(found.traces, found.called, strict=False))
    for name, trace in traces.items():
        table.add_row(
            name,
            Text(called.get(name, "")),
            f"{trace[0].t_s:g}",
            f"{trace[-1].t_s:g}",
            str(len(trace)),
            f"{sum(math.dist(a[1:], b[1:]) for a, b in pairwise(trace)):.0f}",
            f"{trace.top_speed_mps():.1f}",
        )
    return table


def _extent(file: Path, found: files.Movement, traces: Mapping[str, files.Trace]) -> str:
    every = [point for trace in traces.values() for point in trace]
    west, east = (edge(point.x_m for point in every) for edge in (min, max))
    south, north = (edge(point.y_m for point in every) for edge in (min, max))
    first, last = (edge(point.t_s for point in every) for edge in (min, max))
    text = (
        f"{file}: {len(traces)} stations, {first:g} to {last:g} s, "
        f"x {west:.0f} to {east:.0f} m, y {south:.0f} to {north:.0f} m"
    )
    if found.about is None:
        return text
    return (
        f"{text}; projected about latitude {found.about.latitude:.5f}, "
        f"longitude {found.about.longitude:.5f}"
    )
