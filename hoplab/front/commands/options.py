# SPDX-License-Identifier: Apache-2.0
"""Options of several commands, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hoplab.front.commands import completion
from hoplab.front.mininet.movement import walk
from hoplab.host.results.manifest import Where
from hoplab.host.terminal import messages
from hoplab.model import errors
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve import file, mistakes

SLOWEST, FASTEST = 0.01, 1000.0
"""Slowest and fastest pace of a run."""


ScenarioFile = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario in TOML.")]


Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override path.to.key, e.g. flow.0.window=8.",
        autocompletion=completion.overrides,
    ),
]


Machine = Annotated[str, typer.Option(help="uml (a guest) or host (this kernel, real time).")]


Seed = Annotated[int | None, typer.Option("--seed", help="Override the scenario's seed.")]


def scenario_of(
    path: Path,
    overrides: list[str] | None,
    seed: int | None,
    branch: Mapping[str, Any] | None = None,
) -> Resolved:
    document = file.read(path)
    if branch is not None:
        document["branch"] = branch
    for one in (*(overrides or ()), *(() if seed is None else (f"seed={seed}",))):
        file.override(document, one)
    return mistakes.load(document, str(path), path.parent, walk)


def known_pace(pace: float | None, machine: Where) -> None:
    if pace is None:
        return
    if machine is Where.HOST:
        raise errors.ScenarioError("--pace: a host's run is in real time; leave it out")
    if not SLOWEST <= pace <= FASTEST:
        raise errors.ScenarioError(f"--pace: {pace:g} is not between {SLOWEST:g} and {FASTEST:g}")


def say(line: str) -> None:
    messages.print(line, markup=False, highlight=False, soft_wrap=True)


def tell_stalled(what: str) -> None:
    say(
        f"hoplab: {what}; it goes on. Where nothing comes of it, a program polls without ever "
        "waiting: press Ctrl-C, and try --realtime"
    )
