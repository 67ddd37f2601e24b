# SPDX-License-Identifier: Apache-2.0
"""``hoplab check`` and ``hoplab schema``: the keys of a scenario, and the keys that it may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tomli_w
import typer

from hoplab.front.commands.options import Overrides, ScenarioFile, Seed, scenario_of
from hoplab.front.pages.keys import SCHEMA
from hoplab.host.terminal import visible_toml
from hoplab.model.scenario.movement import Trace, save

app = typer.Typer()


@app.command()
def check(
    file: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    movement: Annotated[
        Path | None,
        typer.Option(help="Also write the movement: .ns2, .tcl, .ns_movements, .movements, .xml."),
    ] = None,
) -> None:
    """Validate a scenario and print it resolved, as TOML."""

    scenario = scenario_of(file, overrides, seed)
    if movement is not None:
        places = {s.name: s.waypoints or ((0.0, s.x_m, s.y_m),) for s in scenario.station}
        save({name: Trace.of(points) for name, points in places.items()}, movement)
    text = tomli_w.dumps(json.loads(scenario.model_dump_json(exclude_none=True)))
    print(visible_toml(text), end="")


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check TOML."""

    print(SCHEMA.read_text(encoding="utf-8"), end="")
