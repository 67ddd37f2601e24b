# SPDX-License-Identifier: Apache-2.0
"""The machine of a run: the named one, else this checkout's or the installed one."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from hoplab.host.machine import assemble, kernels, pack, sealed, store
from hoplab.host.machine.sealed import DESCRIPTION, Machine
from hoplab.model.errors import MissingTool
from hoplab.model.resources import IS_CHECKOUT

VARIABLE = "HOPLAB_MACHINE"
PACKAGE = "hoplab_machine"
"""The module of `pip install hoplab-machine`."""


def chosen(file: Path | None = None) -> Machine:
    """Return the machine to run, its files checked. Raises `MissingTool` if there is none."""
    machine = _named(file) or _own()
    sealed.check(machine, store.stamps())
    return machine


def named(name: str) -> Machine:
    """Return the machine that runs would take, with the kernel that was built under ``name``."""
    machine = kernels.named(chosen(), name)
    sealed.check(machine, store.stamps())
    return machine


def _named(file: Path | None) -> Machine | None:
    if file is None:
        # A checkout runs its own code. The variable there only saves the compilation at set-up.
        if IS_CHECKOUT or not os.environ.get(VARIABLE):
            return None
        file = Path(os.environ[VARIABLE])
    if (file / DESCRIPTION).is_file():
        return sealed.load(file)
    return pack.unpack(file)


def _own() -> Machine:
    if IS_CHECKOUT:
        return assemble.current()
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingTool(
            "machine: there is none; 'pip install hoplab-machine', or name one with "
            f"--machine-file or {VARIABLE}"
        )
    return sealed.load(Path(spec.origin).parent / "machine")
