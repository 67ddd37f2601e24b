# SPDX-License-Identifier: Apache-2.0
"""``hoplab shell``: the network in real time, at a prompt or on a page."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.following import page_of, told_so_far
from hoplab.front.commands.options import (
    Machine,
    Overrides,
    ScenarioFile,
    Seed,
    scenario_of,
)
from hoplab.front.mininet.found import builder
from hoplab.host.machine import private
from hoplab.host.runs import kinds, launch
from hoplab.host.runs.launch import Observers, RunRequest, perform
from hoplab.host.runs.session import Line, Session
from hoplab.host.stream.hub import Stream
from hoplab.host.terminal import output
from hoplab.model import errors
from hoplab.model.keys import requests
from hoplab.model.keys.resolved import Resolved
from hoplab.show import report as reports

app = typer.Typer()


@app.command()
def shell(
    file: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    machine: Machine = "uml",
    live: Annotated[
        bool,
        typer.Option("--live", help="Take part on a page: drag stations, start and stop flows."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="With --live, the results folder; must be new.")
    ] = None,
) -> None:
    """Bring the network up in real time and open a prompt: n0 ping n3.

    The guest has this computer's files, read-only, unlike that of a run.
    """

    where = kinds.parse(machine, "--machine")
    scenario = scenario_of(file, overrides, seed)
    if live:
        _play(scenario, file, out, kinds.attended(where, scenario, builder))
        return
    if out is not None:
        raise errors.ScenarioError("--out: is for --live; without, a shell leaves nothing")
    with private.temporary("shell") as folder:
        on = kinds.attended(where, scenario, builder)
        raise typer.Exit(launch.shell(scenario, folder, on))


def _play(scenario: Resolved, file: Path, out: Path | None, machine: kinds.Attendable) -> None:
    """Run a session on a page, and at the prompt if there is a terminal."""

    pages: list[Path] = []
    with (
        told_so_far(pages),
        closing(Line()) as line,
        page_of(scenario, lambda asked: line.ask(requests.read(asked).document())) as page,
    ):
        line.on_flows = page.view.tell_flows

        def on_results(folder: Path) -> None:
            pages.append(reports.render(folder))
            page.report = pages[0]

        request = RunRequest(scenario, Session(machine, line), file, out)
        perform(request, Observers(on_results=on_results, stream=Stream([page.sink])))
    output.print(f"report: {pages[0]}", soft_wrap=True, markup=False)
