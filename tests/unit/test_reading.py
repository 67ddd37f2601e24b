# SPDX-License-Identifier: Apache-2.0
"""Files that a user names: regular ones, of a bounded size, else one line."""

import os
import socket
from pathlib import Path

import pytest

from hoplab.front import api
from hoplab.many.sweep import api as sweeps
from hoplab.model import reading
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.scenario import file, movement


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
