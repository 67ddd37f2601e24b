# SPDX-License-Identifier: Apache-2.0
"""Rows as Influx line protocol.

    hoplab_TABLE,run=NAME,KEY=VALUE,… COLUMN=VALUE,… DATE

The table's keys are tags, and its other columns fields with the schema's types. Null is left out. A
field that is one of few words has a second form ``COLUMN_code``, its index among them from 0. It is
for databases that keep only numbers. Dates are in ns.

The protocol has no escape for a line's end anywhere, which therefore becomes a blank. It has none
for a backslash in a tag, which becomes a slash. (InfluxDB keeps a backslash, VictoriaMetrics takes
it for an escape.) https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from hoplab.host.stream.sink import Batch, Course
from hoplab.host.stream.tables import TABLES
from hoplab.model.records.schema import Column, Table

PREFIX = "hoplab_"
CODE = "_code"
CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
IN_TAG = re.compile(r"[ ,=]")
Format = Callable[[Any], str]


class Encoder:
    """Turns one run's rows into lines."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._tables = {name: _Lines(table, course) for name, table in TABLES.items()}

    def text(self, batches: Sequence[Batch]) -> bytes:
        """Return the rows, a line each. Rows without any field have no line."""
        lines = (line for table, rows in batches for line in self._tables[table].of(rows))
        return "".join(lines).encode("utf-8", "replace")


class _Lines:
    """One table's rows."""

    def __init__(self, table: Table, course: Course) -> None:
        self._course = course
        self._time = table.time
        self._head = f"{PREFIX}{table.name},run={tag(course.run) or 'unnamed'}"
        self._keys = [(key, f",{key}=") for key in table.keys]
        self._fields = [
            field
            for column in table.columns
            if column.name not in table.keys
            for field in _fields(column)
        ]

    def of(self, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
        course, time = self._course, self._time
        for row in rows:
            fields = ",".join(
                [name + form(row[key]) for key, name, form in self._fields if row[key] is not None]
            )
            if not fields:
                continue
            tags = [
                name + value
                for key, name in self._keys
                if row[key] is not None and (value := tag(str(row[key])))
            ]
            t_s = course.scenario.duration_s if time is None else row[time]
            yield f"{self._head}{''.join(tags)} {fields} {course.date_ns(t_s)}\n"


@lru_cache(maxsize=4096)
def tag(value: str) -> str:
    """Return a tag's value, empty for a value that must be left out."""
    plain = CONTROL.sub(" ", value).replace("\\", "/")
    return IN_TAG.sub(lambda found: "\\" + found[0], plain)


def _fields(column: Column) -> Iterator[tuple[str, str, Format]]:
    """Yield the row's key, the field's name with its sign, and the format of its value."""
    if column.type == "integer":
        yield column.name, f"{column.name}=", "{}i".format
    elif column.type == "float":
        yield column.name, f"{column.name}=", lambda value: repr(float(value))
    else:
        yield column.name, f"{column.name}=", _string
        if column.values is not None:
            codes = {value: f"{code}i" for code, value in enumerate(column.values)}
            # One beyond the last stands for an unknown word.
            unknown = f"{len(codes)}i"
            yield column.name, f"{column.name}{CODE}=", lambda word: codes.get(word, unknown)


def _string(value: str) -> str:
    plain = CONTROL.sub(" ", value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
