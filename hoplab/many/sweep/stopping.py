# SPDX-License-Identifier: Apache-2.0
"""When there are enough seeds: ``stop_when = "ci95 of goodput_kbps < 5 %"``.

Student's 95 % interval of the mean over the seeds so far decides. The number of seeds that is tried
next follows from the values alone. The same sweep therefore takes the same seeds on any computer,
and in whatever order its runs end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hoplab.host.statistics.samples import Sample, t_95
from hoplab.model.errors import ScenarioError
from hoplab.model.records.schema import TABLES

if TYPE_CHECKING:
    from hoplab.many.sweep.file import SweepFile

FORM = re.compile(
    r"ci95 of (?P<column>\w+)(?: of (?P<flow>\S+))? < "
    r"(?P<width>[0-9]+(?:\.[0-9]+)?)(?P<percent> ?%)?"
)
LEAST = 3
"""Seeds before an interval counts: with two, it is too often narrow by chance."""
MOST = 50


@dataclass(frozen=True)
class Rule:
    """``width`` is the half-width of an interval that is narrow enough: relative to the mean, or in
    the column's unit. Without ``flow`` the rule applies to every flow."""

    column: str
    flow: str | None
    width: float
    relative: bool
    begin: tuple[int, ...]
    most: int

    @classmethod
    def of(cls, file: SweepFile, source: str) -> Rule | None:
        """Return the rule of a sweep's file. Raises `ScenarioError` if it is none."""
        if file.stop_when is None:
            if file.most_seeds is not None:
                raise ScenarioError(f"{source}: most_seeds counts only with stop_when; remove one")
            return None
        found = FORM.fullmatch(" ".join(file.stop_when.split()))
        if found is None:
            raise ScenarioError(
                f"{source}: stop_when: {file.stop_when!r} is no rule; expected "
                '"ci95 of goodput_kbps < 5 %", or "… of goodput_kbps of flow0 < 10" in kbit/s'
            )
        numbers = [c.name for c in TABLES["flows"].columns if c.type in ("integer", "float")]
        if found["column"] not in numbers:
            raise ScenarioError(
                f"{source}: stop_when: {found['column']!r} is no number of a flow; "
                f"one of: {', '.join(numbers)}"
            )
        width = float(found["width"]) / (100 if found["percent"] else 1)
        if not width > 0:
            raise ScenarioError(f"{source}: stop_when: the interval's half-width must be above 0")
        begin = file.all_seeds() or tuple(range(1, LEAST + 1))
        most = file.most_seeds or max(MOST, len(begin))
        if len(begin) < 2 or len(begin) > most:
            raise ScenarioError(
                f"{source}: seeds: {len(begin)} to begin with; stop_when needs 2 to most_seeds "
                f"({most})"
            )
        return cls(found["column"], found["flow"], width, found["percent"] is not None, begin, most)

    def seed(self, index: int) -> int:
        """Return the seed of a repetition, counted from 0: the given ones, then the numbers that
        follow."""
        if index < len(self.begin):
            return self.begin[index]
        return max(self.begin) + 1 + index - len(self.begin)

    def values(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Return, by flow, the value that the rule reads in a run's table `flows`."""
        return {
            str(row["flow"]): float(row[self.column])
            for row in rows
            if row[self.column] is not None and self.flow in (None, row["flow"])
        }

    def wanted(self, runs: Sequence[Mapping[str, float] | None]) -> int:
        """Return how many seeds are needed after ``runs``, the `values` of each run; None for a
        failed run.

        If no more than the existing ones, they are enough, or the limit is reached.
        """
        there = len(runs)
        good = [run for run in runs if run]
        needed = there
        for flow in sorted({name for run in good for name in run}):
            sample = Sample.of([run[flow] for run in good if flow in run])
            needed = max(needed, there + self._missing(sample))
        if not good:
            needed = there  # a run that always fails is not tried more often
        return min(self.most, needed)

    def narrow(self, sample: Sample) -> bool:
        """Return whether a sample's interval is narrow enough."""
        return sample.n > 1 and sample.half_width <= self._target(sample)

    def _target(self, sample: Sample) -> float:
        return self.width * (abs(sample.mean) if self.relative else 1.0)

    def _missing(self, sample: Sample) -> int:
        """Return how many more seeds the spread so far makes likely, at most as many again."""
        if self.narrow(sample):
            return 0
        if sample.n < 2 or self._target(sample) == 0:
            return sample.n
        deviation = sample.error * math.sqrt(sample.n)
        n = sample.n + 1
        while n < 2 * sample.n and t_95(n - 1) * deviation / math.sqrt(n) > self._target(sample):
            n += 1
        return n - sample.n
