# SPDX-License-Identifier: Apache-2.0
"""Follow the raw records of a run as they grow.

Root of a guest wrote the files in the run's folder, so they are not trusted. Links are not
followed, and only plain files are read. A line that is no row of its table is counted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hoplab.host.stream.sink import Batch
from hoplab.model.reading import FLAGS, descriptor
from hoplab.model.records.schema import TABLES, Table

SUFFIX = ".jsonl"
READ_BYTES = 1 << 20
"""Bytes that are read at once from one file, so that none delays the others."""
LINE_BYTES = 1 << 16
"""A longer line is not one of a run's records."""
LARGEST: dict[type, float] = {int: (1 << 63) - 1, float: sys.float_info.max}
TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "float": (float, int)}


class Follower:
    """Reads what has been added to ``raw/TABLE.jsonl`` and ``raw/TABLE-SOURCE.jsonl``.

    As in the tables, records of daemons after ``end_s``, while the run is taken down, are left out.
    """

    def __init__(self, folder: Path, end_s: float, deliver: Callable[[Batch], None]) -> None:
        self.unreadable = 0
        """Lines that are no row of their table."""
        self._folder = folder / "raw"
        self._end_s = end_s
        self._deliver = deliver
        self._files: dict[str, _File] = {}

    def poll(self) -> bool:
        """Deliver new rows. Returns whether there may be more at once."""
        for name in self._new_names():
            self._files[name] = _File(self._folder / name, TABLES[_table_of(name)], self._end_s)
        more = False
        for name in sorted(self._files):
            file = self._files[name]
            rows, full = file.read()
            more = more or full
            if rows:
                self._deliver(Batch(file.table.name, rows))
        self.unreadable = sum(file.unreadable for file in self._files.values())
        return more

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _new_names(self) -> Iterator[str]:
        try:
            names = [entry.name for entry in self._folder.iterdir()]
        except OSError:  # the guest has not made it yet
            return
        for name in names:
            if name.endswith(SUFFIX) and name not in self._files and _table_of(name) in TABLES:
                yield name


class _File:
    """One growing file."""

    def __init__(self, path: Path, table: Table, end_s: float) -> None:
        self.table = table
        self._end_s = end_s
        self.unreadable = 0
        self._rest = b""
        self._skips = False
        """Whether the present line is too long, and already counted."""
        self._columns = [
            (column.name, TYPES[column.type], column.null is not None) for column in table.columns
        ]
        self._descriptor = opened(path)

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """Return the rows that are complete by now, and whether the file may have more."""
        if self._descriptor is None:
            return [], False
        came = os.read(self._descriptor, READ_BYTES)
        if not came:
            return [], False
        lines = (self._rest + came).split(b"\n")
        self._rest = lines.pop()
        if self._skips and lines:
            del lines[0]
            self._skips = False
        if len(self._rest) > LINE_BYTES:
            self.unreadable += not self._skips
            self._skips, self._rest = True, b""
        rows = [row for line in lines if (row := self._row(line)) is not None]
        if self.table.timed:
            rows = [row for row in rows if row["t_s"] <= self._end_s]
        return rows, len(came) == READ_BYTES

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _row(self, line: bytes) -> dict[str, Any] | None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and row.keys() == self.table.names and self._fits(row):
            return row
        self.unreadable += 1
        return None

    def _fits(self, row: dict[str, Any]) -> bool:
        """Return whether every value fits its column: numbers that all readers have."""
        for name, kinds, can_miss in self._columns:
            value = row[name]
            kind = type(value)  # a bool would pass for an integer
            if value is None and can_miss:
                continue
            if kind not in kinds:
                return False
            if kind is not str and not -LARGEST[kind] <= value <= LARGEST[kind]:
                return False
        return True


def _table_of(name: str) -> str:
    return name.removesuffix(SUFFIX).partition("-")[0]


def content(path: Path) -> bytes:
    """Return the content of a plain file, up to a megabyte, or nothing if there is none."""
    found = opened(path)
    if found is None:
        return b""
    try:
        return os.read(found, READ_BYTES)
    finally:
        os.close(found)


def opened(path: Path) -> int | None:
    """Return a descriptor, or None if it is no plain file."""
    try:
        return descriptor(path, FLAGS | os.O_NOFOLLOW)
    except OSError:
        return None
