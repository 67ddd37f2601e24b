# SPDX-License-Identifier: Apache-2.0
"""``hoplab lock``: the packages of a scenario, with all their dependencies, by their hashes."""

from __future__ import annotations

import typer

from hoplab.front.commands.options import ScenarioFile
from hoplab.host.machine import closure, store
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import load

app = typer.Typer()


@app.command()
def lock(file: ScenarioFile) -> None:
    """Write the lock of a scenario's machine.packages and machine.python beside it."""

    machine = load(file).machine
    if not (machine.packages or machine.python):
        raise ScenarioError(f"{file}: names no machine.packages and no machine.python to lock")
    text = closure.lock(machine)
    target = file.parent / machine.lock
    with store.writing_to(target, "machine.lock"):
        target.write_text(text, encoding="utf-8")
    print(f"{target}: {sum(not line.startswith('#') for line in text.splitlines())} packages")
