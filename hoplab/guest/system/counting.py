# SPDX-License-Identifier: Apache-2.0
"""How far the set-up of a large network has come: lines for who follows the lab."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeVar

EACH = 25
"""Things between two lines; some two seconds."""
T = TypeVar("T")


def told(what: str, things: Sequence[T]) -> Iterator[T]:
    """Return the things, and say how many of them have been taken: of the stations, links, …"""
    for done, thing in enumerate(things):
        if done % EACH == 0:
            _say(what, done, len(things))
        yield thing
    _say(what, len(things), len(things))


def _say(what: str, done: int, of: int) -> None:
    """Write a line, which `hoplab.host.runs.launch` reads."""
    print(json.dumps({"set_up": what, "done": done, "of": of}), flush=True)
