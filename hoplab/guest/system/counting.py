# SPDX-License-Identifier: Apache-2.0
"""How far a large part of the lab's work has come: lines for who follows the lab."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeVar

EACH = 25
"""Stations or links between two lines; some two seconds."""
T = TypeVar("T")


def told(what: str, things: Sequence[T], each: int = EACH) -> Iterator[T]:
    """Return the things, and say how many of them have been taken, as "sets up links" 25 of 300."""
    for done, thing in enumerate(things):
        if done % each == 0:
            _say(what, done, len(things))
        yield thing
    _say(what, len(things), len(things))


def _say(what: str, done: int, of: int) -> None:
    """Write a line, which `hoplab.host.runs.launch` reads."""
    print(json.dumps({"part": what, "done": done, "of": of}), flush=True)
