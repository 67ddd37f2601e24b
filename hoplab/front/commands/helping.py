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
    if not any("--set" in getattr(one, "opts", ()) for one in command.params):
        return
    # Loading the scenario's model takes longer than most commands take to run.
    from hoplab.model.keys.scenario import Scenario

    word = option.lstrip("-").replace("-", "_")
    keys = (key for key in Scenario.model_fields if f"{key}_".startswith(f"{word}_"))
    mistake.possibilities = [f"--set {key}=VALUE" for key in keys]
