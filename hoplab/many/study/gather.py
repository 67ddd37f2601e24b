# SPDX-License-Identifier: Apache-2.0
"""Run a study's sweeps and pass their runs to its analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from hoplab.many.study.folder import Study
from hoplab.many.study.swept import Run, Runs
from hoplab.many.sweep import api as sweep
from hoplab.many.sweep.api import Point
from hoplab.model.errors import HoplabError

SEEDS_OF_A_DRAW = 1000
"""Draw k of the quick version raises each seed by k times this."""


def gather(study: Study, quick: bool, console: Console, draw: int = 0) -> Runs:
    """Return all runs of the full or the quick version. Runs in the store come from there.

    They have the order of the sweeps, whatever the order in which they ended, so that means are
    equal to the last digit. Raises `HoplabError` for the first run that failed.
    """
    parts = study.sweeps(quick).items()
    with Progress(
        *Progress.get_default_columns()[:-1],
        "{task.completed} of {task.total} runs",
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as shown:
        return Runs([run for part, path in parts for run in _part(part, path, shown, draw)])


def _part(part: str, path: Path, shown: Progress, draw: int) -> list[Run]:
    read = sweep.read(path)
    points: sweep.Sweep | Iterable[Point] = read
    if draw:
        points = [point.with_seed(point.seed + draw * SEEDS_OF_A_DRAW) for point in read.points()]
    task = shown.add_task(path.stem, total=read.count())

    def tell(now: sweep.Progress) -> None:
        shown.update(task, completed=now.done, total=now.total)

    order = {_place(one.parameters): i for i, one in enumerate(read.combinations())}
    found = []
    # What failed before is tried again: whatever ended it from outside may be over.
    for done in sweep.run(
        points, tables=read.tables, total=read.count(), progress=tell, retry=True
    ):
        point = done.point
        if done.error is not None:
            raise HoplabError(f"{path}: {point.label}: {done.error}")
        machine = str(done.entry.head["machine"])
        found.append(Run(part, point.parameters, point.seed, done, machine))
    return sorted(found, key=lambda run: (order[_place(run.at)], run.seed))


def _place(parameters: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, repr(value)) for name, value in parameters.items())
