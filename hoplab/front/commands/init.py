# SPDX-License-Identifier: Apache-2.0
"""``hoplab init`` for a first scenario, and ``hoplab movement`` for files of movement."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.prompt import FloatPrompt, IntPrompt, Prompt
from rich.table import Table
from rich.text import Text

from hoplab.front.commands import start
from hoplab.host.terminal import messages, output
from hoplab.model import movement as files
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import ProfileName
from hoplab.model.keys.scenario import ProtocolName, RoutingName
from hoplab.model.keys.variants import FIXED_WINDOW, OFFERED
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve

app = typer.Typer()

PROTOCOLS = (*get_args(ProtocolName), "own")
VARIANTS = tuple(name for name in OFFERED if name != FIXED_WINDOW)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file.")] = Path(
        "scenario.toml"
    ),
    topology: Annotated[
        start.TopologyName | None,
        typer.Option(metavar="KIND", help=f"The network: {', '.join(start.TOPOLOGIES)}."),
    ] = None,
    stations: Annotated[
        int | None, typer.Option(min=2, max=200, help="Of a chain, or that walk.")
    ] = None,
    profile: Annotated[
        ProfileName | None,
        typer.Option(metavar="NAME", help=f"The radios: {', '.join(get_args(ProfileName))}."),
    ] = None,
    routing: Annotated[
        RoutingName | None,
        typer.Option(metavar="NAME", help=f"Who routes: {', '.join(PROTOCOLS)}."),
    ] = None,
    tcp: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(VARIANTS)}.")
    ] = None,
    duration: Annotated[float | None, typer.Option(metavar="S", help="Measured time.")] = None,
) -> None:
    """Write a commented scenario to start from; at a terminal without options, ask."""
    given: dict[str, Any] = {
        "topology": topology,
        "stations": stations,
        "profile": profile,
        "routing": routing,
        "congestion_control": tcp,
        "duration_s": duration,
    }
    given = {name: value for name, value in given.items() if value is not None}
    chosen = replace(start.Start(), **given)
    if chosen.topology in start.WIRED and routing is None:
        chosen = replace(chosen, routing="static")
    if profile is None:
        chosen = replace(chosen, profile=_profile(chosen.topology))
    if not given and sys.stdin.isatty() and sys.stdout.isatty():
        chosen = _asked()
    text = start.text(chosen)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise ScenarioError(f"{file}: is there already; name a new file") from None
    except OSError as error:
        raise ScenarioError(
            f"{file}: cannot be written: {error.strerror}; name another place"
        ) from None
    try:
        resolve(load(file), file.parent)
    except ScenarioError as error:  # choices that contradict each other
        file.unlink()
        raise ScenarioError(f"{error}; choose otherwise") from None
    output.print(f"{file}: written; next: hoplab run {file}", markup=False, soft_wrap=True)


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


def _asked() -> start.Start:
    """Return the answers at the terminal; Enter takes the default."""
    usual = start.Start()
    for name, meaning in start.TOPOLOGIES.items():
        messages.print(f"  {name:16} {meaning}", markup=False, highlight=False)
    topology = _ask("network", start.TOPOLOGIES, usual.topology)
    stations = usual.stations
    if topology in ("chain", "random-waypoint"):
        offered = usual.stations if topology == "chain" else 30
        stations = IntPrompt.ask("stations", console=messages, default=offered)
    return start.Start(
        topology=topology,
        stations=stations,
        profile=usual.profile
        if topology == "dumbbell"
        else _ask("radios", get_args(ProfileName), _profile(topology)),
        routing="static" if topology in start.WIRED else _ask("routing", PROTOCOLS, usual.routing),
        congestion_control=_ask("TCP", VARIANTS, usual.congestion_control),
        duration_s=FloatPrompt.ask("duration in s", console=messages, default=usual.duration_s),
    )


def _profile(topology: start.TopologyName) -> ProfileName:
    """Return the radios that are usual for a network. A client's own rate needs 802.11n."""
    return "80211n" if topology == "home" else start.Start.profile


def _ask(what: str, values: Iterable[str], usual: str) -> Any:
    """One of ``values``."""
    return Prompt.ask(what, console=messages, choices=list(values), default=usual)
