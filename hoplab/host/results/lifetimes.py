# SPDX-License-Identifier: Apache-2.0
"""The lifetime of each program of a run, by the lab's events."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hoplab.model.reading import content


class Lifetime(NamedTuple):
    """Times in scenario seconds; infinite if no end is known."""

    begin_s: float
    end_s: float

    @property
    def is_open(self) -> bool:
        return self.end_s == math.inf

    def includes(self, t_s: float) -> bool:
        return self.begin_s <= t_s <= self.end_s


EVER = Lifetime(-math.inf, math.inf)


def of_programs(out: Path) -> dict[str, Lifetime]:
    """Return lifetimes by name. Lines in another form than the lab's are left out."""
    found: dict[str, Lifetime] = {}
    for told in lines(out / "raw" / "events.jsonl"):
        try:
            kind, t_s, name = told["kind"], float(told["t_s"]), told["detail"].split()[0]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            continue
        if kind == "program-start":
            found[name] = Lifetime(t_s, math.inf)
        elif kind == "program-end" and name in found:
            found[name] = found[name]._replace(end_s=t_s)
    return found


def lines(path: Path) -> Iterator[Any]:
    """Yield the JSON value of each line. A guest may have written anything, which is skipped."""
    try:
        written = content(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in written:
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(line)
