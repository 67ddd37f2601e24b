# SPDX-License-Identifier: Apache-2.0
"""The commands as ``--help`` and the page of options show them."""

from __future__ import annotations

from typing import Any

import typer
import typer.main


def commands(app: typer.Typer) -> Any:
    """The command line of ``app``: options that take no value name no type, and lists of commands
    have each one's whole first sentence."""
    command = typer.main.get_command(app)
    _told(command, typer.Context(command, info_name="hoplab"))
    return command


def _told(command: Any, context: Any) -> None:
    for option in command.get_params(context):
        if getattr(option, "is_flag", False) and not option.secondary_opts:
            option.metavar = ""
    if command.help and not command.short_help:
        command.short_help = command.help.split("\n\n")[0].replace("\n", " ")
    for below in getattr(command, "commands", {}).values():
        _told(below, context)
