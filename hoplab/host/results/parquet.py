# SPDX-License-Identifier: Apache-2.0
"""Parquet files by Python's own file objects: Arrow's take no name that is not UTF-8."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hoplab.model.reading import opened


def read(path: Path) -> pa.Table:
    """Raises `OSError` or `pyarrow.ArrowException` for what cannot be read.

    Without Arrow's threads: one that drops a buffer of Python's while the interpreter ends aborts
    the process ("terminate called without an active exception").
    """
    with opened(path) as file:
        return pq.ParquetFile(file, pre_buffer=False).read(use_threads=False)


def write(table: pa.Table, path: Path) -> None:
    """Raises `OSError` where the file cannot be written."""
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
