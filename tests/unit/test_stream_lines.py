# SPDX-License-Identifier: Apache-2.0
"""Rows as Influx lines, and the sinks that write them."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoplab.host.runs.push import sweep_lines
from hoplab.host.stream.file import File
from hoplab.host.stream.influx import ANSWER_BYTES, TOKEN, Influx, endpoint
from hoplab.host.stream.line import Encoder
from hoplab.host.stream.sink import Batch, Course, Refused, Unavailable
from hoplab.host.stream.tables import TABLES
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.keys.scenario import Scenario
from tests.unit.conftest import Receiver

SCENARIO = Scenario.model_validate({"duration_s": 5, "topology": {"kind": "explicit"}})
EVENT = {"t_s": 1.5, "node": "n0", "source": "dsr", "kind": "drop", "detail": "why=full"}
Parsed = tuple[str, dict[str, str], dict[str, Any], int]


def course(run: str = "run") -> Course:
    return Course(run, Path(run), SCENARIO, "uml", 1_700_000_000_000_000_000)


def parsed(line: str) -> Parsed:
    """A line by the protocol's reference: what is escaped with a backslash, what ends where."""
    at = 0

    def word(ends: str, escapable: str) -> str:
        nonlocal at
        text = ""
        while at < len(line) and line[at] not in ends:
            if line[at] == "\\" and line[at + 1 : at + 2] and line[at + 1] in escapable:
                at += 1
            text += line[at]
            at += 1
        return text

    def quoted() -> str:
        nonlocal at
        text = ""
        at += 1
        while line[at] != '"':
            if line[at] == "\\" and line[at + 1] in '"\\':
                at += 1
            text += line[at]
            at += 1
        at += 1
        return text

    measurement = word(", ", ", ")
    tags, fields = {}, {}
    while line[at] == ",":
        at += 1
        name = word("=", ",= ")
        at += 1
        tags[name] = word(", ", ",= ")
    while line[at] in " ," and not (line[at] == " " and fields):
        at += 1
        name = word("=", ",= ")
        at += 1
        text = quoted() if line[at] == '"' else word(", ", "")
        fields[name] = text
    return measurement, tags, fields, int(line[at + 1 :])


def only(batch: Batch, run: str = "run") -> Parsed:
    text = Encoder(course(run)).text([batch]).decode()
    assert text.endswith("\n") and text.count("\n") == 1
    return parsed(text[:-1])


def test_a_row_is_a_line() -> None:
    text = Encoder(course()).text([Batch("events", [EVENT, {**EVENT, "t_s": 2}])])
    assert text.decode() == (
        "hoplab_events,run=run,node=n0,source=dsr,kind=drop"
        ' t_s=1.5,detail="why=full" 1700000001500000000\n'
        "hoplab_events,run=run,node=n0,source=dsr,kind=drop"
        ' t_s=2.0,detail="why=full" 1700000002000000000\n'
    )


def test_types_are_the_schemas_and_null_is_left_out() -> None:
    row: dict[str, Any] = dict.fromkeys(TABLES["tcp"].names)
    row |= {"t_s": 1, "flow": "flow0", "cwnd": 4, "rtt_ms": 20, "ca_state": "Recovery"}
    assert only(Batch("tcp", [row])) == (
        "hoplab_tcp",
        {"run": "run", "flow": "flow0"},
        {
            "t_s": "1.0",
            "cwnd": "4i",
            "rtt_ms": "20.0",
            "ca_state": "Recovery",
            "ca_state_code": "3i",
        },
        1_700_000_001_000_000_000,
    )


def test_rows_without_a_time_have_the_end_s() -> None:
    row = {"item": "frames.acked", "value": 7.0}
    assert only(Batch("health", [row]))[3] == 1_700_000_005_000_000_000


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@settings(deadline=None)
@given(TEXT, TEXT, TEXT)
def test_whatever_names_are_they_stay_in_their_place(run: str, kind: str, detail: str) -> None:
    def in_tag(text: str) -> str:
        return "".join("/" if c == "\\" else c for c in plain(text))

    def plain(text: str) -> str:
        control = {chr(i) for i in range(32)} | {"\x7f", "\x85", "\u2028", "\u2029"}
        marked = "".join("\0" if c in control else c for c in text)
        while "\0\0" in marked:
            marked = marked.replace("\0\0", "\0")
        return marked.replace("\0", " ")

    tags = {"run": in_tag(run) or "unnamed", "node": "n0", "source": "dsr", "kind": in_tag(kind)}
    _, found, fields, date = only(Batch("events", [{**EVENT, "kind": kind, "detail": detail}]), run)
    assert found == {name: value for name, value in tags.items() if value}
    assert fields == {"t_s": "1.5", "detail": plain(detail)}
    assert date == 1_700_000_001_500_000_000


def sent(url: str) -> None:
    sink = Influx(url)
    sink.begin(course())
    sink.take([Batch("events", [EVENT])])
    sink.end()


def test_rows_are_posted_with_the_token(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent(receiver.url)
    monkeypatch.setenv(TOKEN, "secret")
    sent(receiver.url + "/api/v2/write?org=o&bucket=b")
    sent(receiver.url + "/api/live/push/hoplab")
    monkeypatch.setenv(TOKEN, "Basic dTpw")
    sent(receiver.url + "/write")
    assert [(path, headers.get("Authorization")) for path, headers, _ in receiver.requests] == [
        ("/write", None),
        ("/api/v2/write?org=o&bucket=b", "Token secret"),
        ("/api/live/push/hoplab", "Bearer secret"),
        ("/write", "Basic dTpw"),
    ]
    assert all(body.startswith(b"hoplab_events,run=run") for _, _, body in receiver.requests)


@pytest.mark.parametrize(
    ("status", "error"),
    [(500, Unavailable), (503, Unavailable), (429, Unavailable), (400, Refused), (302, Refused)],
)
def test_what_a_server_answers_decides_about_another_try(
    receiver: Receiver, status: int, error: type[Exception]
) -> None:
    receiver.status, receiver.body = status, b"no\n" + bytes(10 * ANSWER_BYTES)
    with pytest.raises(error, match=f"HTTP {status}: no") as caught:
        sent(receiver.url)
    assert len(receiver.requests) == 1
    assert len(str(caught.value)) < 2 * ANSWER_BYTES


def test_who_lacks_a_token_is_told_where_it_goes(receiver: Receiver) -> None:
    receiver.status = 401
    with pytest.raises(Refused, match=TOKEN):
        sent(receiver.url)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="refused"):
        sent("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8428", "http://127.0.0.1:8428/write"),
        ("https://host/", "https://host/write"),
        ("http://host/api/v2/write?bucket=b#x", "http://host/api/v2/write?bucket=b"),
        ("http://[::1]:8428", "http://[::1]:8428/write"),
    ],
)
def test_urls(url: str, expected: str) -> None:
    assert endpoint(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8428",
        "ftp://host/",
        "http://",
        "http://host:99999/",
        "http://host:port/",
        "http://user:password@host/",
        "http://host/write?db=x&p=secret",
        "http://host/write?TOKEN=secret",
        "http://ho st/",
        "http://host/\nX: y",
        "http://[::1/",
    ],
)
def test_what_is_no_url_or_has_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ScenarioError, match="--influx") as caught:
        endpoint(url)
    assert "secret" not in str(caught.value)


def test_a_token_cannot_break_out_of_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "a\r\nX: y")
    with pytest.raises(ScenarioError, match=TOKEN) as caught:
        Influx("http://127.0.0.1:9")
    assert "X: y" not in str(caught.value)


@contextmanager
def reading(path: Path, take: Callable[[bytes], None]) -> Iterator[None]:
    def read() -> None:
        with path.open("rb", buffering=0) as file:
            while piece := file.read(1 << 16):
                take(piece)

    thread = threading.Thread(target=read)
    thread.start()
    yield
    thread.join(10)


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    path.write_text("before\n")
    for _ in range(2):
        sink = File(path)
        sink.begin(course())
        sink.take([Batch("events", [EVENT])])
        sink.end()
    assert [line.split(",")[0] for line in path.read_text().splitlines()] == [
        "before",
        "hoplab_events",
        "hoplab_events",
    ]


def test_a_pipe_gets_whole_lines_once_somebody_reads(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sink = File(path)
    sink.begin(course())
    batches = [Batch("events", [{**EVENT, "t_s": t} for t in range(5000)])]
    with pytest.raises(Unavailable, match="nobody reads it"):
        sink.take(batches)
    pieces: list[bytes] = []
    with reading(path, pieces.append):
        for _ in range(100):
            try:
                sink.take(batches)
                break
            except Unavailable:
                threading.Event().wait(0.05)
        sink.end()
    lines = b"".join(pieces).decode().splitlines()
    assert len(lines) == 5000 and all(parsed(line)[0] == "hoplab_events" for line in lines)


def test_a_disk_without_room_is_told() -> None:
    sink = File(Path("/dev/full"))
    sink.begin(course())
    with pytest.raises(Unavailable, match="No space left"):
        sink.take([Batch("events", [EVENT])])


def test_a_sweep_s_rows_become_lines(tmp_path: Path) -> None:
    rows = [
        {
            "flow.0.window": 4,
            "cc": "reno, fast",
            "seed": 2,
            "key": "k",
            "error": None,
            "flow": "flow0",
            "src": "n0",
            "goodput_kbps": 100,
        },
        {
            "flow.0.window": 8,
            "cc": None,
            "seed": 3,
            "key": "l",
            "error": "hung",
            "flow": None,
            "src": None,
            "goodput_kbps": None,
        },
    ]
    path = tmp_path / "windows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    lines = b"".join(sweep_lines(path, "windows", 7_000_000_000)).decode().splitlines()
    window, cc, first, second = lines
    for line, parameter, weight in (
        (window, "p_flow_0_window", "1000002"),
        (cc, "p_cc", "2"),
    ):
        tags = {"sweep": "windows", "parameter": parameter}
        told = {"weight": weight, "values": "2", "pushed_s": "7.0"}
        assert parsed(line) == ("hoplab_axis", tags, told, 7_000_000_000)
    assert parsed(first) == (
        "hoplab_sweep",
        {
            "sweep": "windows",
            "p_flow_0_window": "4",
            "p_cc": "reno, fast",
            "seed": "2",
            "key": "k",
            "flow": "flow0",
        },
        {
            "seed_number": "2.0",
            "failed": "0.0",
            "number_p_flow_0_window": "4.0",
            "goodput_kbps": "100.0",
        },
        7_000_000_000,
    )
    assert parsed(second)[2]["failed"] == "1.0" and "goodput_kbps" not in parsed(second)[2]


def test_what_is_no_dataset_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(ResultsError, match=r"x\.parquet: cannot be read"):
        list(sweep_lines(path, "x", 0))
    path.write_text("no")
    with pytest.raises(ResultsError, match=r"x\.parquet: cannot be read"):
        list(sweep_lines(path, "x", 0))
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ResultsError, match="no dataset"):
        list(sweep_lines(path, "x", 0))
