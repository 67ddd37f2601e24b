# SPDX-License-Identifier: Apache-2.0
"""What a sink is given, and what it may answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hoplab.model.scenario.model import Scenario

NANOSECONDS = 1_000_000_000


class Batch(NamedTuple):
    """Rows of one table. They are shared between sinks: read them, don't change them."""

    table: str
    rows: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Course:
    """A run that is about to be streamed."""

    run: str
    """Its name, that of its folder."""
    folder: Path
    scenario: Scenario
    machine: str
    """``uml`` or ``host``."""
    start_ns: int
    """Date of time 0, in ns since 1970: the wall clock's in real time; in virtual time that of the
    run's launch, a whole second, so that a row's date is ``start_ns`` and its ``t_s``."""

    def date_ns(self, t_s: float) -> int:
        """Date of scenario time ``t_s``."""
        return self.start_ns + round(t_s * NANOSECONDS)


class Unavailable(Exception):
    """A sink could not take rows now; they are offered again later."""


class Refused(Exception):
    """A sink will not take these rows at any time; they are dropped and counted."""


class Sink:
    """Somebody who takes a run's rows; see the docstring of `hoplab.host.stream`."""

    name = "sink"
    """What messages call it."""
    every_s = 0.1
    """At most how often it is given rows, so that they come together."""
    is_database = False
    """Whether Grafana can have what it takes from a database."""

    def begin(self, course: Course) -> None:
        """The run has been launched."""

    def take(self, batches: Sequence[Batch]) -> None:
        """Take rows. Raises `Unavailable` or `Refused`."""
        raise NotImplementedError

    def end(self) -> None:
        """The run is over, its tables and report are there (or could not be made)."""
