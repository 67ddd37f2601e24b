# SPDX-License-Identifier: Apache-2.0
"""One schema of records: what writes, converts and documents tables follows it or fails."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.front.pages import tables as page
from hoplab.host.results import tables
from hoplab.host.results.manifest import Manifest
from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES
from hoplab.model.records.writer import Records
from hoplab.model.resources import PROJECT

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
    assert tables.convert(run, 10)["events"].num_rows == 1
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
    assert tables.convert(run, 10)["events"]["t_s"].to_pylist() == [1.5, 10]


def test_a_table_from_before_a_column_came_can_be_read(tmp_path: Path) -> None:
    row = dict.fromkeys(TABLES["flows"].names)
    row |= {"flow": "f", "protocol": "udp", "src": "a", "dst": "b", "start_s": 0, "stop_s": 1}
    tables.convert(run_with(tmp_path, row, name="flows"), 10)
    path = tmp_path / "tables" / "flows.parquet"
    whole = pq.read_table(path)

    def without(*columns: str) -> pa.Table:
        pq.write_table(whole.drop_columns(columns), path)
        return Results(tmp_path, Manifest.model_construct(), {}).flows

    assert without("first_octet_s", "rtt_ms_min").equals(whole, check_metadata=True)
    with pytest.raises(ResultsError, match="lacks goodput_kbps; it is from another version"):
        without("goodput_kbps")


def test_the_page_follows_the_schema() -> None:
    written = (PROJECT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert written.splitlines() == list(page.lines()), "python -m hoplab.front.pages.tables"
    assert all(f"## {name}" in written for name in TABLES)
