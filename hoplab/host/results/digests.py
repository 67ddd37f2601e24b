# SPDX-License-Identifier: Apache-2.0
"""Digests of a run's results, and checks whether the results still match them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hoplab.host.results import parquet
from hoplab.host.results.manifest import Manifest
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


def of_run(run: Path, tables: dict[str, pa.Table]) -> Digests:
    """Return the digests of a run's tables, and of the captures in its folder."""
    captures = {path.name: _of_file(path) for path in sorted((run / "captures").glob("*"))}
    return Digests({name: of_table(name, table) for name, table in tables.items()}, captures)


def of_table(name: str, table: pa.Table) -> str:
    """Return the digest of a table's values, not of Parquet's bytes, which differ between versions
    of the Parquet library. Of a column that was added to its table later, only existing values
    count."""
    sha = hashlib.sha256()
    declared = TABLES[name].columns if name in TABLES else ()
    later = [column.name for column in declared if column.later]
    for batch in table.to_batches(BATCH_ROWS):
        for row in batch.to_pylist():
            for column in later:
                if row.get(column, 0) is None:
                    del row[column]
            sha.update(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    return sha.hexdigest()


def damage(run: Path, manifest: Manifest) -> Iterator[str]:
    """Yield a line for each table and capture that differs from the manifest."""
    if manifest.tables is None:
        yield "manifest.json: names no tables; the run is from another version, or not complete"
        return
    present = {path.stem for path in (run / "tables").glob("*.parquet")}
    for name, told in manifest.tables.items():
        found = _table_on_disk(name, run / "tables" / f"{name}.parquet")
        if found != told:
            yield f"tables/{name}.parquet: {found if found in REASONS else ALTERED}"
    for name in sorted(present - manifest.tables.keys()):
        yield f"tables/{name}.parquet: {ADDED}"
    for name, told in manifest.captures.items():
        path = run / "captures" / name
        if not path.is_file():
            yield f"captures/{name}: {GONE}"
        elif _of_file(path) != told:
            yield f"captures/{name}: {ALTERED}"
    if Digests(manifest.tables, manifest.captures).digest != manifest.digest:
        yield "manifest.json: its digest is not that of its tables"


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
    try:
        return of_table(name, parquet.read(path))
    except (OSError, pa.ArrowException):
        return BROKEN


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
