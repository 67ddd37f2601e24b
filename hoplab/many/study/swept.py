# SPDX-License-Identifier: Apache-2.0
"""The runs of a study's sweeps, for its analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, overload

from hoplab.host.statistics.samples import Sample


class Tables(Protocol):
    """A source of a run's tables: its folder, or the store."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the table ``name``, null as None."""


@dataclass(frozen=True)
class Run:
    """A finished run: its place in the sweep, and its tables."""

    part: str
    """The sweep file: "" for ``sweep.toml``, "rates" for ``sweep-rates.toml``."""
    at: Mapping[str, Any]
    """The value of each axis, by the axis's name."""
    seed: int
    tables: Tables
    machine: str = ""
    """The hash of the machine that ran it."""

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of a table of `docs/tables.md` that the sweep keeps."""
        return self.tables.rows(table)


class Runs(Sequence[Run]):
    """Runs in the order of their sweeps. Every method that selects some returns `Runs` again."""

    def __init__(self, runs: Sequence[Run]):
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        return Runs(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def part(self, name: str = "") -> Runs:
        """Return the runs of one sweep file."""
        return Runs([run for run in self if run.part == name])

    def where(self, **at: Any) -> Runs:
        """Return the runs with these values of axes."""
        return Runs([run for run in self if all(run.at.get(k) == v for k, v in at.items())])

    def filter(self, wanted: Callable[[Run], bool]) -> Runs:
        """Return the runs for which ``wanted`` is true."""
        return Runs([run for run in self if wanted(run)])

    def groups(self, *axes: str) -> dict[tuple[Any, ...], Runs]:
        """Return runs by their values of ``axes``, in the order in which these first appear."""
        found: dict[tuple[Any, ...], list[Run]] = {}
        for run in self:
            found.setdefault(tuple(run.at.get(axis) for axis in axes), []).append(run)
        return {key: Runs(runs) for key, runs in found.items()}

    def sample(self, read: Callable[[Run], float]) -> Sample:
        """Return mean and error of ``read`` over the runs. The seeds make them independent draws.

        Raises `ValueError` if there are no runs.
        """
        return Sample.of([read(run) for run in self])
