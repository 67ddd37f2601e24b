# SPDX-License-Identifier: Apache-2.0
"""Reading tables leaves no thread of Arrow's with Python's memory behind."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

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
    parquet.write(pa.table(columns), path)
    done = subprocess.run(
        [sys.executable, "-c", READ_AND_COUNT, str(path)], capture_output=True, check=True
    )
    assert done.stdout == b"0\n"
