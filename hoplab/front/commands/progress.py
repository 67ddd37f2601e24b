# SPDX-License-Identifier: Apache-2.0
"""The progress of a run, as a bar on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from hoplab.host.runs.launch import Part, Progress

LONGEST_TITLE = 16
"""With it, the longest numbers have room in 80 columns; only the bar shrinks."""


class Moved:
    """A bar that moves over each large part of the lab's work, and over the run's time."""

    def __init__(self, bar: Bar, task: TaskID, duration_s: float) -> None:
        self._bar = bar
        self._task = task
        self._duration_s = duration_s

    def on_part(self, part: Part) -> None:
        """Show how many of the stations, links, files, … are done."""
        self._bar.update(
            self._task,
            completed=part.done,
            total=part.of,
            reached=f"{part.what}: {part.done} of {part.of}",
        )

    def on_progress(self, progress: Progress) -> None:
        """Show the virtual time."""
        self._bar.update(
            self._task,
            completed=progress.t_s,
            total=self._duration_s,
            reached=_of_time(progress.t_s, self._duration_s),
            speed=f"{progress.t_s / max(progress.wall_s, 1e-9):.1f} virtual s/s",
            goodput=f"{progress.goodput_kbps:.0f} kbit/s",
        )


@contextmanager
def shown(console: Console, title: str, duration_s: float) -> Iterator[Moved]:
    """Show a bar inside the block if ``console`` is a terminal."""
    with Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[reached]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[goodput]}"),
        console=console,
        disable=not console.is_terminal or console.is_dumb_terminal,
        transient=True,
    ) as bar:
        reached = _of_time(0.0, duration_s)
        task = bar.add_task(short(title), total=duration_s, reached=reached, speed="", goodput="")
        yield Moved(bar, task, duration_s)


def short(title: str) -> str:
    """Return the title that a bar has room for."""
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def _of_time(t_s: float, duration_s: float) -> str:
    return f"{t_s:.1f} of {duration_s:.1f} s"
