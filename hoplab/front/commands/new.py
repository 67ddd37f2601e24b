# SPDX-License-Identifier: Apache-2.0
"""``hoplab new``: a first scenario, by questions or by options."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.prompt import FloatPrompt, IntPrompt, Prompt

from hoplab.front.commands import start
from hoplab.host.terminal import messages, output
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
def new(
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
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
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
