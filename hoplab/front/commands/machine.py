# SPDX-License-Identifier: Apache-2.0
"""``hoplab machine``: the sealed machines on this computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoplab.front.commands.options import say
from hoplab.host.machine import compare, kernels, pack, select, store
from hoplab.host.machine.sealed import SHORT, Machine
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
    if own is not None:
        _list_kernels(own)
    if not found:
        print(
            "no machine; 'make setup', 'hoplab machine unpack FILE' or pip install hoplab-machine"
        )


def _list_kernels(own: Machine) -> None:
    """Say which kernels a run may name."""
    for name in kernels.names(own):
        try:
            print(_described(name, kernels.named(own, name)))
        except HoplabError as error:
            _step_over(str(error))


def _step_over(problem: str) -> None:
    messages.print(problem, markup=False, highlight=False, soft_wrap=True)


@app.command("build")
def make(
    kernel: Annotated[
        str | None, typer.Option(metavar="VERSION", help="A kernel of the lock, such as 7.3.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A kernel's tree of yours, as it stands.")
    ] = None,
    patch: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Apply this after Hoplab's patches; may be repeated."),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Further options of the kernel; may be repeated."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="For --machine; by default the version, folder or patch.")
    ] = None,
) -> None:
    """Build a machine with another kernel: of the lock, or of your own."""

    wanted = kernels.Wanted(kernel, source, tuple(patch or ()), tuple(config or ()))
    called = name or wanted.called
    own = select.chosen()
    made = kernels.build(own, wanted, called or kernels.default(own), say)
    print(_described(called or kernels.default(own), made))


def _described(name: str, machine: Machine) -> str:
    facts = machine.description.get("kernel", {})
    without = "".join(f", without {tier}: {why}" for tier, why in facts.get("without", {}).items())
    return f"{name}: machine {machine.id[:SHORT]}, kernel {facts.get('version', '?')}{without}"


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
