# SPDX-License-Identifier: Apache-2.0
"""A run in a file: what it was, how it ended, and the tables that were kept.

    32 bytes   SHA-256 of all that follows
     8 bytes   "hoplab" 0x00, format
     8 bytes   length of the header as it lies here and decompressed, 32 bits each, little-endian
    header     JSON, compressed with Zstandard
    tables     Arrow IPC streams, each compressed with Zstandard, one after the other

Parquet would take ten times the space for tables of a row or two. A run's digest is over all its
tables. The header therefore holds the digest of every table, kept or not. Tables that a later run
of the same key adds are checked against these digests.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import pyarrow as pa
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from hoplab.host.machine.sealed import SHORT
from hoplab.host.results import arrow, checked, digests
from hoplab.model.errors import ResultsError
from hoplab.model.reading import mistake
from hoplab.model.records.schema import TABLES

MAGIC = b"hoplab\x00\x01"
LENGTHS = struct.Struct("<II")
SHA_BYTES = 32
LARGEST_HEADER_BYTES = 256 << 20
LARGEST_TABLE_BYTES = 4 << 30
LEVEL = 9
TOTALS = ("flows", "links", "radios", "routing")
"""The tables that are kept by default: totals of a run, not values over time."""


Text = Annotated[str, StringConstraints(max_length=100_000)]
Size = Annotated[int, Field(ge=0, le=LARGEST_TABLE_BYTES)]


class _Kept(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    rows: Size
    bytes: Size
    at: Size


class _Head(BaseModel):
    """The types of a header, which may come from others."""

    model_config = ConfigDict(strict=True, extra="ignore")

    key: Text
    machine: Text
    scenario: dict[str, Any]
    error: Text | None
    digest: Text | None
    digests: dict[str, Text]
    tables: dict[str, _Kept]
    evaluation: Text = ""
    made: Text | None = None

    @model_validator(mode="after")
    def _fits(self) -> _Head:
        if not self.tables.keys() <= self.digests.keys() & TABLES.keys():
            raise ValueError("tables: names one without a digest, or none of hoplab's")
        return self


@dataclass(frozen=True)
class Entry:
    """A run that ended. ``head`` describes it, and ``blobs`` are its tables in the file's form.
    Immutable; `made` and `failed` make entries, `unpack` reads them."""

    head: Mapping[str, Any]
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        return str(self.head["key"])

    @property
    def called(self) -> str:
        """The run's name in messages."""
        return f"run {self.key[:SHORT]}"

    @property
    def error(self) -> str | None:
        """The reason why the run failed; None if it did not."""
        error = self.head["error"]
        return None if error is None else str(error)

    @property
    def digest(self) -> str | None:
        """The run's digest over all its tables; None if it failed."""
        digest = self.head["digest"]
        return None if digest is None else str(digest)

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario."""
        scenario: dict[str, Any] = self.head["scenario"]
        return scenario

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that were kept and have rows."""
        return tuple(sorted(self.blobs))

    def has(self, names: Iterable[str]) -> bool:
        """Return whether the tables are available: they were kept, or the run had no rows for
        them."""
        known = self.head["digests"]
        return all(name in self.blobs or name not in known for name in names)

    def table(self, name: str) -> pa.Table:
        """Return the table ``name``, without rows if the run had none.

        Raises `ResultsError` if it was not kept, or is damaged.
        """
        if name not in TABLES:
            raise ResultsError(f"{name!r} is no table; one of: {', '.join(TABLES)}")
        if name in self.blobs:
            return self._read(name)
        if name in self.head["digests"]:
            raise ResultsError(f"{self.called}: its table {name} was not kept; ask for it")
        return arrow.empty(name)

    def _read(self, name: str) -> pa.Table:
        size = self.head["tables"][name]["bytes"]
        try:
            if not 0 <= size <= LARGEST_TABLE_BYTES:
                raise ValueError(f"{size} bytes")
            plain = pa.decompress(self.blobs[name], decompressed_size=size, codec="zstd")
            found = arrow.completed(name, pa.ipc.open_stream(plain).read_all())
            wrong = checked.schema_mistake(name, found.schema)
            if wrong is not None:
                raise ValueError(wrong)
            found.validate(full=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ResultsError(f"{self.called}: table {name} is damaged: {error}") from None
        wanted = arrow.schema(TABLES[name])
        # Units and meanings come from the schema, so that the store does not repeat them a million
        # times.
        return found.cast(wanted) if found.schema.names == wanted.names else found

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of `table`, null as None."""
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def damage(self) -> str | None:
        """Return how the tables contradict their digests, or None if they do not."""
        for name in self.blobs:
            try:
                found = digests.of_table(name, self._read(name))
            except ResultsError as error:
                return str(error)
            if found != self.head["digests"][name]:
                return f"{self.called}: table {name} is not what the run made"
        return None

    def with_tables_of(self, other: Entry) -> Entry:
        """Return this run with the tables, too, that another run of the same key kept.

        Raises `ResultsError` if the digests differ: then a run was not repeatable.
        """
        if other.error is not None or self.error is not None:
            return self
        if self.head["digests"] != other.head["digests"]:
            raise ResultsError(
                f"{self.called}: digest {str(self.digest)[:SHORT]} here, "
                f"{str(other.digest)[:SHORT]} in the store: a run was not repeatable; "
                "'hoplab store verify' runs it again"
            )
        tables = {**other.head["tables"], **self.head["tables"]}
        return replace(
            self, head={**self.head, "tables": tables}, blobs={**other.blobs, **self.blobs}
        )


def made(head: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> Entry:
    """Return the entry of a run that succeeded, with the ``tables`` to keep."""
    blobs, about = {}, {}
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        plain = table.replace_schema_metadata().cast(_bare(table.schema))
        with pa.ipc.new_stream(sink, plain.schema) as stream:
            stream.write_table(plain.combine_chunks())
        raw = sink.getvalue()
        blobs[name] = pa.Codec("zstd", compression_level=LEVEL).compress(raw, asbytes=True)
        about[name] = {"rows": table.num_rows, "bytes": raw.size}
    return Entry({"error": None, **head, "tables": about}, blobs)


def failed(head: Mapping[str, Any], error: str, exit_status: int) -> Entry:
    """Return the entry of a run that failed."""
    return Entry(
        {
            **head,
            "error": error,
            "exit_status": exit_status,
            "digest": None,
            "digests": {},
            "tables": {},
        }
    )


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.type) for column in schema])


def pack(entry: Entry) -> bytes:
    """The bytes of the entry's file."""
    names = sorted(entry.blobs)
    about = {name: {**entry.head["tables"][name], "at": len(entry.blobs[name])} for name in names}
    text = json.dumps({**entry.head, "tables": about}, separators=(",", ":")).encode()
    header = pa.Codec("zstd", compression_level=LEVEL).compress(text, asbytes=True)
    parts = [MAGIC, LENGTHS.pack(len(header), len(text)), header]
    body = b"".join([*parts, *(entry.blobs[name] for name in names)])
    return hashlib.sha256(body).digest() + body


def unpack(content: bytes, source: object) -> Entry:
    """Read an entry's file. If it is damaged, raises `ResultsError`, which names ``source``."""
    body = memoryview(content)[SHA_BYTES:]
    if hashlib.sha256(body).digest() != content[:SHA_BYTES]:
        raise ResultsError(f"{source}: is damaged or cut short; it will be run again")
    if bytes(body[: len(MAGIC)]) != MAGIC:
        raise ResultsError(f"{source}: is of another version of hoplab, or no run's entry")
    try:
        at = len(MAGIC) + LENGTHS.size
        length, plain = LENGTHS.unpack(body[len(MAGIC) : at])
        if plain > LARGEST_HEADER_BYTES:
            raise ValueError(f"a header of {plain} bytes")
        text = pa.decompress(bytes(body[at : at + length]), plain, codec="zstd", asbytes=True)
        head = json.loads(text)
        _Head.model_validate(head)
        blobs, at = {}, at + length
        for name in sorted(head["tables"]):
            end = at + int(head["tables"][name]["at"])
            blobs[name] = bytes(body[at:end])
            at = end
        if at != len(body):
            raise ValueError("it does not fit its header")
    except ValidationError as error:
        raise ResultsError(f"{source}: is no run's entry: header: {mistake(error)}") from None
    except (
        *(ValueError, KeyError, TypeError, RecursionError, struct.error),
        *(OSError, pa.ArrowException),
    ) as error:
        raise ResultsError(f"{source}: is no run's entry: {error}") from None
    return Entry(head, blobs)
