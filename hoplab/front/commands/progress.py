# SPDX-License-Identifier: Apache-2.0
"""The progress of a run, as a bar on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from hoplab.host.runs.launch import Progress


@contextmanager
def shown(console: Console, title: str, duration_s: float) -> Iterator[Callable[[Progress], None]]:
    """Show a bar inside the block if ``console`` is a terminal. The yielded function moves it."""
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f} of {task.total:.1f} s"),
        TimeElapsedColumn(),  # goes on while a large network is set up
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[goodput]}"),
        console=console,
        disable=not console.is_terminal or console.is_dumb_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=duration_s, speed="", goodput="")

        def on_progress(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.t_s,
                speed=f"{progress.t_s / max(progress.wall_s, 1e-9):.1f} virtual s/s",
                goodput=f"{progress.goodput_kbps:.0f} kbit/s",
            )

        yield on_progress
