# SPDX-License-Identifier: Apache-2.0
"""The commands as ``--help`` and the page of options show them."""

from __future__ import annotations

from typing import Any


def options(command: Any, context: Any) -> None:
    """Make options that take no value name no type."""
    for option in command.get_params(context):
        if getattr(option, "is_flag", False) and not option.secondary_opts:
            option.metavar = ""


def told(command: Any, context: Any) -> None:
    """The same for a command and those below it, each with its whole first sentence in lists."""
    options(command, context)
    if command.help and not command.short_help:
        command.short_help = command.help.split("\n\n")[0].replace("\n", " ")
    for below in getattr(command, "commands", {}).values():
        told(below, context)
