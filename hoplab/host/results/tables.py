# SPDX-License-Identifier: Apache-2.0
"""From a run's raw records to Parquet tables."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow, parquet
from hoplab.model.errors import ResultsError
from hoplab.model.reading import opened
from hoplab.model.records.schema import TABLES, Table

BATCH_ROWS = 65_536
LONGEST_LINE = 1 << 20
"""Characters of a record. A file without line ends would otherwise be read whole."""


def convert(run: Path, duration_s: float) -> dict[str, pa.Table]:
    """Read ``raw/*.jsonl``, write ``tables/*.parquet``, return the tables.

    Records of daemons after ``duration_s``, while the run was taken down, are left out. Raises
    `ResultsError` if records do not follow the schema.
    """
    folder = run / "tables"
    folder.mkdir(exist_ok=True)
    tables = {}
    for name, table in TABLES.items():
        parts = [
            arrow.from_rows(name, rows, f"{run}/raw/{name}.jsonl")
            for path in _files(run, name)
            for rows in _read(path, table)
        ]
        if not parts:
            continue
        found = pa.concat_tables(parts)
        if table.timed:
            found = found.filter(pc.less_equal(found["t_s"], duration_s))
            found = found.take(pc.sort_indices(found, [("t_s", "ascending")]))
        if found.num_rows:
            tables[name] = found
            parquet.write(found, folder / f"{name}.parquet")
    return tables


def raw_rows(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of ``raw/NAME.jsonl`` and of every ``raw/NAME-SOURCE.jsonl``.

    Raises `ResultsError` for a row that contradicts the schema.
    """
    files = _files(run, name)
    return [row for path in files for rows in _read(path, TABLES[name]) for row in rows]


def _files(run: Path, name: str) -> list[Path]:
    raw = run / "raw"
    return sorted([*raw.glob(f"{name}.jsonl"), *raw.glob(f"{name}-*.jsonl")])


def _read(path: Path, table: Table) -> Iterator[list[dict[str, Any]]]:
    """Yield a file's rows, `BATCH_ROWS` at a time: as dictionaries they need ten times the memory
    that they need in a table."""
    rows: list[dict[str, Any]] = []
    broken: int | None = None
    with io.TextIOWrapper(opened(path), "utf-8", "replace") as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), "")
        for number, line in enumerate(lines, 1):
            if broken is not None:
                raise ResultsError(f"{path}: line {broken} is damaged; run it again")
            try:
                row = json.loads(line)
            except ValueError:
                # The last line of a process may be incomplete, if it was killed or the disk was
                # full.
                broken = number
                continue
            mistake = table.mistake(row)
            if mistake is not None:
                raise ResultsError(f"{path}: line {number}: {mistake}")
            rows.append(row)
            if len(rows) == BATCH_ROWS:
                yield rows
                rows = []
    if rows:
        yield rows
