# SPDX-License-Identifier: Apache-2.0
"""``hoplab exec``: any command in a fresh guest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.options import tell_stalled
from hoplab.host.machine.guests import Boot, OpenGuest
from hoplab.host.machine.uml import Streams, refuse_input, run_guest
from hoplab.host.machine.watch import Limits

app = typer.Typer()


@app.command("exec", context_settings={"ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...")],
    radios: Annotated[int, typer.Option(min=0, max=100, help="hwsim radios to make.")] = 0,
    realtime: Annotated[bool, typer.Option(help="Real time; needed to type to COMMAND.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the guest's entropy.")] = 1,
    writable: Annotated[
        bool, typer.Option(help="Keep what COMMAND writes below the current folder.")
    ] = False,
) -> None:
    """Run a command as root in a fresh guest; its exit status and output are yours.

    The guest has this computer's files, read-only, unlike that of a run.
    """

    if not realtime:
        refuse_input()
    result = run_guest(
        OpenGuest(cwd=str(Path.cwd()), keeps=writable),
        command,
        Boot(seed=seed, virtual=not realtime, radios=radios),
        Streams(
            stdin=sys.stdin.fileno(),
            # In virtual time a guest does not wait for a person who types.
            terminal=realtime and sys.stdin.isatty() and sys.stdout.isatty(),
        ),
        Limits(tell=None if realtime else tell_stalled),
    )
    raise typer.Exit(result.exit_status)
