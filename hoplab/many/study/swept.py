# SPDX-License-Identifier: Apache-2.0
"""The runs of a study's sweeps, as its analysis reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, overload

from hoplab.host.statistics.samples import Sample


class Tables(Protocol):
    """What a run's tables are read from: a run's folder, or the store."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the table ``name``, null as None."""


@dataclass(frozen=True)
class Run:
    """A finished run: where in its sweep it stands, and its tables."""

    part: str
    """Of which file: "" for ``sweep.toml``, "rates" for ``sweep-rates.toml``."""
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
    """Runs in the order of their sweeps; every method that leaves some out gives `Runs` again."""

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
        """Those of one sweep file."""
        return Runs([run for run in self if run.part == name])

    def where(self, **at: Any) -> Runs:
        """Those with these values of axes."""
        return Runs([run for run in self if all(run.at.get(k) == v for k, v in at.items())])

    def filter(self, wanted: Callable[[Run], bool]) -> Runs:
        """Those that ``wanted`` holds for."""
        return Runs([run for run in self if wanted(run)])

    def groups(self, *axes: str) -> dict[tuple[Any, ...], Runs]:
        """Runs by their values of ``axes``, in the order in which these first come."""
        found: dict[tuple[Any, ...], list[Run]] = {}
        for run in self:
            found.setdefault(tuple(run.at.get(axis) for axis in axes), []).append(run)
        return {key: Runs(runs) for key, runs in found.items()}

    def sample(self, read: Callable[[Run], float]) -> Sample:
        """Mean and error of what ``read`` gives of each run: of independent draws, the seeds.

        Raises `ValueError` where there are none.
        """
        return Sample.of([read(run) for run in self])
