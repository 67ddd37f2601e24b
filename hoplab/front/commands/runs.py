# SPDX-License-Identifier: Apache-2.0
"""Commands for finished runs: ``hoplab ls``, ``diff``, ``trace``, ``verify`` and ``pack``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hoplab.front.mininet.found import builder
from hoplab.host import results
from hoplab.host.analysis import ns2trace
from hoplab.host.analysis import trace as traces
from hoplab.host.runs import again, artifact, compare, listing
from hoplab.host.terminal import messages, output
from hoplab.model.errors import NotReproduced

app = typer.Typer()

SHORT = 12
"""Digits of a digest that are shown."""
MOST_ROWS = 60
COLOURS = {"complete": "green", "running": "cyan", "failed": "red", "damaged": "red"}
"""Colours of states; other states are yellow."""
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON array on stdout.")]


@app.command("ls")
def show(
    where: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of runs.")] = Path("runs"),
    as_json: Json = False,
) -> None:
    """List the runs in a folder: when, what, how it ended, goodput of all flows, digest."""

    entries = listing.runs(where)
    if as_json:
        print(json.dumps([{**asdict(entry), "run": str(entry.run)} for entry in entries]))
        return
    if not entries:
        output.print(f"{where}: no run; 'hoplab run FILE' makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False)
    # A run's name is there to be copied.
    for name in ("run", "started (UTC)", "state"):
        table.add_column(name, no_wrap=True)
    table.add_column("title", overflow="fold")
    for name in ("seed", "virtual s", "kbit/s"):
        table.add_column(name, justify="right")
    table.add_column("digest")
    for entry in entries:
        table.add_row(
            Text(entry.run.name),
            Text(entry.started.replace("T", " ").removesuffix("Z")),
            Text(entry.state, COLOURS.get(entry.state, "yellow")),
            Text(entry.title),
            _told(entry.seed, "d"),
            _told(entry.virtual_s, "g"),
            _told(entry.goodput_kbps, ",.1f"),
            Text(entry.digest[:SHORT]),
        )
    output.print(table)


def _told(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


@app.command()
def diff(
    first: Run,
    second: Run,
    as_json: Json = False,
    status: Annotated[
        bool, typer.Option("--exit-code", help="Status 7 where the runs' tables differ.")
    ] = False,
) -> None:
    """Say what two runs differ in: scenario, machine, results."""

    one, other = results.load(first), results.load(second)
    found = list(compare.runs(one, other))
    if as_json:
        print(json.dumps([{**asdict(d), "change": d.change} for d in found]))
    elif not found:
        output.print(f"the same scenario, machine and results, digest {one.manifest.digest}")
    else:
        output.print(_differences(first, second, found))
        if one.manifest.digest == other.manifest.digest and not compare.of_tables(found):
            output.print("all tables are the same")
        if len(found) > MOST_ROWS:
            output.print(f"and {len(found) - MOST_ROWS} more; --json prints all")
    if status and (one.manifest.digest != other.manifest.digest or compare.of_tables(found)):
        raise typer.Exit(NotReproduced.exit_status)


@app.command()
def trace(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    flow: Annotated[str | None, typer.Option(help="Its name; every flow by default.")] = None,
    begin: Annotated[float, typer.Option(metavar="S", help="From this scenario time on.")] = 0.0,
    end: Annotated[float | None, typer.Option(metavar="S", help="Until then.")] = None,
    mac: Annotated[bool, typer.Option("--mac", help="Every try of every frame too.")] = False,
    events: Annotated[
        bool,
        typer.Option("--events", help="Not ns-2's format: a TCP flow's segments and stand-by."),
    ] = False,
) -> None:
    """Print a run as ns-2's wireless trace: sent (s), received (r), forwarded (f), dropped (D)."""

    run = results.load(run_folder)
    lines: Iterator[tuple[float, str]]
    if events:
        if not run.resolved.measure.packets:
            messages.print("s and r are there with --set measure.packets=true", markup=False)
        print(traces.HEAD)
        lines = iter([(line.t_s, str(line)) for line in traces.trace(run, flow)])
    else:
        lines = ns2trace.lines(run, flow, mac)
    for t_s, line in lines:
        if end is not None and t_s >= end:
            break
        if t_s >= begin:
            print(line)


@app.command()
def verify(
    run_folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, or what 'hoplab pack' wrote.")
    ],
    trust: Annotated[
        bool, typer.Option("--trust", help="Run a machine of others without asking.")
    ] = False,
) -> None:
    """Check a finished run's tables, run its scenario again and compare the digests."""

    def say(line: str) -> None:
        messages.print(line, markup=False, highlight=False, soft_wrap=True)

    digest = again.verify(run_folder, say, trust, builder)
    output.print(f"{run_folder}: reproduced, digest {digest}", soft_wrap=True, markup=False)


@app.command("pack")
def pack_run(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    file: Annotated[Path, typer.Argument(help="The new file, e.g. run.tar.zst.")],
) -> None:
    """Write a run with its machine to one file, which 'hoplab verify' takes anywhere."""

    machine = artifact.write(run_folder, file)
    size = file.stat().st_size >> 20
    output.print(f"{file}: {size} MiB, with machine {machine.id}", soft_wrap=True, markup=False)


def _differences(first: Path, second: Path, found: list[Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "what", first.name or str(first), second.name or str(second), "change"):
        table.add_column(Text(name), overflow="fold")
    about = ""
    for difference in found[:MOST_ROWS]:
        change = difference.change
        table.add_row(
            "" if difference.about == about else difference.about,
            Text(difference.what),
            Text(_value(difference.first)),
            Text(_value(difference.second)),
            "" if change is None else f"{100 * change:+.1f} %",
        )
        about = difference.about
    return table


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
