# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[snr]]`: measured links, and the file of `radio.snr_trace`."""

from __future__ import annotations

import csv
import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import Name, Table, Time, key
from hoplab.model.reading import read_bytes
from hoplab.model.wording import worded

MAX_BYTES = 64 << 20
MAX_POINTS = 1_000_000
"""Points of all links."""
MAX_MEASURED_LINKS = 50_000
"""Both ways between all of more than 200 stations."""
COLUMNS = ("t_s", "src", "dst", "snr_db")
TOLD = ("numbers", "text", "text", "numbers")
CSV, PARQUET = ".csv", ".parquet"

Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-100, le=150)]
Row = tuple[float, str, str, float]


class Snr(Table):
    """Signal to noise ratio of a link's frames at their receiver, as it was measured.

    Where one link has it, positions and propagation decide nothing: a link that no table names
    carries nothing.
    """

    src: Name = key(..., "sender")
    dst: Name = key(..., "receiver")
    points: tuple[tuple[Time, Ratio], ...] = key(
        ...,
        "`[[t_s, snr_db], …]`: linear between two, constant before and after all; two at "
        "one time are a jump",
        min_length=1,
        max_length=MAX_POINTS,
    )

    @field_validator("points")
    @classmethod
    def _in_order(cls, points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        for (before, _), (after, _) in pairwise(points):
            if after < before:
                raise ValueError(f"{after:g} s follows {before:g} s; put them in order of time")
        return points

    def at(self, t_s: float) -> float:
        """The ratio in dB at a time in s, as the medium has it."""
        after = bisect_right(self.points, t_s, key=lambda point: point[0])
        if after in (0, len(self.points)):
            return self.points[max(after - 1, 0)][1]
        (begin_s, from_db), (end_s, to_db) = self.points[after - 1 : after + 1]
        return from_db + (to_db - from_db) * (t_s - begin_s) / (end_s - begin_s)


def load(path: Path) -> tuple[Snr, ...]:
    """Return the links of a trace, CSV or Parquet with the columns `COLUMNS`, in any order of rows.

    Links come in order of their names. Raises `ScenarioError` that names file, row and value.
    """
    if path.suffix not in (CSV, PARQUET):
        raise ScenarioError(
            f"radio.snr_trace: {path}: expected a file whose name ends with {CSV} or {PARQUET}"
        )
    data = read_bytes(path, MAX_BYTES, "a CSV or Parquet file of measured links")
    rows = _csv(data, path) if path.suffix == CSV else _parquet(data, path)
    links: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, (t_s, src, dst, snr_db) in enumerate(rows, start=1):
        if number > MAX_POINTS:
            raise ScenarioError(f"{path}: has more than {MAX_POINTS} rows; shorten it")
        links.setdefault((src, dst), []).append((t_s, snr_db))
    if not links:
        raise ScenarioError(f"{path}: has no rows; expected the columns {', '.join(COLUMNS)}")
    found = []
    for (src, dst), points in sorted(links.items()):
        points.sort(key=lambda point: point[0])
        try:
            found.append(Snr.model_validate({"src": src, "dst": dst, "points": tuple(points)}))
        except ValidationError as error:
            why = worded(error)[0]["msg"]
            raise ScenarioError(f"{path}: link {src!r} to {dst!r}: {why}") from None
    return tuple(found)


def _csv(data: bytes, path: Path) -> Iterator[Row]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; expected CSV") from None
    lines = csv.DictReader(io.StringIO(text, newline=""))
    _columns(lines.fieldnames or (), path)
    try:
        for line in lines:
            yield _row([line[name] for name in COLUMNS], f"{path}:{lines.line_num}")
    except csv.Error as error:
        raise ScenarioError(f"{path}:{lines.line_num}: {error}") from None


def _parquet(data: bytes, path: Path) -> Iterator[Row]:
    import pyarrow  # a guest lacks it, and reads no trace
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        _columns(file.schema_arrow.names, path)
        for name, told in zip(COLUMNS, TOLD, strict=True):
            kind = file.schema_arrow.field(name).type
            suits = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
            if told == "text":
                suits = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
            if not suits:
                raise ScenarioError(
                    f"{path}: column {name}: is of type {str(kind)[:60]}; expected {told}"
                )
        number = 0
        for batch in file.iter_batches(columns=list(COLUMNS)):
            for values in zip(*(batch[name].to_pylist() for name in COLUMNS), strict=True):
                number += 1
                yield _row(values, f"{path}: row {number}")
    except (pyarrow.ArrowException, OSError, RecursionError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ScenarioError(f"{path}: is no Parquet file that can be read: {reason}") from None


def _columns(names: Iterable[str], path: Path) -> None:
    names = list(names)
    for name in COLUMNS:
        if name not in names:
            raise ScenarioError(
                f"{path}: has no column {name!r}; expected the columns {', '.join(COLUMNS)}"
            )
        if names.count(name) > 1:
            raise ScenarioError(f"{path}: has the column {name!r} twice; remove one")


def _row(values: Iterable[object], where: str) -> Row:
    t_s, src, dst, snr_db = values
    for name, station in (("src", src), ("dst", dst)):
        if not isinstance(station, str):
            raise ScenarioError(f"{where}: {name}: {station!r}; expected a station")
    return _number(t_s, "t_s", where), str(src), str(dst), _number(snr_db, "snr_db", where)


def _number(value: object, name: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ScenarioError(f"{where}: {name}: {value!r}; expected a number")
    return number
