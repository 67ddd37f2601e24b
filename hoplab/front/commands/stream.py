# SPDX-License-Identifier: Apache-2.0
"""``hoplab push``: send existing results to a database or a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hoplab.host.runs import push as pushed
from hoplab.host.stream import grafana
from hoplab.host.stream.chosen import sinks
from hoplab.host.stream.file import File
from hoplab.host.stream.influx import Influx
from hoplab.host.stream.sink import Refused, Unavailable
from hoplab.host.terminal import output
from hoplab.model.errors import ResultsError, ScenarioError

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
        str | None, typer.Option(help="What a sweep is called; its folder's name without it.")
    ] = None,
) -> None:
    """Send a finished run or a sweep's results to a database, or write their lines to a file."""

    chosen = sinks(influx, stream)
    if not chosen:
        raise ScenarioError("push: where to? Name a database with --influx or a file with --stream")
    if not path.is_dir():
        link = send_sweep(path, name or pushed.sweep_name(path), chosen, _tell)
    else:
        course = pushed.course(path)
        for sink in chosen:
            sink.begin(course)
            for batch in pushed.batches(course):
                _insist(sink.name, partial(sink.take, [batch]))
            sink.end()
            _tell(f"{path}: sent to {sink.name}")
        link = grafana.of_run(course)
    if any(sink.is_database for sink in chosen) and link is not None:
        _tell(f"Grafana: {link}")


def send_sweep(
    path: Path, name: str, sinks: Iterable[Influx | File], tell: Callable[[str], None]
) -> str | None:
    """Send a sweep's dataset. Returns the link to its page. Raises `ResultsError`."""
    date_ns = time.time_ns()
    for sink in sinks:
        for text in pushed.sweep_lines(path, name, date_ns):
            _insist(sink.name, partial(sink.write, text))
        sink.end()
        tell(f"{path}: sent to {sink.name}")
    return grafana.of_sweep(name, date_ns)


def _tell(line: str) -> None:
    output.print(line, soft_wrap=True, markup=False, highlight=False)


def _insist(name: str, action: Callable[[], None]) -> None:
    """Try several times. Raises `ResultsError` after the last failure."""

    for attempt in range(1, TRIES + 1):
        try:
            return action()
        except Refused as error:
            raise ResultsError(f"{name}: {error}") from None
        except Unavailable as error:
            if attempt == TRIES:
                raise ResultsError(f"{name}: {error}; is it there?") from None
        time.sleep(PAUSE_S)
