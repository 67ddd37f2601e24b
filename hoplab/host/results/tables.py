# SPDX-License-Identifier: Apache-2.0
"""From a run's raw records to Parquet tables, a part at a time: a long run's records need more
memory than a host has."""

from __future__ import annotations

import io
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow, parquet
from hoplab.host.results.digests import TableDigest
from hoplab.model.errors import ResultsError
from hoplab.model.reading import opened
from hoplab.model.records.schema import TABLES, Table

PART_BYTES = 8 << 20
"""Octets of records that are parsed at once."""
LONGEST_LINE = 1 << 20
"""Octets of a record. A file without line ends would otherwise be read whole."""
GROUP_ROWS = 65_536
"""Rows after which a table's first rows are written, while others are still read."""
WRITERS = 2
"""Tables that are written at once."""
SPREAD_S = 1.0
"""Seconds by which a record may come late: a frame's record has its start, and comes at its end."""


def convert(
    run: Path,
    duration_s: float,
    packets: pa.Table | None = None,
    known: Mapping[str, pa.Table] = MappingProxyType({}),
) -> dict[str, str]:
    """Read ``raw/*.jsonl``, write ``tables/*.parquet``, return the digest of each table with rows.

    Given ``packets`` come before the records of that table. What `recorded` has returned is
    ``known``, and not read again. Records of daemons after ``duration_s``, while the run was taken
    down, are left out. Raises `ResultsError` if records do not follow the schema.
    """
    folder = run / "tables"
    folder.mkdir(exist_ok=True)
    stopped = threading.Event()

    def parts(name: str) -> Iterator[pa.Table]:
        for part in _parts(run, name) if name not in known else _groups(known[name]):
            if stopped.is_set():
                raise _Stopped
            yield part

    def written(name: str) -> str | None:
        if name == "packets" and packets is not None:
            return _written(name, chain([packets], parts(name)), folder)
        if TABLES[name].timed:
            return _written_in_order(name, partial(parts, name), folder, duration_s)
        return _written(name, parts(name), folder)

    # Arrow works without Python's lock.
    with ThreadPoolExecutor(WRITERS) as pool:
        try:
            digests = zip(TABLES, pool.map(written, TABLES), strict=True)
            return {name: digest for name, digest in digests if digest is not None}
        except BaseException:
            stopped.set()  # after an error, or a signal
            raise


def recorded(run: Path, name: str) -> pa.Table:
    """Return the rows of ``raw/NAME.jsonl`` and of every ``raw/NAME-SOURCE.jsonl``, as they were
    written.

    Raises `ResultsError` for a row that contradicts the schema.
    """
    return pa.concat_tables([arrow.empty(name), *_parts(run, name)])


def _groups(table: pa.Table) -> Iterator[pa.Table]:
    return (table.slice(begin, GROUP_ROWS) for begin in range(0, len(table), GROUP_ROWS))


def _written_in_order(
    name: str, parts: Callable[[], Iterator[pa.Table]], folder: Path, duration_s: float
) -> str | None:
    try:
        return _written(name, _in_order(_until(parts(), duration_s), SPREAD_S), folder)
    except _TooLate:
        return _written(name, _in_order(_until(parts(), duration_s), math.inf), folder)


def _written(name: str, parts: Iterator[pa.Table], folder: Path) -> str | None:
    """Write a table and return its digest; None if it has no rows."""
    parts = filter(len, parts)
    first = next(parts, None)
    if first is None:
        return None
    digest = TableDigest(name)
    with parquet.Writer(folder / f"{name}.parquet", first.schema) as writer:
        for part in chain([first], parts):
            digest.add(part)
            writer.add(part)
    return digest.hexdigest()


class _Stopped(Exception):
    """Nobody waits for the tables any more."""


class _TooLate(Exception):
    """A record is earlier than others that were written already."""


def _until(parts: Iterable[pa.Table], duration_s: float) -> Iterator[pa.Table]:
    end_s = arrow.scalar(duration_s)
    for part in parts:
        yield part.filter(pc.less_equal(part["t_s"], end_s))


def _in_order(parts: Iterable[pa.Table], spread_s: float) -> Iterator[pa.Table]:
    """Yield rows by their time, and rows of the same time as they come. A row is held back until
    another is ``spread_s`` later. Raises `_TooLate` for a row that comes later than that."""
    held: list[pa.Table] = []
    ready_s = -math.inf
    for part in parts:
        if len(part) == 0:
            continue
        times = pc.min_max(part["t_s"]).as_py()
        if times["min"] < ready_s:
            raise _TooLate
        held.append(part)
        if times["max"] - spread_s > ready_s and sum(map(len, held)) >= GROUP_ROWS:
            ready_s = times["max"] - spread_s
            rows = _sorted(held)
            ready = pc.sum(pc.less_equal(rows["t_s"], arrow.scalar(ready_s))).as_py()
            yield rows.slice(0, ready)
            held = [rows.slice(ready)]
    if held:
        yield _sorted(held)


def _sorted(parts: list[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(parts)
    return rows.take(pc.sort_indices(rows, [("t_s", "ascending")]))


def _files(run: Path, name: str) -> list[Path]:
    raw = run / "raw"
    return sorted([*raw.glob(f"{name}.jsonl"), *raw.glob(f"{name}-*.jsonl")])


def _parts(run: Path, name: str) -> Iterator[pa.Table]:
    for path in _files(run, name):
        number = 1
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            while lines := file.read(PART_BYTES) + file.readline(LONGEST_LINE):
                yield _parsed(lines, TABLES[name], path, number, last=file.tell() >= size)
                number += lines.count(b"\n")


def _parsed(lines: bytes, table: Table, path: Path, first: int, last: bool) -> pa.Table:
    """Return the rows of a file's lines, of which the first has this number. ``last``: none come
    after them."""
    try:
        return arrow.from_lines(table.name, lines)
    except (pa.ArrowException, ResultsError):
        # Line by line it takes ten times as long, but finds the mistake, or takes what is right
        # before a last line that is torn.
        rows = list(_rows(lines, table, path, first, last))
    return arrow.from_rows(table.name, rows, str(path))


def _rows(
    lines: bytes, table: Table, path: Path, first: int, last: bool
) -> Iterator[dict[str, Any]]:
    text = io.TextIOWrapper(io.BytesIO(lines), "utf-8", "replace")
    for number, line in enumerate(text, first):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            # The last line of a process may be incomplete, if it was killed or the disk was full.
            if last and next(text, None) is None:
                return
            raise ResultsError(f"{path}: line {number} is damaged; run it again") from None
        mistake = table.mistake(row) if isinstance(row, dict) else "is no JSON object"
        if mistake is not None:
            raise ResultsError(f"{path}: line {number}: {mistake}")
        yield row
