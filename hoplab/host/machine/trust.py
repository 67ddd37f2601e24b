# SPDX-License-Identifier: Apache-2.0
"""Trust in machines: this user's own run here, and those to which the user has agreed.

A machine's kernel is a program that runs on the host as the user. A run from others, or a shared
store, names the machine that it needs. The user is therefore asked.
"""

from __future__ import annotations

import sys

from hoplab.host.machine import confined, select, store
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.model.errors import HoplabError, MissingTool

CONFINED = (
    "its kernel runs here as you; it can read itself and its run's folder only, write to the "
    "latter and open no connection"
)
FREE = (
    "its kernel runs here as you and nothing confines it on this host: it can read, write and "
    "send whatever you can"
)

PROGRAMS = (
    "nothing confines a guest on this host: as its root they can read, write and send whatever "
    "you can"
)


def require(machine: Machine, source: object, given: bool = False, programs: bool = False) -> None:
    """Raise `MissingTool` unless the user trusts ``machine``, which ``source`` asks to run. This
    also covers its ``programs`` if nothing confines them on this host.

    ``given`` is the user's ``--trust``. Without it, a user at a terminal is asked.
    """
    if programs and confined.confinement() == "none":
        if not given and not _agreed(f"{source}: has programs of others: {PROGRAMS}"):
            raise MissingTool(
                f"{source}: has programs of others: {PROGRAMS}; --trust runs them all the same"
            )
        store.trust(machine)
        return
    if store.is_trusted(machine) or (not given and _is_own(machine)):
        return
    risk = FREE if confined.confinement() == "none" else CONFINED
    if not given and not _agreed(f"{source}: wants machine {machine.id[:SHORT]} of others: {risk}"):
        raise MissingTool(
            f"{source}: wants machine {machine.id[:SHORT]}, which is of others: {risk}; --trust "
            "runs it all the same"
        )
    store.trust(machine)


def _agreed(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{question}. Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_own(machine: Machine) -> bool:
    try:
        return select.chosen().id == machine.id
    except HoplabError:
        return False
