# SPDX-License-Identifier: Apache-2.0
"""``hoplab machine``: the sealed machines on this computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoplab.host.machine import compare, pack, select, store
from hoplab.host.terminal import messages
from hoplab.model.errors import HoplabError

app = typer.Typer(no_args_is_help=True, help="Sealed machines: what runs boot, as one file.")

Name = Annotated[str, typer.Argument(help="First digits of its hash, or its folder.")]
MOST_LINES = 200


@app.command("list")
def show() -> None:
    """List the machines here, the newest first; * is the one that runs take."""

    try:
        own = select.chosen()
    except HoplabError:
        own = None
    found = {machine.id: machine for machine in store.machines(_step_over)}
    if own is not None:
        found.setdefault(own.id, own)
    for machine in found.values():
        sign = "*" if own is not None and machine.id == own.id else " "
        size = sum(int(facts["size"]) for facts in machine.files.values())
        kernel = next((p for p in machine.packages() if p.startswith("kernel ")), "kernel ?")
        print(
            f"{sign} {machine.id}  {size >> 20} MiB  hoplab {machine.description['hoplab']}  "
            f"{kernel.removeprefix('kernel ')}"
        )
    if not found:
        print(
            "no machine; 'make setup', 'hoplab machine unpack FILE' or pip install hoplab-machine"
        )


def _step_over(problem: str) -> None:
    messages.print(problem, markup=False, highlight=False, soft_wrap=True)


@app.command("pack")
def write(
    file: Annotated[Path, typer.Argument(help="The new file, e.g. machine.tar.zst.")],
    name: Annotated[str | None, typer.Option("--machine", help="Another than runs take.")] = None,
) -> None:
    """Write a machine to one compressed file, the same bits from the same machine."""

    machine = select.chosen() if name is None else store.named(name)
    pack.pack(machine, file)
    print(f"{file}: machine {machine.id}, {file.stat().st_size >> 20} MiB")


@app.command("unpack")
def read(file: Annotated[Path, typer.Argument(help="What 'hoplab machine pack' wrote.")]) -> None:
    """Take a machine from a file into the cache; a damaged or foreign one is refused."""

    machine = pack.unpack(file)
    print(f"machine {machine.id} in {machine.folder}")


@app.command()
def diff(one: Name, other: Name) -> None:
    """Say what two machines differ in: packages, kernel, layers, files."""

    lines = list(compare.of_machines(store.named(one), store.named(other)))
    for line in lines[:MOST_LINES]:
        print(line)
    if len(lines) > MOST_LINES:
        print(f"and {len(lines) - MOST_LINES} more")
    if not lines:
        print("the same machine")
