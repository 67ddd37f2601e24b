# SPDX-License-Identifier: Apache-2.0
"""Digests of a run's results, and checks whether the results still match them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hoplab.host.results import arrow, parquet
from hoplab.host.results.manifest import DIGESTS_BY_COLUMNS, Manifest
from hoplab.model.keys.variants import uses_sack
from hoplab.model.reading import opened
from hoplab.model.records.schema import TABLES

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Digests:
    """SHA-256 of each table's values and of each capture's bytes. ``digest`` covers only the
    tables, so that a capture does not change it."""

    tables: dict[str, str]
    captures: dict[str, str]

    @property
    def digest(self) -> str:
        """The run's digest."""
        lines = [f"table {name} {found}\n" for name, found in sorted(self.tables.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def of_captures(run: Path) -> dict[str, str]:
    """Return the digests of the captures in a run's folder."""
    return {path.name: _of_file(path) for path in sorted((run / "captures").glob("*"))}


def of_table(name: str, table: pa.Table) -> str:
    """Return a table's digest (`TableDigest`)."""
    digest = TableDigest(name)
    digest.add(table)
    return digest.hexdigest()


class TableDigest:
    """Digest of a table's values, which come in parts. How the parts were cut makes no difference.

    It is not of Parquet's bytes, which differ between versions of the Parquet library. Each column
    has three hashes: of which rows have a value, of the lengths of texts, and of the values one
    after the other. A number is 64 bits, little-endian, and a text UTF-8. A column that was added
    to its table later does not count while no row has a value. Nor does `sack` of `flows` while it
    repeats what the variant's name says.
    """

    def __init__(self, name: str) -> None:
        declared = TABLES[name].columns if name in TABLES else ()
        self._later = {column.name for column in declared if column.later}
        self._repeats = {"sack"} if name == "flows" else set()
        """Columns without a value that other columns do not tell already."""
        self._columns: dict[str, _ColumnDigest] = {}

    def add(self, part: pa.Table | pa.RecordBatch) -> None:
        """Go on with more rows. Raises `pyarrow.ArrowException` for values that no table has."""
        for field, column in zip(part.schema, part.columns, strict=True):
            if field.type not in (*arrow.TYPES.values(), pa.null()):
                raise pa.ArrowTypeError(f"column {field.name} is of type {field.type}")
            digest = self._columns.setdefault(field.name, _ColumnDigest())
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
                digest.add(chunk)
        if self._repeats and not _repeats_variants(part):
            self._repeats = set()

    def hexdigest(self) -> str:
        """Return the digest of the rows so far."""
        sha = hashlib.sha256()
        for name, column in sorted(self._columns.items()):
            if name in self._repeats:
                continue
            if column.has_values or name not in self._later:
                sha.update(f"column {name} {column.hexdigest()}\n".encode())
        return sha.hexdigest()


def _repeats_variants(flows: pa.Table | pa.RecordBatch) -> bool:
    """Return whether each flow uses SACK as its variant does, if nothing else is asked for."""
    columns = dict(zip(flows.schema.names, flows.columns, strict=True))
    if "sack" not in columns:
        return True
    used = columns["sack"].to_pylist()
    names = columns["congestion_control"].to_pylist() if "congestion_control" in columns else used
    pairs = zip(names, used, strict=True)
    return all(value is None or value == uses_sack(name) for name, value in pairs)


class _ColumnDigest:
    def __init__(self) -> None:
        self.has_values = False
        self._present, self._lengths, self._values = (hashlib.sha256() for _ in range(3))

    def add(self, chunk: pa.Array) -> None:
        if chunk.null_count == 0:
            self._present.update(b"\1" * len(chunk))
            values = chunk
        else:
            self._present.update(_octets(pc.cast(chunk.is_valid(), pa.uint8())))
            values = chunk.drop_null()
        if len(values) == 0:
            return
        self.has_values = True
        if pa.types.is_string(values.type):
            self._lengths.update(_octets(pc.binary_length(values)))
        self._values.update(_octets(values))

    def hexdigest(self) -> str:
        hashes = (self._present, self._lengths, self._values)
        return " ".join(sha.hexdigest() for sha in hashes)


def _octets(array: pa.Array) -> memoryview:
    """Return the octets of an array's values, none of which is null."""
    offset, data = array.offset, memoryview(array.buffers()[-1] or b"")
    if pa.types.is_string(array.type):
        ends = memoryview(array.buffers()[1]).cast("i")
        return data[ends[offset] : ends[offset + len(array)]]
    width = array.type.bit_width // 8
    return data[offset * width : (offset + len(array)) * width]


def damage(run: Path, manifest: Manifest) -> Iterator[str]:
    """Yield a line for each table and capture that differs from the manifest."""
    if manifest.tables is None:
        yield "manifest.json: names no tables; the run is from another version, or not complete"
        return
    if manifest.version < DIGESTS_BY_COLUMNS:
        yield "manifest.json: its digests are of an earlier version's form; run it again"
        return
    for name, why in altered(manifest, on_disk(run, manifest)).items():
        yield f"tables/{name}.parquet: {why}"
    for name, told in manifest.captures.items():
        path = run / "captures" / name
        if not path.is_file():
            yield f"captures/{name}: {GONE}"
        elif _of_file(path) != told:
            yield f"captures/{name}: {ALTERED}"
    if Digests(manifest.tables, manifest.captures).digest != manifest.digest:
        yield "manifest.json: its digest is not that of its tables"


def on_disk(run: Path, manifest: Manifest) -> dict[str, str]:
    """Return, for each table that is there or should be, its digest or why there is none."""
    names = dict.fromkeys(manifest.tables or ())
    names |= dict.fromkeys(sorted(path.stem for path in (run / "tables").glob("*.parquet")))
    return {name: _table_on_disk(name, run / "tables" / f"{name}.parquet") for name in names}


def altered(manifest: Manifest, found: Mapping[str, str]) -> dict[str, str]:
    """Return what happened to each table of `on_disk` that is not the manifest's."""
    told = manifest.tables or {}
    return {
        name: (digest if digest in REASONS else ALTERED) if name in told else ADDED
        for name, digest in found.items()
        if digest != told.get(name)
    }


GONE, BROKEN, ALTERED, ADDED = (
    "is not there",
    "cannot be read: damaged or cut short",
    "has been altered since the run",
    "was not there when the run ended",
)
REASONS = (GONE, BROKEN)


def _table_on_disk(name: str, path: Path) -> str:
    """Return the table's digest, or why there is none."""
    if not path.is_file():
        return GONE
    digest = TableDigest(name)
    try:
        with parquet.opened_table(path) as table:
            for batch in table.iter_batches(BATCH_ROWS, use_threads=False):
                digest.add(batch)
        return digest.hexdigest()
    except (OSError, pa.ArrowException):
        return BROKEN


def _of_file(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
