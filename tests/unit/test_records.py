# SPDX-License-Identifier: Apache-2.0
"""One schema of records: what writes, converts and documents tables follows it or fails."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.front.pages import tables as page
from hoplab.host.results import digests, tables
from hoplab.host.results.manifest import Manifest
from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES
from hoplab.model.records.writer import Records
from hoplab.model.resources import PROJECT
from tests.scenarios import of_a_run

EVENT = {"t_s": 1.5, "node": "n0", "source": "scenario", "kind": "flow-start", "detail": "flow0"}


def run_with(tmp_path: Path, *rows: Any, name: str = "events") -> Path:
    (tmp_path / "raw").mkdir()
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (tmp_path / "raw" / f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knid": "x"}, "has no column knid"),
        ({"detail": ...}, "needs a value or null for detail"),
    ],
)
def test_a_row_has_exactly_the_tables_columns(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    row = {key: value for key, value in {**EVENT, **change}.items() if value is not ...}
    records = Records(tmp_path)
    with pytest.raises(ValueError, match=message):
        records.add("events", **row)
    records.close()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ResultsError, match=f"line 2: table events {message}"):
        tables.convert(run_with(tmp_path, EVENT, row), 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node": None}, "column node: has 1 rows without a value"),
        ({"source": "medum"}, "column source: 'medum' is none of"),
        ({"kind": 7}, "column kind:"),
    ],
)
def test_values_are_as_declared(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultsError, match=message):
        tables.convert(run_with(tmp_path, EVENT, {**EVENT, **change}), 10)


def test_only_the_last_line_may_be_torn(tmp_path: Path) -> None:
    run = run_with(tmp_path, EVENT, '{"t_s": 2, "no')
    assert set(tables.convert(run, 10)) == {"events"}
    assert pq.read_table(run / "tables" / "events.parquet").num_rows == 1
    (run / "raw" / "events.jsonl").write_text('{"t_s": 2, "no\n' + json.dumps(EVENT))
    with pytest.raises(ResultsError, match="line 1 is damaged"):
        tables.convert(run, 10)


def test_units_and_meanings_are_in_the_files(tmp_path: Path) -> None:
    tables.convert(run_with(tmp_path, EVENT), 10)
    schema = pq.read_schema(tmp_path / "tables" / "events.parquet")
    assert schema.field("t_s").metadata[b"unit"] == b"s"
    assert schema.field("kind").metadata[b"meaning"] == b"What happened."
    assert schema.metadata[b"rows"].startswith(b"Something that happened")


def test_rows_after_the_end_are_cut(tmp_path: Path) -> None:
    run = run_with(tmp_path, {**EVENT, "t_s": 10.1}, EVENT, {**EVENT, "t_s": 10})
    tables.convert(run, 10)
    assert pq.read_table(run / "tables" / "events.parquet")["t_s"].to_pylist() == [1.5, 10]


def test_a_table_from_before_a_column_came_can_be_read(tmp_path: Path) -> None:
    row = dict.fromkeys(TABLES["flows"].names)
    row |= {"flow": "f", "protocol": "udp", "src": "a", "dst": "b", "start_s": 0, "stop_s": 1}
    tables.convert(run_with(tmp_path, row, name="flows"), 10)
    path = tmp_path / "tables" / "flows.parquet"
    whole = pq.read_table(path)

    def without(*columns: str) -> pa.Table:
        pq.write_table(whole.drop_columns(columns), path)
        return Results(tmp_path, Manifest.model_construct(), of_a_run()).flows

    assert without("first_octet_s", "rtt_ms_min").equals(whole, check_metadata=True)
    with pytest.raises(ResultsError, match="lacks goodput_kbps; it is from another version"):
        without("goodput_kbps")


def test_the_page_follows_the_schema() -> None:
    written = (PROJECT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert written.splitlines() == list(page.lines()), "python -m hoplab.front.pages.tables"
    assert all(f"## {name}" in written for name in TABLES)


def frames(*times: float) -> list[dict[str, Any]]:
    row = dict.fromkeys(TABLES["frames"].names)
    row |= {"src": "a", "kind": "data", "bytes": 9, "attempt": 1, "fate": "delivered"}
    row |= {"rate_mbps": 2.0}
    return [{**row, "t_s": t_s, "until_s": t_s, "bytes": n} for n, t_s in enumerate(times)]


@pytest.mark.parametrize("late_s", [0.5, 5.0])
def test_a_long_table_is_written_in_parts_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_s: float
) -> None:
    """A record may come late. If it comes later than expected, the table is sorted as a whole."""
    monkeypatch.setattr(tables, "PART_BYTES", 1 << 10)
    monkeypatch.setattr(tables, "GROUP_ROWS", 20)
    times = [0.1 * n - (late_s if n % 10 == 9 else 0.0) for n in range(60, 200)]
    times[20] = times[21]  # rows of the same time stay as they came
    rows = frames(*times)
    run = run_with(tmp_path, *rows, name="frames")
    digest = tables.convert(run, 1000)["frames"]
    path = tmp_path / "tables" / "frames.parquet"
    written = pq.read_table(path).to_pylist()
    assert written == sorted(rows, key=lambda row: row["t_s"])
    assert pq.ParquetFile(path).num_row_groups == (1 if late_s > tables.SPREAD_S else 12)
    assert digest == digests.of_table("frames", pq.read_table(path))


def test_arrow_and_python_read_the_same(tmp_path: Path) -> None:
    """What Arrow's reader refuses is read line by line: here, for its torn end."""
    numbers = (0, 1, -0.0, 0.1, 1e-9, 5e-324, 1.7976931348623157e308, 123456789.12345679)
    rows = [{**EVENT, "t_s": t_s, "detail": f"é{t_s}\n\u2028"} for t_s in numbers]
    whole = tables.recorded(run_with(tmp_path, *rows), "events")
    (tmp_path / "raw").rename(tmp_path / "first")
    assert tables.recorded(run_with(tmp_path, *rows, '{"t'), "events") == whole
    assert whole.to_pylist() == rows


def test_any_text_can_be_recorded(tmp_path: Path) -> None:
    """Also what is no Unicode, as a program's name may be: Arrow refuses such a line."""
    rows = [{**EVENT, "detail": detail} for detail in ('":\n\u2028', "é", "\udc80")]
    records = Records(tmp_path)
    for row in rows:
        records.add("events", **row)
    records.close()
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == rows


def test_a_column_that_may_be_null_may_not_be_missing(tmp_path: Path) -> None:
    (row,) = frames(0.5)
    lacking = {key: value for key, value in row.items() if key != "ttl"}
    with pytest.raises(ResultsError, match="line 2: table frames needs a value or null for ttl"):
        tables.convert(run_with(tmp_path, row, lacking, name="frames"), 10)


def test_a_damaged_line_between_parts_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PART_BYTES", 10)
    run = run_with(tmp_path, EVENT, '{"t_s": 2, "no', EVENT)
    with pytest.raises(ResultsError, match="line 2 is damaged"):
        tables.convert(run, 10)


def test_tables_are_made_without_pandas(tmp_path: Path) -> None:
    """Arrow loads it, where it is installed, for Python's own numbers and lists: some 0.2 s."""
    rows = frames(0.5, 1.0)
    run_with(tmp_path, *rows, name="frames")
    made = subprocess.run(
        [sys.executable, "-c", MAKE_TABLES, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == "1 False\n"


MAKE_TABLES = """
import importlib.util, sys
from pathlib import Path
from hoplab.host.results import tables
assert importlib.util.find_spec("pandas") is not None
tables.recorded(Path(sys.argv[1]), "tcp")
print(len(tables.convert(Path(sys.argv[1]), 0.7)), "pandas" in sys.modules)
"""
