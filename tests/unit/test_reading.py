# SPDX-License-Identifier: Apache-2.0
"""Files that a user names: regular ones, of a bounded size, else one line."""

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from hoplab.front import api
from hoplab.front.mininet import found, launch, measured
from hoplab.guest.lab import job
from hoplab.host.results import tables
from hoplab.host.stream import hub
from hoplab.many.study import pages, segments
from hoplab.many.study.findings import Findings
from hoplab.many.study.folder import Study
from hoplab.many.sweep import api as sweeps
from hoplab.model import movement, reading
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.resolve import file


def told(path: Path, limit: int = 100) -> str:
    with pytest.raises(ScenarioError) as error:
        reading.read_text(path, limit, "a text")
    line = str(error.value)
    assert line.startswith(f"{path}: ")
    assert line.endswith("a text")
    assert len(line.splitlines()) == 1
    return line


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert reading.read_text(path, 6, "a text") == "abc"
    assert "is larger than 5 octets" in told(path, 5)
    path.write_bytes(b"\xff")
    assert "UTF-8" in told(path)
    assert "No such file" in told(tmp_path / "none")
    assert "Is a directory" in told(tmp_path)
    assert "is no name of a file" in told(Path("a\0b"))


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "socket"))
        for path in (pipe, link, Path("/dev/zero"), Path("/dev/null"), tmp_path / "socket"):
            assert "is no regular file" in told(path)


def test_so_it_is_with_scenarios_sweeps_movements_and_runs(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is no regular file"):
        file.load(Path("/dev/zero"))
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('scenario = "/dev/zero"\n')
    with pytest.raises(ScenarioError, match=r"/dev/zero: .* is no regular file"):
        sweeps.read(sweep)
    for name in ("a.ns2", "a.gpx.gz"):
        (tmp_path / name).symlink_to("/dev/zero")
        with pytest.raises(ScenarioError, match="is no regular file"):
            movement.read(tmp_path / name)
    (tmp_path / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(ResultsError, match="is no regular file"):
        api.load(tmp_path)


def test_a_pipe_is_told_with_what_to_do(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ScenarioError, match=r"but a pipe \(write what it gives to a file first\)"):
        file.load(pipe)


def test_so_it_is_with_what_a_run_and_a_script_left(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for path in (
        *(raw / "medium.json", raw / "verdict.json", raw / "nodes.jsonl"),
        *(tmp_path / "scenario.json", tmp_path / launch.REFUSED),
    ):
        path.symlink_to("/dev/zero")
    assert reading.value(raw / "medium.json") is None
    assert hub.told(tmp_path, "realtime_epoch_ns") is None
    assert launch.refused(tmp_path) == []
    for read in (
        lambda: tables.recorded(tmp_path, "nodes"),
        lambda: job.prepare(tmp_path),
        lambda: measured.complete(tmp_path, None, 0),
        lambda: list(segments.segments(SimpleNamespace(run_dir=tmp_path), "n0")),  # type: ignore[arg-type]
    ):
        with pytest.raises(OSError, match="is no regular file"):
            read()


def test_so_it_is_with_studies_and_scripts(tmp_path: Path) -> None:
    for name in ("analysis.py", "studies/own.md", "script"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to("/dev/zero")
    for read, error in (
        (Study("own", tmp_path).sentence, ScenarioError),
        (lambda: found.speaks_of_wifi(tmp_path / "script"), ScenarioError),
        (lambda: pages.refresh("own", Findings(), "", tmp_path), ResultsError),
    ):
        with pytest.raises(error, match="is no regular file"):
            read()


def test_a_record_without_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LONGEST_LINE", 1 << 10)
    (tmp_path / "raw").mkdir()
    with (tmp_path / "raw" / "nodes.jsonl").open("wb") as endless:
        endless.truncate(1 << 40)
    with pytest.raises(ResultsError, match=r"nodes.jsonl: line 1 is damaged"):
        tables.recorded(tmp_path, "nodes")
