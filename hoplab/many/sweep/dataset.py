# SPDX-License-Identifier: Apache-2.0
"""The results of a sweep as one Parquet file: a row a run and flow, parameters as columns.

Its columns:

    PARAMETERS…   a column each, by their names
    seed, key, digest, error
    flow, …       the columns of table `flows`, null where the run failed or has no flow
    energy_j      that all radios of the run used
"""

from __future__ import annotations

import contextlib
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hoplab.host.results import arrow
from hoplab.many.sweep.engine import Done
from hoplab.many.sweep.points import Sweep
from hoplab.many.sweep.summary import energy_j
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES

GROUP_ROWS = 100_000
"""Rows that are collected and sorted before they are written. A smaller dataset is in the order of
the axes."""
FIXED = (
    pa.field("seed", pa.int64(), False, {"meaning": "The scenario's seed."}),
    pa.field("key", pa.string(), False, {"meaning": "The run's, in the store."}),
    pa.field("digest", pa.string(), True, {"meaning": "Over the values of all the run's tables."}),
    pa.field("error", pa.string(), True, {"meaning": "Why the run failed."}),
)
ENERGY = pa.field(
    "energy_j", pa.float64(), True, {"unit": "J", "meaning": "That all radios of the run used."}
)


def schema(sweep: Sweep) -> pa.Schema:
    """Return the schema of the dataset."""
    flows = [column.with_nullable(True) for column in arrow.schema(TABLES["flows"])]
    parameters = [pa.field(n, _type(sweep.values(n))) for n in sweep.parameters]
    return pa.schema([*parameters, *FIXED, *flows, ENERGY])


def _type(values: list[Any]) -> pa.DataType:
    if all(isinstance(value, bool) for value in values):
        return pa.bool_()
    if any(isinstance(value, bool | str) for value in values):
        return pa.string()
    whole = all(isinstance(value, int) for value in values)
    return pa.int64() if whole else pa.float64()


class Dataset:
    """Takes runs as they end. After `close` the file is complete and in its place."""

    def __init__(self, path: Path, sweep: Sweep) -> None:
        self.path = path
        self.rows = 0
        self._sweep = sweep
        self._schema = schema(sweep)
        self._places = [{repr(v): i for i, v in enumerate(sweep.values(n))} for n in self._names]
        self._waiting: list[dict[str, Any]] = []
        self._partial = path.with_name(f".{path.name}.partial")
        self._writer: Any = None
        self._open()

    @property
    def _names(self) -> tuple[str, ...]:
        return self._sweep.parameters

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._partial.open("wb")
        except OSError as error:
            raise ResultsError(
                f"{self.path}: cannot be written: {error.strerror}; name another folder with --out"
            ) from None
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def add(self, done: Done) -> None:
        """Add a run that has ended."""
        texts = [self._schema.field(name).type == pa.string() for name in self._names]
        values = done.point.parameters.values()
        head = {
            **{
                name: str(value) if text and value is not None else value
                for name, value, text in zip(self._names, values, texts, strict=True)
            },
            "seed": done.point.seed,
            "key": done.key,
            "digest": done.digest,
            "error": done.error,
            "energy_j": None if done.error is not None else energy_j(done),
        }
        order = tuple(
            places.get(repr(value), len(places))
            for places, value in zip(self._places, values, strict=True)
        )
        flows = [] if done.error is not None else done.rows("flows")
        for number, row in enumerate(flows or [{}]):
            self._waiting.append({**row, **head, "": (order, done.point.seed, number)})
        if len(self._waiting) >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._waiting.sort(key=itemgetter(""))
        columns = [
            pa.array([row.get(column.name) for row in self._waiting], type=column.type)
            for column in self._schema
        ]
        self.rows += len(self._waiting)
        self._waiting.clear()
        try:
            self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        except OSError as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Write the rest, and move the file to its place."""
        try:
            self._flush()
            self._writer.close()
            self._file.close()
            self._partial.replace(self.path)
        except OSError as error:
            self.abandon()
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> ResultsError:
        return ResultsError(
            f"{self.path}: cannot be written: {error.strerror or error}; make room there, or name "
            "another folder with --out: the runs are in the store"
        )

    def abandon(self) -> None:
        """Discard the new file and keep the old one."""
        for end in (self._writer.close, self._file.close, self._partial.unlink):
            with contextlib.suppress(OSError):
                end()
