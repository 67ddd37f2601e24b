# SPDX-License-Identifier: Apache-2.0
"""The tables of a run as `schema.toml` declares them: names, types, units, meanings."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column. ``null`` says when it has no value, and is None if it always has one."""

    name: str
    type: str
    """``string``, ``integer`` or ``float``, both of 64 bits."""
    meaning: str
    unit: str | None = None
    values: tuple[str, ...] | None = None
    null: str | None = None
    later: bool = False
    """Whether the digest omits the column if it has no value."""


@dataclass(frozen=True)
class Table:
    """A table: the meaning of a row, and its columns in order."""

    name: str
    rows: str
    timed: bool
    """Whether its rows are sorted by ``t_s`` and cut at ``duration_s``."""
    keys: tuple[str, ...]
    """Columns that identify the subject of a row."""
    columns: tuple[Column, ...]
    time: str | None = None
    """The column with a row's time; None if all rows belong to the run's end."""

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the columns."""
        return frozenset(column.name for column in self.columns)

    def mistake(self, row: dict[str, Any]) -> str | None:
        """Return the columns that a row lacks or has in excess; None if it has exactly the
        table's."""
        if row.keys() == self.names:
            return None
        unknown = sorted(row.keys() - self.names)
        if unknown:
            return f"table {self.name} has no column {', '.join(unknown)}"
        return f"table {self.name} needs a value or null for {', '.join(self.names - row.keys())}"


def _table(entry: dict[str, Any]) -> Table:
    columns = [
        Column(**{**column, "values": tuple(column["values"])} if "values" in column else column)
        for column in entry.pop("columns")
    ]
    keys = tuple(entry.pop("keys"))
    time = entry.pop("time", "t_s" if entry["timed"] else None)
    return Table(columns=tuple(columns), keys=keys, time=time, **entry)


def load(path: Path) -> dict[str, Table]:
    """The tables that a file declares, by name."""
    tables = [_table(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["table"]]
    return {table.name: table for table in tables}


TABLES = load(Path(__file__).with_name("schema.toml"))
"""Every table by name, in the order in which they are declared."""
