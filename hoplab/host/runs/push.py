# SPDX-License-Identifier: Apache-2.0
"""Send existing results to a sink: a finished run, or a sweep's dataset.

A dataset's rows (`hoplab sweep`) become separate lines::

    hoplab_sweep,sweep=NAME,key=KEY,seed=N,flow=FLOW,p_PARAMETER=VALUE,… RESULT=VALUE,… DATE

Every parameter is a tag, and every number among the results a field. A numeric parameter also has a
field ``number_p_PARAMETER``, to sort by. All lines have the date of the push, since a sweep's runs
have no common axis of time. Before them comes a line for each parameter::

    hoplab_axis,sweep=NAME,parameter=p_PARAMETER weight=NUMBER,values=COUNT,pushed_s=DATE DATE

The parameter with the most values has the highest weight, and numbers come before words.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hoplab.host import results
from hoplab.host.results.parquet import opened_table
from hoplab.host.stream.about import health_rows, plan_rows, whole_run
from hoplab.host.stream.line import IN_TAG, PREFIX, tag
from hoplab.host.stream.sink import NANOSECONDS, Batch, Course
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES

CHUNK_ROWS = 5_000
FIRST_AFTER_PARAMETERS = "seed"
"""The dataset's first column after the parameters (`hoplab.many.sweep.dataset`)."""
TAGS = ("key", "flow")
PARAMETER = "p_"
FIRST_NUMBERS = 1_000_000
"""Weight of a numeric parameter, which makes an axis."""
DATASET = "results.parquet"
"""The file name of every dataset of `hoplab sweep`."""


def course(folder: Path) -> Course:
    """Return a finished run's course, with the start from its manifest. Raises `ResultsError`."""
    run = results.load(folder)
    try:
        date = time.strptime(run.manifest.started, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ResultsError(f"{folder}: its manifest tells no start; run it again") from None
    scenario = run.resolved
    start_ns = calendar.timegm(date) * NANOSECONDS
    return Course(folder.resolve().name, folder, scenario, run.manifest.machine, start_ns)


def batches(course: Course) -> Iterator[Batch]:
    """Yield all tables of a finished run, some rows at a time, and the other rows of its stream.
    Its speed is no longer known."""
    run = results.load(course.folder)
    state = "complete" if run.manifest.verdict.status == 0 else "failed"
    yield Batch("run", whole_run(course, state))
    if planned := plan_rows(course):
        yield Batch("plan", planned)
    if health := health_rows(run.manifest.medium):
        yield Batch("health", health)
    for name in TABLES:
        for chunk in run.table(name).to_batches(CHUNK_ROWS):
            if chunk.num_rows:
                yield Batch(name, chunk.to_pylist())


def sweep_lines(path: Path, name: str, date_ns: int) -> Iterator[bytes]:
    """Yield the lines of a dataset, some rows at a time. Raises `ResultsError`."""
    try:
        with opened_table(path) as file:
            columns = file.schema_arrow
            if FIRST_AFTER_PARAMETERS not in columns.names:
                raise ResultsError(f"{path}: is no dataset of 'hoplab sweep'")
            lines = _Sweep(columns, name, date_ns)
            yield lines.axes(file)
            for chunk in file.iter_batches(CHUNK_ROWS):
                yield "".join(map(lines.line, chunk.to_pylist())).encode("utf-8", "replace")
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise ResultsError(f"{path}: cannot be read: {reason}") from None


def sweep_name(path: Path) -> str:
    """Return a sweep's name: its folder's name, or the name of a file with its own."""
    return path.resolve().parent.name if path.name == DATASET else path.stem


class _Sweep:
    """Turns a dataset's rows into lines."""

    def __init__(self, columns: pa.Schema, name: str, date_ns: int) -> None:
        parameters = columns.names[: columns.names.index(FIRST_AFTER_PARAMETERS)]
        self._head = f"{PREFIX}sweep,sweep={tag(name) or 'unnamed'}"
        self._end = f" {date_ns}\n"
        self._parameters = [(p, _is_number(columns.field(p).type)) for p in parameters]
        self._axis = f"{PREFIX}axis,sweep={tag(name) or 'unnamed'}"
        self._pushed_s = date_ns / NANOSECONDS
        self._tags = [(p, f",{PARAMETER}{tag_name(p)}=") for p in parameters]
        self._numbers = [
            (p, f"number_{PARAMETER}{tag_name(p)}")
            for p in parameters
            if _is_number(columns.field(p).type)
        ]
        self._tags += [(name, f",{name}=") for name in ("seed", *TAGS) if name in columns.names]
        self._fields = [
            field.name
            for field in columns
            if field.name not in (*parameters, FIRST_AFTER_PARAMETERS) and _is_number(field.type)
        ]

    def axes(self, file: pq.ParquetFile) -> bytes:
        """A line for each parameter."""
        lines = []
        for parameter, is_number in self._parameters:
            values = len(file.read([parameter])[parameter].unique())
            weight = 0 if values < 2 else values + (FIRST_NUMBERS if is_number else 0)
            lines.append(
                f"{self._axis},parameter={PARAMETER}{tag_name(parameter)} weight={weight},"
                f"values={values},pushed_s={self._pushed_s!r}{self._end}"
            )
        return "".join(lines).encode("utf-8", "replace")

    def line(self, row: dict[str, Any]) -> str:
        tags = "".join(
            name + value
            for key, name in self._tags
            if row[key] is not None and (value := tag(_text(row[key])))
        )
        fields = {"seed_number": row["seed"], "failed": int(row.get("error") is not None)}
        fields |= {name: row[key] for key, name in self._numbers if row[key] is not None}
        fields |= {name: row[name] for name in self._fields if row[name] is not None}
        # Numbers of one result have one type, whatever the dataset's column type is.
        values = ",".join(f"{name}={float(value)!r}" for name, value in fields.items())
        return f"{self._head}{tags} {values}{self._end}"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def tag_name(parameter: str) -> str:
    """Return a parameter's name in a form that databases accept for labels."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in parameter)
    return IN_TAG.sub("_", plain)


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
