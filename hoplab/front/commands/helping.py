# SPDX-License-Identifier: Apache-2.0
"""The commands in the form of ``--help`` and of the page of options."""

from __future__ import annotations

from typing import Any


def options(command: Any, context: Any) -> None:
    """Show no type for options that take no value."""
    for option in command.get_params(context):
        if getattr(option, "is_flag", False) and not option.secondary_opts:
            option.metavar = ""


def told(command: Any, context: Any) -> None:
    """Do the same for a command and its subcommands, and show each one's whole first sentence in
    lists."""
    options(command, context)
    if command.help and not command.short_help:
        command.short_help = command.help.split("\n\n")[0].replace("\n", " ")
    for below in getattr(command, "commands", {}).values():
        told(below, context)
