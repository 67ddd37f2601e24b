# SPDX-License-Identifier: Apache-2.0
"""Raw records: one JSON object a line, one file a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from pydantic_core import PydanticSerializationError, to_json

from hoplab.model import writing
from hoplab.model.records.schema import TABLES


def write(raw: Path, table: str, rows: Iterable[Mapping[str, Any]], add: bool = False) -> None:
    """Write ``raw/TABLE.jsonl``, after the run; ``add`` to what is there."""
    path = raw / f"{table}.jsonl"
    with writing.added(path) as file:
        if not add:
            file.truncate(0)
        file.writelines(map(_line, rows))


def _line(row: Mapping[str, Any]) -> str:
    try:
        return to_json(row).decode() + "\n"
    except PydanticSerializationError:  # a text that is no Unicode, which JSON can still tell
        return json.dumps(row) + "\n"


class Records:
    """Buffered writers for ``raw/TABLE.jsonl`` during the run; a full buffer, `flush` or `close`
    reaches the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, IO[str]] = {}

    def add(self, table: str, **row: Any) -> None:
        """Add a row. Raises `ValueError` unless it names exactly the table's columns; no value is
        None."""
        mistake = TABLES[table].mistake(row)
        if mistake is not None:
            raise ValueError(mistake)
        file = self._files.get(table)
        if file is None:
            path = self._folder / f"{table}.jsonl"
            file = self._files[table] = writing.added(path, 1 << 16)
        file.write(_line(row))

    def flush(self) -> None:
        """Write to the disk what readers that follow the run can see, also when it is stopped from
        outside."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
