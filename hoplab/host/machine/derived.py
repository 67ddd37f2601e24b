# SPDX-License-Identifier: Apache-2.0
"""Machines made from another one, found again by what they were made from.

A note in the cache has the identity of each. The machines that nobody uses now, and that no run has
used lately, are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from hoplab.host.machine import sealed, store
from hoplab.host.machine.sealed import Machine
from hoplab.model.errors import Damaged, MissingTool

KEPT = 8
"""How many of a kind stay."""


def derived(
    kind: str, origin: Machine, by: str, recipe: Path, make: Callable[[], Machine]
) -> Machine:
    """Return what ``make`` makes of ``origin``, or has made.

    ``by`` says what it is made with, ``recipe`` is the code that does it. ``kind`` names the folder
    of the notes.
    """
    code = hashlib.sha256(recipe.read_bytes()).hexdigest()
    key = hashlib.sha256(f"{origin.id} {by} {code}".encode()).hexdigest()
    note = store.cache() / kind / key
    try:
        identity = note.read_text(encoding="ascii")
        store.hold(identity)
        made = store.find(identity)
        sealed.check(made, store.stamps())
        os.utime(note)
        return made
    except (OSError, MissingTool, Damaged):
        made = make()
        store.hold(made.id)
    with store.writing_to(note.parent):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(made.id, encoding="ascii")
    with contextlib.suppress(OSError):  # two processes at once may remove the same one
        _prune(note.parent)
    return made


def _prune(notes: Path) -> None:
    found = sorted(notes.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for note in found[KEPT:]:
        if store.remove(note.read_text(encoding="ascii")):
            note.unlink()
