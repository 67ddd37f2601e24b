# SPDX-License-Identifier: Apache-2.0
"""The tables as Arrow tables. The files' metadata hold units and meanings."""

from __future__ import annotations

import struct
from array import array
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES, Column, Table

TYPES = {"string": pa.string(), "integer": pa.int64(), "float": pa.float64()}


def schema(table: Table) -> pa.Schema:
    """Return columns with their metadata ``unit``, ``meaning`` and ``null``, and the table's
    ``rows``."""
    return pa.schema([_field(column) for column in table.columns], metadata={"rows": table.rows})


def from_rows(name: str, rows: list[dict[str, Any]], source: str) -> pa.Table:
    """Return an Arrow table from rows that name all columns of the table ``name``.

    Raises `ResultsError`, which names ``source``, if a value is missing or has another type than
    the schema's.
    """
    table = TABLES[name]
    arrays = []
    for column in table.columns:
        values = [row[column.name] for row in rows]
        try:
            array = pa.array(values, type=TYPES[column.type])
        except (pa.ArrowException, OverflowError) as error:
            raise ResultsError(f"{source}: column {column.name}: {error}") from None
        wrong = mistake(column, array)
        if wrong is not None:
            raise ResultsError(f"{source}: column {column.name}: {wrong}")
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema(table))


def empty(name: str) -> pa.Table:
    """Return the table ``name`` without rows."""
    return pa.Table.from_batches([], schema(TABLES[name]))


def numbers(values: array[int] | array[float]) -> pa.Array:
    """Return an array of 64 bits each, ``q`` or ``d``, without a copy."""
    kind = pa.int64() if values.typecode == "q" else pa.float64()
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def scalar(value: float | str) -> pa.Scalar:
    """Return a value as an operand. Arrow takes Python's own too, but loads Pandas, where it is
    installed, to ask what they are: some 0.2 s."""
    if isinstance(value, str):
        text = value.encode()
        ends = pa.py_buffer(struct.pack("=ii", 0, len(text)))
        return pa.StringArray.from_buffers(1, ends, pa.py_buffer(text))[0]
    return numbers(array("d", [value]))[0]


def from_lines(name: str, lines: bytes) -> pa.Table:
    """Return an Arrow table from JSON objects, one a line.

    Raises `pyarrow.ArrowException` if a line is no object, has another column or a value of another
    type. Raises `ResultsError` if a column or value is missing, or a value is not one of the
    schema's.
    """
    table = TABLES[name]
    wanted = schema(table)
    options = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    # With nulls allowed: the reader takes a column without a value for any of another type.
    nullable = pa.schema([pa.field(field.name, field.type) for field in wanted])
    parsing = arrow_json.ParseOptions(nullable, unexpected_field_behavior="error")
    found = arrow_json.read_json(pa.BufferReader(lines), options, parsing)
    found.validate(full=True)
    for column in table.columns:
        wrong = mistake(column, found[column.name])
        if wrong is not None:
            raise ResultsError(f"column {column.name}: {wrong}")
    # Arrow takes null for a column that a line lacks, and refuses one that it names twice. In a
    # text the quotes are escaped, which makes too many.
    if lines.count(b'":') != len(found) * len(table.columns):
        raise ResultsError("a column is missing in a line")
    return found.select(wanted.names).cast(wanted)


def completed(name: str, found: pa.Table) -> pa.Table:
    """Add null for the columns that the table ``name`` got after ``found`` was written."""
    for column in TABLES[name].columns:
        if column.later and column.name not in found.column_names:
            found = found.append_column(_field(column), pa.nulls(len(found), TYPES[column.type]))
    names = [field.name for field in schema(TABLES[name])]
    return found.select(names) if set(found.column_names) == set(names) else found


def _field(column: Column) -> pa.Field:
    metadata = {"meaning": column.meaning}
    if column.unit is not None:
        metadata["unit"] = column.unit
    if column.null is not None:
        metadata["null"] = column.null
    return pa.field(column.name, TYPES[column.type], column.null is not None, metadata)


def mistake(column: Column, array: Any) -> str | None:
    """Return how a column's values contradict its declaration."""
    if column.null is None and array.null_count:
        return f"has {array.null_count} rows without a value, and each needs one"
    if column.values is not None:
        others = set(array.unique().to_pylist()) - {None, *column.values}
        if others:
            return f"{sorted(others)[0]!r} is none of {', '.join(column.values)}"
    return None
