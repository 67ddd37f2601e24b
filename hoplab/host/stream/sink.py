# SPDX-License-Identifier: Apache-2.0
"""The input of a sink, and its possible answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hoplab.model.keys.resolved import Resolved

NANOSECONDS = 1_000_000_000


class Batch(NamedTuple):
    """Rows of one table. Sinks share them: read them, don't change them."""

    table: str
    rows: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Course:
    """A run that is about to be streamed."""

    run: str
    """Its name, which is its folder's."""
    folder: Path
    scenario: Resolved
    machine: str
    """``uml`` or ``host``."""
    start_ns: int
    """Date of time 0, in ns since 1970. In real time it is the wall clock's. In virtual time it is
    that of the run's launch, a whole second. A row's date is then ``start_ns`` plus its ``t_s``."""

    def date_ns(self, t_s: float) -> int:
        """Date of scenario time ``t_s``."""
        return self.start_ns + round(t_s * NANOSECONDS)


class Unavailable(Exception):
    """A sink could not take rows now; they are offered again later."""


class Refused(Exception):
    """A sink will not take these rows at any time; they are dropped and counted."""


class Sink:
    """A receiver of a run's rows; see the docstring of `hoplab.host.stream`."""

    name = "sink"
    """Its name in messages."""
    every_s = 0.1
    """Least interval in s between deliveries, so that rows come together."""
    is_database = False
    """Whether Grafana can read its rows from a database."""

    def begin(self, course: Course) -> None:
        """The run has been launched."""

    def take(self, batches: Sequence[Batch]) -> None:
        """Take rows. Raises `Unavailable` or `Refused`."""
        raise NotImplementedError

    def end(self) -> None:
        """Called when the run is over, and its tables and report exist (or could not be made)."""
