# SPDX-License-Identifier: Apache-2.0
"""Tables that somebody damaged or wrote: each command that reads them ends with one line."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.host.analysis import ns2trace
from hoplab.host.analysis import trace as traces
from hoplab.host.results import arrow, load
from hoplab.host.results.reader import Results
from hoplab.host.runs import collect, compare, push
from hoplab.model.errors import HoplabError, ResultsError, ScenarioError
from hoplab.model.keys import snr
from hoplab.model.records.schema import TABLES
from hoplab.show import report
from hoplab.show.report import overlay
from hoplab.show.report.summary import summary_html, summary_of
from tests.unit.test_report import _row, _run
from tests.unit.test_runs_folder import killed

__all__ = ["killed"]

DROP = "cause=ttl src=10.0.0.1 dst=10.0.0.2 protocol=6 id=1 bytes=40 ports=1>2 seq=3"


def whole(folder: Path) -> Results:
    """A run with a row in each table."""
    run = _run(folder, 2, 1, measure={"packets": True, "frames": True})
    rows = {name: _row(name) for name in TABLES}
    for name, keys in (("nodes", ["node"]), ("radios", ["node"]), ("events", ["node"])):
        rows[name] |= dict.fromkeys(keys, "n0")
    for name in ("links", "link_samples", "signals", "frames"):
        rows[name] |= {"src": "n0", "dst": "n1"}
    rows["frames"] |= {"kind": "data", "fate": "delivered", "protocol": "tcp", "attempt": 1}
    rows["frames"] |= {"packet_src": "10.0.0.1", "packet_dst": "10.0.0.2"}
    rows["events"] |= {"source": "dsr", "kind": "drop", "detail": DROP}
    for name in ("flows", "tcp", "packets", "exchanges"):
        rows[name]["flow"] = "flow0"
    rows["packets"] |= {"received_s": 1.5}
    rows["wifi_queues"] |= {"node": "n0", "peer": "n1"}
    for name, row in rows.items():
        for column in TABLES[name].columns:
            if column.values is not None and row[column.name] not in column.values:
                row[column.name] = None if column.null else column.values[0]
        made = arrow.from_rows(name, [row], "test")
        pq.write_table(made, folder / "tables" / f"{name}.parquet")
    manifest = {"run": "x", "seed": 1, "started": "2026-01-01T00:00:00Z", "machine": "uml"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return load(run.run_dir)


READERS: dict[str, Callable[[Path], Any]] = {
    "report": report.render,
    "trace": lambda run: list(ns2trace.lines(load(run), mac=True)),
    "events": lambda run: traces.trace(load(run)),
    "plot": lambda run: overlay.write({"run": load(run)}, run / "plot.html"),
    "print": lambda run: (summary_of(load(run)), summary_html(load(run))),
    "diff": lambda run: list(compare.runs(load(run), load(run))),
    "push": lambda run: list(push.batches(push.course(run))),
}


def deep(column: pa.ChunkedArray) -> pa.Array:
    kind: pa.DataType = pa.int64()
    for _ in range(20):
        kind = pa.list_(kind)
    return pa.nulls(len(column), kind)


def replaced(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def columns(table: pa.Table, damage: Callable[[str, pa.ChunkedArray], Any]) -> pa.Table:
    for name in table.column_names:
        made = damage(name, table[name])
        if made is not None:
            table = replaced(table, name, made)
    return table


def of_type(kind: pa.DataType, value: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: columns(
        table, lambda name, c: pa.array([value] * len(c), kind) if c.type == kind else None
    )


DAMAGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "all null": lambda table: columns(table, lambda name, c: pa.nulls(len(c), c.type)),
    "no type": lambda table: columns(table, lambda name, c: pa.nulls(len(c))),
    "nested deep": lambda table: columns(table, lambda name, c: deep(c)),
    "other types": lambda table: columns(table, lambda name, c: pa.array([b"x"] * len(c))),
    "a column twice": lambda table: table.append_column(
        table.column_names[0], table[table.column_names[0]]
    ),
    "without a column": lambda table: table.drop_columns(table.column_names[-1:]),
    "other texts": of_type(pa.string(), "n0<img src=x>"),
    "empty texts": of_type(pa.string(), ""),
    "stars": of_type(pa.string(), "*"),
    "not a number": of_type(pa.float64(), math.nan),
    "without end": of_type(pa.float64(), -math.inf),
    "huge": of_type(pa.int64(), (1 << 63) - 1),
    "below 0": of_type(pa.int64(), -1),
}


def test_the_whole_run_is_read(tmp_path: Path) -> None:
    run = whole(tmp_path / "run").run_dir
    for read in READERS.values():
        read(run)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_told_in_a_line(tmp_path: Path, damage: str) -> None:
    """What the door lets pass, every reader can take, in all tables at once."""
    run = whole(tmp_path / "run").run_dir
    refused = 0
    for name in TABLES:
        path = run / "tables" / f"{name}.parquet"
        good = path.read_bytes()
        pq.write_table(DAMAGES[damage](pq.read_table(path)), path)
        try:
            load(run).table(name)
        except ResultsError as error:
            assert len(str(error).splitlines()) == 1
            assert f"{name}.parquet" in str(error)
            refused += 1
            path.write_bytes(good)
    for word, read in READERS.items():
        try:
            read(run)
        except HoplabError as error:
            assert len(str(error).splitlines()) == 1
        except Exception as error:
            raise AssertionError(f"{word}: {damage}") from error
    if damage in ("all null", "no type", "nested deep", "other types", "a column twice"):
        assert refused == len(TABLES)


def test_a_station_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = whole(tmp_path / "run").run_dir
    for name, column in (("links", "dst"), ("nodes", "node"), ("frames", "src")):
        path = run / "tables" / f"{name}.parquet"
        table = pq.read_table(path)
        pq.write_table(replaced(table, column, pa.array(["n0<img src=x>"] * len(table))), path)
        with pytest.raises(ResultsError, match=rf"{name}.*column {column}: .* no station 'n0<img"):
            load(run).table(name)


@pytest.mark.parametrize("detail", ["", "cause", "cause=ttl src=x", DROP.replace("6", "x")])
def test_an_event_that_no_run_makes_is_named(tmp_path: Path, detail: str) -> None:
    run = whole(tmp_path / "run").run_dir
    row = _row("events", node="n0", source="dsr", kind="drop", detail=detail)
    made = arrow.from_rows("events", [row], "test")
    pq.write_table(made, run / "tables" / "events.parquet")
    if detail.startswith("cause=ttl src=10"):
        traces.trace(load(run))
    with pytest.raises(ResultsError, match=r"events.parquet: a row of .* does not belong to its"):
        list(ns2trace.lines(load(run)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("raw/tcp.jsonl", "[" * 100_000 + "\n{}\n"),
        ("raw/tcp.jsonl", "3\n{}\n"),
        ("raw/tcp.jsonl", '{"flow": {"a": {}}}\n{}\n'),
        ("raw/medium.json", "[1]"),
        ("raw/verdict.json", "[" * 100_000),
        ("scenario.json", "[" * 100_000),
        ("scenario.json", '{"station": 3}'),
    ],
)
def test_damaged_records_are_told_by_finish(killed: Path, name: str, text: str) -> None:
    (killed / name).write_text(text)
    try:
        assert collect.finish(killed).medium is None
    except ResultsError as error:
        assert len(str(error).splitlines()) == 1
        assert Path(name).name in str(error)


def trace_of(path: Path, **changed: Any) -> Path:
    values: dict[str, Any] = {"t_s": [0.0], "src": ["n0"], "dst": ["n1"], "snr_db": [10.0]}
    arrays = {name: pa.array(column) for name, column in values.items()} | changed
    pq.write_table(pa.table(arrays), path)
    return path


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"src": pa.array([None], pa.string())}, "row 1: src: None; expected a station"),
        ({"src": pa.nulls(1)}, "column src: is of type null; expected text"),
        ({"t_s": deep(pa.chunked_array([[1.0]]))}, "column t_s: is of type list<"),
        ({"snr_db": pa.array([None], pa.float64())}, "snr_db: None; expected a number"),
        ({"dst": pa.array([3])}, "column dst: is of type int64; expected text"),
    ],
)
def test_a_damaged_trace_of_links_is_told(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        snr.load(trace_of(tmp_path / "a.parquet", **changed))
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_trace_of_links_has_a_column_once(tmp_path: Path) -> None:
    table = pq.read_table(trace_of(tmp_path / "a.parquet"))
    pq.write_table(table.append_column("src", table["src"]), tmp_path / "a.parquet")
    with pytest.raises(ScenarioError, match="has the column 'src' twice"):
        snr.load(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("t_s,src,dst,snr_db\n1,n0\n")
    with pytest.raises(ScenarioError, match="dst: None; expected a station"):
        snr.load(tmp_path / "a.csv")
