# SPDX-License-Identifier: Apache-2.0
"""``hoplab mininet``: a script for Mininet-WiFi in a guest."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.grouped import grouped
from hoplab.front.commands.options import say, tell_stalled
from hoplab.front.mininet import found as mininet_wifi
from hoplab.front.mininet import launch, measured, streamed
from hoplab.host import results
from hoplab.host.results.manifest import Manifest
from hoplab.host.stream.chosen import sinks
from hoplab.host.terminal import output
from hoplab.show.report.summary import summary_table

app = typer.Typer()


@dataclass(frozen=True)
class Options:
    """Options of ``hoplab mininet`` beside a script."""

    medium: Annotated[
        str, typer.Option(help="always, or as-written: for scripts that name none, none.")
    ] = "always"
    realtime: Annotated[bool, typer.Option(help="Real time; needed to type at its prompt.")] = False
    out: Annotated[
        Path | None, typer.Option(help="Folder for records and results; must be new.")
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of the guest's entropy.")] = 1
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send recordings' samples there as Influx lines."),
    ] = None
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write recordings' samples to a file or pipe."),
    ] = None


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@grouped
def mininet(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="For Mininet-WiFi or Mininet.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...")] = None,
    *,
    options: Options,
) -> None:
    """Run a script for Mininet-WiFi in a guest, over Hoplab's channel; its status is yours."""

    found = mininet_wifi.find(script)
    request = launch.ScriptRequest(
        script, arguments or (), options.medium, options.realtime, options.seed
    )
    wanted = bool(sinks(options.influx, options.stream))
    folder = options.out or launch.passing()
    kept = options.out is not None
    try:
        with ExitStack() as stack:
            if wanted:
                chosen = partial(sinks, options.influx, options.stream)
                stack.enter_context(streamed.follow(folder, chosen, options.realtime, _tell_stream))
            status = launch.run(found, request, folder, tell_stalled)
        for line in launch.refused(folder):
            say(f"hoplab: warning: {line}")
        account = launch.account(folder)
        if account is None:
            say("hoplab: the script used no medium")
        else:
            for doubt in launch.doubts(account):
                say(f"hoplab: warning: {doubt}")
            frames = account["frames"]["accepted"]
            say(f"hoplab: {frames} frames; digest {launch.digest(folder)}")
        if measured.recordings(folder):
            folder, kept = folder if kept else launch.keep(folder, script), True
            _tell_recordings(launch.complete(folder))
    finally:
        if not kept:
            launch.remove(folder)
    raise typer.Exit(status)


def _tell_stream(line: str) -> None:
    say(f"hoplab: {line}")


def _tell_recordings(manifests: dict[Path, Manifest]) -> None:

    for folder, manifest in manifests.items():
        output.print(summary_table(results.load(folder)))
        for doubt in manifest.verdict.warnings:
            say(f"hoplab: warning: {doubt}")
        say(f"hoplab: {folder / 'report.html'}; digest {manifest.digest}")
