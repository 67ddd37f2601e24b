# SPDX-License-Identifier: Apache-2.0
"""``hoplab run``: scenarios, one after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hoplab.front.commands import progress
from hoplab.front.commands.following import page_of, told_so_far
from hoplab.front.commands.options import (
    Machine,
    Overrides,
    Seed,
    known_machine,
    known_pace,
    say,
    scenario_of,
)
from hoplab.front.mininet.found import builder
from hoplab.host import results
from hoplab.host.runs import launch, shown
from hoplab.host.stream.chosen import sinks
from hoplab.host.stream.hub import Stream
from hoplab.host.stream.sink import Sink
from hoplab.host.terminal import messages, output
from hoplab.model import errors
from hoplab.model.errors import HoplabError
from hoplab.model.scenario.model import Scenario
from hoplab.show import report as reports
from hoplab.show.report.summary import summary, summary_table

app = typer.Typer()


@app.command()
def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Scenarios in TOML.")],
    overrides: Overrides = None,
    seed: Seed = None,
    machine: Machine = "uml",
    out: Annotated[Path | None, typer.Option(help="Results folder; must be new.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout, a line for each run.")
    ] = False,
    wall_limit: Annotated[
        float | None, typer.Option(help="Stop a guest that takes longer, in s of wall time.")
    ] = None,
    machine_file: Annotated[
        Path | None, typer.Option(help="Boot this machine: what 'hoplab machine pack' wrote.")
    ] = None,
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send samples there as Influx lines; may be repeated."),
    ] = None,
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write samples to a file or pipe; may be repeated."),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(metavar="X", help="Hold virtual time to X times real time, to watch."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show the run on a page on this host as it goes.")
    ] = False,
    show_command: Annotated[
        bool, typer.Option("--show-command", help="Print what would be started; run nothing.")
    ] = False,
) -> None:
    """Run scenarios, one after the other; each leaves a folder with tables, logs and a report."""

    known_machine(machine)
    known_pace(pace, machine)
    if wall_limit is not None:
        launch.require_time(wall_limit, "--wall-limit")
    for name, value in (("--out", out), ("--live", live)):
        if value and len(files) > 1:
            raise errors.ScenarioError(f"{name}: is for one scenario, not for {len(files)}")
    sinks(influx, stream)
    # Whatever is wrong with the last of them is told before the first begins.
    scenarios = []
    for file in files:
        try:
            scenarios.append((file, scenario_of(file, overrides, seed)))
        except errors.ScenarioError as error:
            if len(files) == 1 or str(error).startswith(str(file)):
                raise
            raise errors.ScenarioError(f"{file}: {error}") from None
    if show_command:
        for _, scenario in scenarios:
            print(shown.command(scenario, machine, machine_file, builder))
        return
    failed: HoplabError | None = None
    for file, scenario in scenarios:
        chosen = sinks(influx, stream)
        try:
            manifest, page, following = _performed(
                scenario, file, out, machine, wall_limit, machine_file, chosen, pace, live
            )
        except HoplabError as error:
            if len(files) == 1:
                raise
            messages.print(
                f"hoplab: {file}: {error}", markup=False, highlight=False, soft_wrap=True
            )
            failed = failed or error
            continue
        for warning in [*manifest["verdict"]["warnings"], *following.warnings()]:
            messages.print(f"hoplab: warning: {warning}", markup=False, soft_wrap=True)
        found = results.load(page.parent)
        if as_json:
            accounts = [asdict(account) for account in following.accounts]
            about = {"folder": str(page.parent), "streams": accounts}
            print(json.dumps({**summary(found), **about}), flush=True)
            continue
        if len(files) > 1:
            output.print(f"{file}:", soft_wrap=True, markup=False, highlight=False)
        output.print(summary_table(found))
        speed = manifest["virtual_s"] / manifest["wall_s"]
        output.print(
            f"{manifest['virtual_s']:g} virtual s in {manifest['wall_s']:.1f} s ({speed:.1f} to 1)"
        )
        for line in following.summary():
            output.print(line, soft_wrap=True, markup=False, highlight=False)
        output.print(f"report: {page}", soft_wrap=True, markup=False)
    if failed is not None:
        raise typer.Exit(failed.exit_status)


def _performed(
    scenario: Scenario,
    file: Path,
    out: Path | None,
    machine: str,
    wall_limit: float | None,
    machine_file: Path | None,
    chosen: Sequence[Sink],
    pace: float | None,
    live: bool,
) -> tuple[dict[str, Any], Path, Stream]:
    """One run to its end: its manifest, its report, and its stream."""

    pages: list[Path] = []
    with ExitStack() as stack:
        page = stack.enter_context(page_of(scenario)) if live else None
        # Who holds a run back wants to look at it.
        tell = None if pace is None else say
        following = Stream([*chosen, page.sink] if page is not None else chosen, tell=tell)

        def on_results(folder: Path) -> None:
            pages.append(reports.render(folder))
            if page is not None:
                page.report = pages[0]

        stack.enter_context(told_so_far(pages))
        bar = progress.shown(messages, scenario.title or file.stem, scenario.duration_s)
        manifest = launch.run(
            scenario,
            file,
            out,
            machine,
            wall_limit,
            on_progress=stack.enter_context(bar),
            on_results=on_results,
            machine_file=machine_file,
            stream=following,
            pace=pace,
            find=builder,
        )
    return manifest, pages[0], following
