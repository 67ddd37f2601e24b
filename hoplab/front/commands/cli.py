# SPDX-License-Identifier: Apache-2.0
"""The commands, each in a module that is imported when it is called. Arrow, Plotly and Dask take
longer to import than most commands take to run."""

from __future__ import annotations

import gc
import importlib
import io
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from hoplab import __version__
from hoplab.front.commands import helping, listed
from hoplab.guest.system import signals
from hoplab.host import memory, terminal
from hoplab.host.machine import ahead
from hoplab.host.terminal import messages
from hoplab.model.errors import HoplabError


class _Loaded(Mapping[str, Any]):
    """The commands by name. Reading one imports its module."""

    def __init__(self) -> None:
        self._listed = {name: (group, entry) for group, name, entry in listed.all_listed()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, name: str) -> Any:
        name = listed.FORMER.get(name, name)
        group, entry = self._listed[name]
        with memory.uncollected():
            module = importlib.import_module(f"hoplab.front.commands.{entry.module}")
        found = typer.main.get_group(module.app)
        command: Any = found if entry.below else found.commands[name]
        command.name = name
        command.rich_help_panel = group
        helping.exemplified(command, entry)
        helping.told(command, typer.Context(command, info_name=name))
        return command


class Commands(TyperGroup):
    """The commands by their groups, in the list's order. ``loaded`` is called when the one that was
    named has been imported."""

    loaded: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands = _Loaded()  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in listed.OF_GUESTS and "--help" not in args:
            ctx.call_on_close(ahead.close)
            ahead.ask()
        resolved = super().resolve_command(ctx, args)
        self.loaded()
        return resolved

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="A lab for TCP over multi-hop wireless networks, in virtual time.",
    pretty_exceptions_enable=False,
)


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"hoplab {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """What every command has."""


def command() -> Any:
    """The command line, as click has it."""
    whole = typer.main.get_command(app)
    helping.options(whole, typer.Context(whole, info_name="hoplab"))
    return whole


def main() -> None:
    """Entry point. Turns every known failure into one line and its exit status."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    signals.raise_on_signals()
    sys.stdout = terminal.told(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files can have any bytes
            stream.reconfigure(errors="surrogateescape")
    try:
        whole = command()
        whole.loaded = gc.freeze  # what has been imported stays, and no collection looks at it
        status = whole(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status or 0)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # the reader of the output has gone
            sys.exit(128 + signal.SIGPIPE)
        raise
    except HoplabError as error:
        if debug:
            raise
        messages.print(f"hoplab: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_status)
    except signals.Stopped as stopped:
        signals.say(stopped)
        sys.exit(stopped.exit_status)
    except BrokenPipeError:
        sys.exit(128 + signal.SIGPIPE)
    except MemoryError:  # the caller tells of it
        raise
    except Exception as error:
        if stopped_by := signals.came():
            signals.say(stopped_by)
            sys.exit(stopped_by.exit_status)
        if debug:
            raise
        show = getattr(error, "show", None)
        if show is not None:  # a mistake on the command line
            helping.suggest(error)
            show()
            sys.exit(2)
        if (few := memory.limit()) is not None:  # libraries take a failure for many things
            raise MemoryError(few) from error
        text = f"hoplab: {type(error).__name__}: {error}; this is a bug, --debug shows where"
        messages.print(text, markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
