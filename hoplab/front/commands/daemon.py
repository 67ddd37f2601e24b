# SPDX-License-Identifier: Apache-2.0
"""``hoplab medium``, ``dsr``, ``aodv``, … ``split``: a daemon, started by hand from a file."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from hoplab.front.pages import keys
from hoplab.guest.system.processes import program
from hoplab.model.errors import ScenarioError
from hoplab.model.keys import documents
from hoplab.model.keys.declare import Table
from hoplab.model.keys.dsr import DsrFile
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.router import RouterFile
from hoplab.model.keys.routers import ROUTERS, settings_of
from hoplab.model.keys.split import SplitFile
from hoplab.model.network import medium_document
from hoplab.model.resolve.file import override, read, told
from hoplab.model.resolve.resolve import resolve_medium

app = typer.Typer()

T = TypeVar("T", bound=Table)
File = Annotated[Path, typer.Argument(metavar="FILE", help="What it is to do, in TOML.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override path.to.key.")
]
Printed = Annotated[
    bool, typer.Option("--print", help="Print the daemon's document and start nothing.")
]


@app.command(
    epilog=keys.explained(
        "MediumFile", "Radio", "Nic", "Energy", "RadioStation", "Loss", "Event", "Records"
    )
)
def medium(file: File, overrides: Overrides = None, printed: Printed = False) -> None:
    """Start the channel's daemon on radios of mac80211_hwsim (docs/medium.md)."""
    given = resolve_medium(_resolved(MediumFile, file, overrides or ()), file.parent)
    document = medium_document.document(given, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    _start("hoplab-medium", document, printed)


@app.command(epilog=keys.explained("DsrFile", "DsrSettings", "SplitConnection"))
def dsr(file: File, overrides: Overrides = None, printed: Printed = False) -> None:
    """Start DSR's daemon on a wireless interface (docs/dsr.md)."""
    _start("hoplab-dsr", _resolved(DsrFile, file, overrides or ()).document(), printed)


def _router(name: str, kind: type[RouterFile]) -> None:
    """Add the command of a protocol whose routes the kernel has."""

    def start(file: File, overrides: Overrides = None, printed: Printed = False) -> None:
        _start(f"hoplab-{name}", _resolved(kind, file, overrides or ()).document(), printed)

    start.__doc__ = f"Start {name.upper()}'s daemon on a wireless interface (docs/{name}.md)."
    explained = keys.explained(kind.__name__, settings_of(name).__name__)
    app.command(name, epilog=explained)(start)


for _name, _kind in ROUTERS.items():
    _router(_name, _kind)


@app.command(epilog=keys.explained("SplitFile", "SplitConnection"))
def split(file: File, overrides: Overrides = None, printed: Printed = False) -> None:
    """Start Split-TCP's daemon at a station whose kernel routes (docs/split-tcp.md)."""
    _start("hoplab-split", _resolved(SplitFile, file, overrides or ()).document(), printed)


def _resolved(model: type[T], file: Path, overrides: Sequence[str]) -> T:
    """Return the contents of ``file`` with ``overrides``. Raises `ScenarioError`, a line for each
    mistake."""
    given = read(file)
    for one in overrides:
        override(given, one)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ScenarioError(told(error, str(file), model)) from None


def _start(name: str, document: dict[str, Any], printed: bool) -> None:
    """Become the daemon, which reads ``document`` from memory, so that no file is left behind."""
    text = documents.text(document)
    if printed:
        print(text, end="")
        return
    descriptor = os.memfd_create(name, 0)
    with os.fdopen(descriptor, "w", encoding="utf-8", closefd=False) as out:
        out.write(text)
    path = program(name)
    os.execv(path, [path, f"/proc/self/fd/{descriptor}"])
