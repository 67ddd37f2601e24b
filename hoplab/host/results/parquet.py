# SPDX-License-Identifier: Apache-2.0
"""Parquet files through Python's own file objects. Arrow's take only names in UTF-8."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hoplab.model import writing
from hoplab.model.reading import opened

MOST_OCTETS = 16 << 30
"""Octets of a table in memory: 10^8 rows of the widest one. A file of some kB may claim more."""
OCTETS_A_VALUE = 8


@contextlib.contextmanager
def opened_table(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file of at most `MOST_OCTETS`. Raises errors as `read` does."""
    with opened(path) as file:
        table = pq.ParquetFile(file, pre_buffer=False)
        about = table.metadata
        groups = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        values = about.num_rows * about.num_columns
        if max(sum(groups), values * OCTETS_A_VALUE) > MOST_OCTETS:
            raise OSError(errno.EFBIG, f"is a table of more than {MOST_OCTETS >> 30} GiB")
        yield table


def read(path: Path, mistake: Callable[[pa.Schema], str | None] = lambda schema: None) -> pa.Table:
    """Read a table. Raises `OSError` or `pyarrow.ArrowException` for an unreadable file, and before
    its values are read for one whose columns have a ``mistake``.

    Arrow's threads are off. If one drops a buffer of Python's while the interpreter ends, the
    process aborts ("terminate called without an active exception").
    """
    with opened_table(path) as table:
        wrong = mistake(table.schema_arrow)
        if wrong is not None:
            raise pa.ArrowInvalid(wrong)
        return table.read(use_threads=False)


class Writer:
    """Writes a table in parts, inside a ``with`` statement. Raises `OSError` if the file cannot be
    written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._stack = contextlib.ExitStack()
        file = self._stack.enter_context(writing.new(path))
        # Numbers seldom repeat. A dictionary of them makes files larger, and takes time.
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        writer = pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=texts)
        self._writer = self._stack.enter_context(writer)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def add(self, part: pa.Table) -> None:
        """Write more rows."""
        self._writer.write_table(part)
