# SPDX-License-Identifier: Apache-2.0
"""Tables are read within limits, and leave no thread of Arrow's with Python's memory behind."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.host.results import parquet

READ_AND_COUNT = """
import sys
from pathlib import Path
from hoplab.host.results import parquet
before = len(list(Path("/proc/self/task").iterdir()))
for _ in range(20):
    assert parquet.read(Path(sys.argv[1])).num_rows == 5000
print(len(list(Path("/proc/self/task").iterdir())) - before)
"""


def test_reading_starts_no_thread(tmp_path: Path) -> None:
    """An interpreter that ends while such a thread works aborts."""
    path = tmp_path / "a\udcff.parquet"
    columns = {f"c{i}": list(range(5000)) for i in range(20)}
    table = pa.table(columns)
    with parquet.Writer(path, table.schema) as writer:
        writer.add(table)
    done = subprocess.run(
        [sys.executable, "-c", READ_AND_COUNT, str(path)], capture_output=True, check=True
    )
    assert done.stdout == b"0\n"


def test_a_small_file_of_a_large_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of one value is a few octets in the file, and all of its rows in memory."""
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"c": [1] * 1_000_000}), path)
    assert path.stat().st_size < 10_000
    assert parquet.read(path).num_rows == 1_000_000
    monkeypatch.setattr(parquet, "MOST_OCTETS", 7_999_999)
    with pytest.raises(OSError, match="is a table of more than"):
        parquet.read(path)


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "table.parquet")
    with pytest.raises(OSError, match="pipe"):
        parquet.read(tmp_path / "table.parquet")
