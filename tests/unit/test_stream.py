# SPDX-License-Identifier: Apache-2.0
"""A run's samples reach every sink, and no sink can hold anybody up."""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.runs.push import sweep_name
from hoplab.host.stream import chosen, grafana
from hoplab.host.stream import outlet as outlet_module
from hoplab.host.stream.about import plan_rows
from hoplab.host.stream.follow import LINE_BYTES, Follower
from hoplab.host.stream.hub import Stream
from hoplab.host.stream.outlet import Outlet
from hoplab.host.stream.sink import Batch, Course, Refused, Sink, Unavailable
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.scenario import Scenario
from hoplab.model.records.schema import TABLES

PATIENCE_S = 3600.0
"""For what is done at once: a test that waits so long hangs."""
EVENT = {"t_s": 1.5, "node": "n0", "source": "dsr", "kind": "drop", "detail": "why=full"}
SCENARIO = Scenario.model_validate({"duration_s": 5, "topology": {"kind": "explicit"}})
COURSE = Course("run", Path("run"), SCENARIO, "uml", 1_700_000_000_000_000_000)


class Keeper(Sink):
    """Remembers all that it is given."""

    name = "keeper"
    every_s = 0.0

    def __init__(self) -> None:
        self.course: Course | None = None
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.ended = False

    def begin(self, course: Course) -> None:
        self.course = course

    def take(self, batches: Sequence[Batch]) -> None:
        for table, rows in batches:
            self.rows.setdefault(table, []).extend(rows)

    def end(self) -> None:
        self.ended = True


class Doing(Keeper):
    """Does something first."""

    def __init__(self, action: Callable[[], None]) -> None:
        super().__init__()
        self.action = action

    def take(self, batches: Sequence[Batch]) -> None:
        self.action()
        super().take(batches)


def line(**changes: Any) -> str:
    return json.dumps({**EVENT, **changes}) + "\n"


def follower(run: Path) -> tuple[Follower, list[Batch]]:
    (run / "raw").mkdir(exist_ok=True)
    came: list[Batch] = []
    return Follower(run, 5.0, came.append), came


def test_rows_come_as_they_are_written(tmp_path: Path) -> None:
    following, came = follower(tmp_path)
    following.poll()
    assert not came
    with (tmp_path / "raw" / "events-n0.jsonl").open("w") as file:
        file.write(line() + line(t_s=2)[:20])
        file.flush()
        following.poll()
        assert came == [Batch("events", [EVENT])]
        file.write(line(t_s=2)[20:])
        file.flush()
        (tmp_path / "raw" / "events.jsonl").write_text(line(t_s=3))
        following.poll()
    assert [row["t_s"] for batch in came for row in batch.rows] == [1.5, 2, 3]
    assert following.unreadable == 0
    following.close()


def test_what_comes_after_the_end_is_left_out(tmp_path: Path) -> None:
    following, came = follower(tmp_path)
    (tmp_path / "raw" / "events.jsonl").write_text(line(t_s=5) + line(t_s=5.1))
    following.poll()
    following.close()
    assert [row["t_s"] for batch in came for row in batch.rows] == [5]
    assert following.unreadable == 0


def test_what_is_no_row_is_counted_and_left_out(tmp_path: Path) -> None:
    following, came = follower(tmp_path)
    wrong = [
        "{",
        "[]",
        "[" * 50_000,
        json.dumps({**EVENT, "more": 1}),
        json.dumps({"t_s": 1}),
        line(t_s="1").strip(),
        line(t_s=True).strip(),
        line(t_s=None).strip(),
        line(t_s=float("nan")).strip(),
        line().strip().replace("1.5", "1e999"),
        line(node=7).strip(),
        "x" * (3 * LINE_BYTES),
        "\udcff",
    ]
    text = "\n".join([*wrong, line().strip()]) + "\n"
    (tmp_path / "raw" / "events.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    while following.poll():
        pass
    assert came == [Batch("events", [EVENT])]
    assert following.unreadable == len(wrong)
    following.close()


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    following, came = follower(tmp_path)
    with (tmp_path / "raw" / "events.jsonl").open("w") as file:
        for _ in range(40):
            file.write("x" * LINE_BYTES)
            file.flush()
            following.poll()
        (only,) = following._files.values()
        assert len(only._rest) <= LINE_BYTES
        file.write("\n" + line())
        file.flush()
        following.poll()
    assert came == [Batch("events", [EVENT])] and following.unreadable == 1
    following.close()


def test_what_is_no_plain_file_of_a_table_is_left_alone(tmp_path: Path) -> None:
    following, came = follower(tmp_path)
    raw = tmp_path / "raw"
    (tmp_path / "secret").write_text(line())
    (raw / "events-link.jsonl").symlink_to(tmp_path / "secret")
    (raw / "nodes.jsonl").mkdir()
    (raw / "unknown.jsonl").write_text(line())
    (raw / "events.json").write_text(line())
    os.mkfifo(raw / "events-pipe.jsonl")
    following.poll()
    following.close()
    assert not came


def outlet(sink: Sink, limit_rows: int = 100) -> Outlet:
    made = Outlet(sink, limit_rows)
    made.begin(COURSE)
    return made


def test_a_sink_is_told_begin_rows_and_end() -> None:
    sink = Keeper()
    made = outlet(sink)
    for t_s in range(50):
        made.put(Batch("events", [{**EVENT, "t_s": t_s}]))
    made.close(PATIENCE_S)
    assert sink.course == COURSE and sink.ended
    assert [row["t_s"] for row in sink.rows["events"]] == list(range(50))
    account = made.account()
    assert (account.samples, account.dropped, account.warning()) == (50, 0, None)


def test_a_slow_sink_loses_its_oldest_rows_and_nobody_waits() -> None:
    go = threading.Event()
    sink = Doing(lambda: (go.wait(), None)[1])
    made = outlet(sink)
    for t_s in range(10_000):  # which ends only if nobody waits for the sink
        made.put(Batch("events", [{**EVENT, "t_s": t_s}]))
    go.set()
    made.close(PATIENCE_S)
    account = made.account()
    assert account.samples + account.dropped == 10_000
    assert account.samples <= 200
    assert sink.rows["events"][-1]["t_s"] == 9_999
    assert (account.warning() or "").startswith(f"stream to keeper: {account.dropped} of 10000")


def test_a_sink_that_hangs_is_left_behind() -> None:
    forever = threading.Event()
    made = outlet(Doing(lambda: (forever.wait(), None)[1]))
    made.put(Batch("events", [EVENT]))
    made.close(0.2)  # which ends while the sink still hangs
    assert made.account().dropped == 1
    forever.set()


def test_rows_are_offered_again_to_a_sink_that_was_away() -> None:
    tries = []

    def action() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise Unavailable("nobody listens")

    sink = Doing(action)
    made = outlet(sink)
    made.put(Batch("events", [EVENT]))
    while not sink.rows:
        time.sleep(0.01)
    made.close(PATIENCE_S)
    assert len(tries) == 3 and sink.rows == {"events": [EVENT]}
    assert made.account().warning() is None


def test_a_sink_that_stays_away_costs_one_more_try_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outlet_module, "FIRST_PAUSE_S", PATIENCE_S)  # the end does not wait for it

    def action() -> None:
        raise Unavailable("nobody listens")

    made = outlet(Doing(action))
    for _ in range(5):
        made.put(Batch("events", [EVENT]))
    made.close(PATIENCE_S)
    expected = "stream to keeper: 5 of 5 samples dropped: nobody listens"
    assert made.account().warning() == expected


def test_what_a_sink_refuses_is_dropped_at_once() -> None:
    def action() -> None:
        raise Refused("HTTP 401")

    made = outlet(Doing(action))
    made.put(Batch("events", [EVENT]))
    made.close(PATIENCE_S)
    assert made.account().warning() == "stream to keeper: 1 of 1 samples dropped: HTTP 401"


def test_a_sink_with_a_mistake_harms_nobody() -> None:
    made = outlet(Doing(lambda: print(1 // 0)))
    made.put(Batch("events", [EVENT]))
    made.close(PATIENCE_S)
    assert "ZeroDivisionError" in (made.account().warning() or "")


def test_a_stream_gives_every_sink_every_row(tmp_path: Path) -> None:
    sinks = [Keeper(), Keeper()]
    with Stream(sinks) as stream:
        stream.begin(tmp_path, SCENARIO, "uml", real_time=False)
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw" / "events.jsonl").write_text(line())
        stream.progress(1.0, 0.5, 100.0)
        (tmp_path / "raw" / "medium.json").write_text('{"frames": {"acked": 7}, "lateness": null}')
    for sink in sinks:
        assert sink.ended and sink.course is not None
        assert sink.course.date_ns(1.5) == sink.course.start_ns + 1_500_000_000
        assert sink.rows["events"] == [EVENT]
        assert [row["state"] for row in sink.rows["run"]] == ["running", "complete"]
        assert sink.rows["progress"] == [{"t_s": 1.0, "wall_s": 0.5, "goodput_kbps": 100.0}]
        assert sink.rows["health"] == [{"item": "frames.acked", "value": 7.0}]
    assert [account.dropped for account in stream.accounts] == [0, 0]


def test_in_real_time_the_lab_says_when_time_0_is(tmp_path: Path) -> None:
    sink = Keeper()
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "events.jsonl").write_text(line())
    with Stream([sink]) as stream:
        stream.begin(tmp_path, SCENARIO, "host", real_time=True)
        time.sleep(0.2)
        assert sink.course is None
        (tmp_path / "raw" / "verdict.json").write_text('{"realtime_epoch_ns": 123}')
        while sink.course is None:
            time.sleep(0.01)
    assert sink.course is not None and sink.course.start_ns == 123
    assert sink.rows["events"] == [EVENT]


def test_keys_and_times_are_columns() -> None:
    for table in TABLES.values():
        assert set(table.keys) <= table.names, table.name
        assert table.time is None or table.time in table.names, table.name
        assert not table.timed or table.time == "t_s"


def test_a_row_of_the_run_goes_with_each_second(tmp_path: Path) -> None:
    """So a dashboard that shows a part of a run knows of it."""
    sink = Keeper()
    rows = [dict.fromkeys(TABLES["nodes"].names, 0) | {"node": "n0", "t_s": t} for t in (0.5, 3.2)]
    for row in rows:
        for column in TABLES["nodes"].columns:
            if column.type == "float" and column.name != "t_s":
                row[column.name] = 0.0
    with Stream([sink]) as stream:
        stream.begin(tmp_path, SCENARIO, "uml", real_time=False)
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw" / "nodes.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        deadline = time.monotonic() + 10
        while stream.course is None and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [row["t_s"] for row in sink.rows["run"]] == [0, 1, 2, 3, 5]
    assert {row["start_s"] for row in sink.rows["run"]} == {sink.rows["run"][0]["start_s"]}


def test_a_session_goes_on_beyond_the_scenarios_duration(tmp_path: Path) -> None:
    """Which is 5 s: what a user does later comes to the page too, and ends the stream's time."""
    sink = Keeper()
    later = [{**EVENT, "t_s": t_s} for t_s in (4.0, 5.5, 70.25)]
    rows = [dict.fromkeys(TABLES["nodes"].names, 0.0) | {"node": "n0", "t_s": 70.5}]
    whole = {column.name for column in TABLES["nodes"].columns if column.type == "integer"}
    rows = [{key: 0 if key in whole else value for key, value in row.items()} for row in rows]
    with Stream([sink]) as stream:
        stream.begin(tmp_path, SCENARIO, "uml", real_time=False, endless=True)
        (tmp_path / "raw").mkdir()
        for table, records in (("events", later), ("nodes", rows)):
            text = "".join(json.dumps(record) + "\n" for record in records)
            (tmp_path / "raw" / f"{table}.jsonl").write_text(text)
        while stream.course is None:
            time.sleep(0.01)
    assert [row["t_s"] for row in sink.rows["events"]] == [4.0, 5.5, 70.25]
    assert sink.rows["nodes"] == rows
    told = [row["t_s"] for row in sink.rows["run"]]
    assert told == [*range(71), 70.5]


def test_what_a_scenario_plans_is_told(tmp_path: Path) -> None:
    events = [
        {"at_s": 2, "kind": "down", "station": "n1"},
        {"at_s": 3, "kind": "move", "station": "n1", "x_m": 5, "y_m": -2.5},
        {"at_s": 4, "kind": "loss", "src": "n0", "dst": "n1", "rate": 0.5},
    ]
    scenario = SCENARIO.model_validate(SCENARIO.model_dump() | {"event": events})
    planned = plan_rows(Course("run", tmp_path, scenario, "uml", 0))
    assert planned == [
        {"at_s": 2, "node": "n1", "kind": "down", "detail": ""},
        {"at_s": 3, "node": "n1", "kind": "move", "detail": "x_m=5 y_m=-2.5"},
        {"at_s": 4, "node": "n0", "kind": "loss", "detail": "dst=n1 rate=0.5"},
    ]


def test_links_have_the_run_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(grafana.GRAFANA, raising=False)
    course = Course("a run", Path("run"), SCENARIO, "uml", 1_700_000_000_000_000_000)
    assert grafana.of_run(course) == (
        "http://127.0.0.1:3000/d/hoplab-run?var-run=a+run&from=1700000000000&to=1700000005000"
    )
    monkeypatch.setenv(grafana.GRAFANA, "https://lab/grafana/")
    link = grafana.of_sweep("chain", 1_700_000_000_000_000_000)
    assert link is not None
    assert link.startswith("https://lab/grafana/d/hoplab-sweep?var-sweep=chain&from=1699")
    monkeypatch.setenv(grafana.GRAFANA, "")
    assert grafana.of_run(course) is None
    for wrong in ("lab:3000", "http://", "http://h:0", "http://h:x", "http://h/\x1b", "ftp://h"):
        monkeypatch.setenv(grafana.GRAFANA, wrong)
        with pytest.raises(ScenarioError, match=r"HOPLAB_GRAFANA: .* expected http"):
            chosen.sinks(["http://127.0.0.1:8428"], None)
        assert chosen.sinks(None, None) == []


def test_a_database_alone_has_a_link(tmp_path: Path) -> None:
    for is_database, lines in ((False, 1), (True, 2)):
        sink = Keeper()
        sink.is_database = is_database
        (tmp_path / "raw").mkdir(exist_ok=True)
        told: list[str] = []
        with Stream([sink], tell=told.append) as stream:
            stream.begin(tmp_path, SCENARIO, "uml", real_time=False)
        assert len(stream.summary()) == lines
        assert told == stream.summary()[1:]


def test_a_pushed_sweep_is_named_after_its_folder() -> None:
    assert sweep_name(Path("/sweeps/chain/results.parquet")) == "chain"
    assert sweep_name(Path("/sweeps/chain/windows.parquet")) == "windows"
