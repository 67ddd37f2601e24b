# SPDX-License-Identifier: Apache-2.0
"""``hoplab push``: results that are there already, to a database or a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hoplab.errors import ResultsError, ScenarioError
from hoplab.terminal import output

app = typer.Typer()

TRIES, PAUSE_S = 3, 1.0


@app.command()
def push(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A run's folder, or a sweep's Parquet file.")
    ],
    influx: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send it there as Influx lines; may be repeated."),
    ] = None,
    stream: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write it to a file or pipe; may be repeated."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What a sweep is called; the file's name without it.")
    ] = None,
) -> None:
    """Send a finished run or a sweep's results to a database, or write their lines to a file."""
    from hoplab.stream import push as pushed
    from hoplab.stream.chosen import sinks

    chosen = sinks(influx, stream)
    if not chosen:
        raise ScenarioError("push: where to? Name a database with --influx or a file with --stream")
    for sink in chosen:
        if path.is_dir():
            course = pushed.course(path)
            sink.begin(course)
            for batch in pushed.batches(course):
                _insist(sink.name, partial(sink.take, [batch]))
        else:
            date_ns = time.time_ns()
            for text in pushed.sweep_lines(path, name or path.stem, date_ns):
                _insist(sink.name, partial(sink.write, text))
        sink.end()
        output.print(f"{path}: sent to {sink.name}", soft_wrap=True, markup=False, highlight=False)


def _insist(name: str, action: Callable[[], None]) -> None:
    """Try several times. Raises `ResultsError`."""
    from hoplab.stream.sink import Refused, Unavailable

    for attempt in range(1, TRIES + 1):
        try:
            return action()
        except Refused as error:
            raise ResultsError(f"{name}: {error}") from None
        except Unavailable as error:
            if attempt == TRIES:
                raise ResultsError(f"{name}: {error}; is it there?") from None
        time.sleep(PAUSE_S)
