# SPDX-License-Identifier: Apache-2.0
"""``hoplab branch``: another future of a scenario's run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.run import Options, told_branch
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import override

app = typer.Typer()
SET_AT = "--set-at"


class Pairs(TyperCommand):
    """A command whose option `SET_AT` has two values, a time and an assignment, and may be
    repeated. Typer's options do one or the other, so they become one value here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest, joined = list(args), []
        while rest:
            joined.append(rest.pop(0))
            if joined[-1] == SET_AT and len(rest) > 1 and "=" not in rest[0]:
                joined.append(f"{rest.pop(0)} {rest.pop(0)}")
        return super().parse_args(ctx, joined)


@app.command(cls=Pairs)
@grouped
def branch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A scenario in TOML.")],
    at: Annotated[float, typer.Option(help="When the future begins, in s.")],
    set_at: Annotated[
        list[str] | None,
        typer.Option(metavar="S KEY=VALUE", help="From then on this key counts; may be repeated."),
    ] = None,
    *,
    options: Options,
) -> None:
    """Run a scenario with another future: until --at it is the scenario's run, to the byte.

    Events of a future have times of their own. 'hoplab verify' repeats such a run.
    """

    options.check(1)
    futures: dict[str, Any] = {}
    for given in set_at or ():
        then, _, assignment = given.partition(" ")
        if _seconds(then) != at:
            raise ScenarioError(f"{SET_AT} {then}: expected {at:g}, as --at: a branch has one time")
        name, equals, text = assignment.partition("=")
        if not equals:
            raise ScenarioError(f"{SET_AT} {given}: expected S path.to.key=value")
        value: dict[str, Any] = {}
        override(value, f"value={text}", SET_AT)
        futures[name.strip()] = value["value"]
    told_branch(file, options, {"at_s": at, "set": futures})


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
