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
from hoplab.host.runs import size
from hoplab.host.terminal import output, visible_toml
from hoplab.model.keys.resolved import Resolved
from hoplab.model.movement import Trace, save

app = typer.Typer()


@app.command()
def check(
    file: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    shown: Annotated[
        bool, typer.Option("--print", help="Print it resolved, with every key, as TOML.")
    ] = False,
    movement: Annotated[
        Path | None,
        typer.Option(help="Also write the movement: .ns2, .tcl, .ns_movements, .movements, .xml."),
    ] = None,
) -> None:
    """Check a scenario, and name all of its mistakes."""

    scenario = scenario_of(file, overrides, seed)
    if movement is not None:
        places = {s.name: s.waypoints or ((0.0, s.x_m, s.y_m),) for s in scenario.station}
        save({name: Trace.of(points) for name, points in places.items()}, movement)
    if shown:
        text = tomli_w.dumps(json.loads(scenario.model_dump_json(exclude_none=True)))
        print(visible_toml(text), end="")
    else:
        output.print(f"{file}: {_told(scenario)}", markup=False, highlight=False, soft_wrap=True)


def _told(scenario: Resolved) -> str:
    """Return a line of what is valid."""
    counts = {
        "station": len(scenario.station),
        "flow": len(scenario.flow),
        "program": len(scenario.program),
    }
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    parts.append(f"{scenario.duration_s:g} s")
    takes = size.told(scenario)
    told = [f"valid: {', '.join(parts)}", takes, "--print shows it with all of its keys"]
    return "; ".join(filter(None, told))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check TOML."""

    print(SCHEMA.read_text(encoding="utf-8"), end="")
