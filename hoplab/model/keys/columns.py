# SPDX-License-Identifier: Apache-2.0
"""A file with columns of numbers and texts: CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from hoplab.model.errors import ScenarioError
from hoplab.model.reading import read_bytes

MAX_BYTES = 64 << 20
CSV, PARQUET = ".csv", ".parquet"

Columns = Mapping[str, Literal["number", "station"]]
"""Names of columns, and what is in them."""
Row = tuple[float | str, ...]


def rows(path: Path, key: str, columns: Columns, most: int, what: str) -> Iterator[Row]:
    """Return the rows of a file: values of ``columns`` in their order. Others are passed over.
    ``key`` names the file in a scenario, and ``what`` says what the file is of.

    Raises `ScenarioError` that names file, row and value, also for more rows than ``most``.
    """
    if path.suffix not in (CSV, PARQUET):
        raise ScenarioError(
            f"{key}: {path}: expected a file whose name ends with {CSV} or {PARQUET}"
        )
    data = read_bytes(path, MAX_BYTES, f"a CSV or Parquet file of {what}")
    found = _csv(data, path, columns) if path.suffix == CSV else _parquet(data, path, columns)
    number = 0
    for row in found:
        number += 1
        if number > most:
            raise ScenarioError(f"{path}: has more than {most} rows; shorten it")
        yield row
    if not number:
        raise ScenarioError(f"{path}: has no rows; expected the columns {', '.join(columns)}")


def _csv(data: bytes, path: Path, columns: Columns) -> Iterator[Row]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; expected CSV") from None
    lines = csv.DictReader(io.StringIO(text, newline=""))
    _require(lines.fieldnames or (), path, columns)
    try:
        for line in lines:
            yield _row([line[name] for name in columns], columns, f"{path}:{lines.line_num}")
    except csv.Error as error:
        raise ScenarioError(f"{path}:{lines.line_num}: {error}") from None


def _parquet(data: bytes, path: Path, columns: Columns) -> Iterator[Row]:
    import pyarrow  # a guest lacks it, and reads no trace
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        _require(file.schema_arrow.names, path, columns)
        for name, told in columns.items():
            kind = file.schema_arrow.field(name).type
            suits = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
            if told == "station":
                suits = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
            if not suits:
                expected = "numbers" if told == "number" else "text"
                raise ScenarioError(
                    f"{path}: column {name}: is of type {str(kind)[:60]}; expected {expected}"
                )
        number = 0
        for batch in file.iter_batches(columns=list(columns)):
            for values in zip(*(batch[name].to_pylist() for name in columns), strict=True):
                number += 1
                yield _row(values, columns, f"{path}: row {number}")
    except (pyarrow.ArrowException, OSError, RecursionError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ScenarioError(f"{path}: is no Parquet file that can be read: {reason}") from None


def _require(names: Iterable[str], path: Path, columns: Columns) -> None:
    names = list(names)
    for name in columns:
        if name not in names:
            raise ScenarioError(
                f"{path}: has no column {name!r}; expected the columns {', '.join(columns)}"
            )
        if names.count(name) > 1:
            raise ScenarioError(f"{path}: has the column {name!r} twice; remove one")


def _row(values: Iterable[object], columns: Columns, where: str) -> Row:
    pairs = zip(columns.items(), values, strict=True)
    return tuple(
        _number(value, name, where) if told == "number" else _text(value, name, where)
        for (name, told), value in pairs
    )


def _text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise ScenarioError(f"{where}: {name}: {value!r}; expected a station")
    return value


def _number(value: object, name: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ScenarioError(f"{where}: {name}: {value!r}; expected a number")
    return number
