# SPDX-License-Identifier: Apache-2.0
"""The commands in the form of ``--help`` and of the page of options."""

from __future__ import annotations

from typing import Any

from hoplab.front.commands.listed import Listed


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


def exemplified(command: Any, entry: Listed) -> None:
    """End the help of a command, and of its subcommands, with an example."""
    command.epilog = "\n\n".join(filter(None, (f"Example: {entry.example}", command.epilog)))
    for name, example in entry.below:
        command.commands[name].epilog = f"Example: {example}"


def suggest(mistake: Any) -> None:
    """Let a command line's mistake name `--set`, if its option is a key of the scenario."""
    option = getattr(mistake, "option_name", None)
    command = getattr(getattr(mistake, "ctx", None), "command", None)
    if option is None or command is None or mistake.possibilities:
        return
    word = option.lstrip("-").replace("-", "_")
    setting = (one for one in command.params if "--set" in one.opts)
    offered = (item.value for one in setting for item in one.shell_complete(mistake.ctx, word))
    keys: dict[str, str] = {}
    for key in offered:
        name = key.partition("=")[0].partition(".")[0]
        if f"{name}_".startswith(f"{word}_"):
            keys.setdefault(name, key.partition("=")[0])  # of a table its first key
    mistake.possibilities = [f"--set {key}=VALUE" for key in keys.values()]
