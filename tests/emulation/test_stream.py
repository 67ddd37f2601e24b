# SPDX-License-Identifier: Apache-2.0
"""Who follows a run, and how fast virtual time may go, changes nothing in it."""

import json
import os
import re
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from hoplab.model.records.schema import TABLES
from tests.emulation.conftest import BY_DSR, HOPLAB, UDP_BACK, Run

pytestmark = pytest.mark.chance

SCENARIO = f"""
duration_s = 4
{BY_DSR}{UDP_BACK}
[measure]
frames = true
"""


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_no_sink_changes_a_run(tmp_path: Path, run_scenario: Run, silent: str) -> None:
    alone = run_scenario(SCENARIO)
    lines, pipe, nobody = tmp_path / "lines", tmp_path / "pipe", "http://127.0.0.1:9"
    os.mkfifo(pipe)
    sinks = ["--stream", str(lines), "--stream", str(pipe), "--influx", silent, "--influx", nobody]
    followed = run_scenario(SCENARIO, *sinks)
    assert followed["digest"] == alone["digest"]
    # All rows of all tables came, and those that nobody took are counted.
    tables = {name: results.load(tmp_path / "run2").table(name).num_rows for name in TABLES}
    came: dict[str, int] = {}
    for line in lines.read_text().splitlines():
        name = line.partition(",")[0].removeprefix("hoplab_")
        came[name] = came.get(name, 0) + 1
    assert {name: came.get(name, 0) for name in tables} == tables
    assert came["run"] == 5 and came["progress"] == 4 and came["health"] > 10
    accounts = {account["sink"]: account for account in followed["streams"]}
    whole = sum(came.values())
    assert accounts[str(lines)] | {"reason": None} == {
        "sink": str(lines),
        "samples": whole,
        "dropped": 0,
        "reason": None,
    }
    in_time = "it did not take them in time after the run's end"
    for sink, reasons in (
        (str(pipe), {"nobody reads it"}),
        (silent, {"no answer in time", in_time}),
        (nobody, {"Connection refused"}),
    ):
        account = accounts[sink]
        assert (account["samples"], account["dropped"]) == (0, whole)
        assert account["reason"] in reasons


def test_a_page_that_is_looked_at_changes_nothing(tmp_path: Path, run_scenario: Run) -> None:
    alone = run_scenario(SCENARIO)
    file = tmp_path / "watched.toml"
    file.write_text(SCENARIO)
    # As fast as a wall clock: otherwise it may be over before the page asks for the second time.
    arguments = ["run", str(file), "--live", "--json", "--pace", "1"]
    arguments += ["--out", str(tmp_path / "watched")]
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    run = subprocess.Popen(
        [str(HOPLAB), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=bare,
    )
    with run:
        assert run.stderr is not None
        found = re.search(r"http://\S+", run.stderr.readline())
        assert found is not None
        told = watch(found.group())
        out, errors = run.communicate()
    assert run.returncode == 0, errors
    assert json.loads(out)["digest"] == alone["digest"]
    assert told[-1]["status"] == "over" and told[-1]["t_s"] == 4
    assert {"n0", "n2"} <= {flow["source"] for flow in told[0]["about"]["flows"]}
    # It was looked at while it went on, not only before and after.
    assert any(0 < message["t_s"] < 4 for message in told)


def watch(url: str) -> list[dict[str, Any]]:
    """What a page receives until the run is over, and its report taken."""
    told: list[dict[str, Any]] = []
    while not told or told[-1]["status"] != "over":
        with urllib.request.urlopen(f"{url}news?page=test&has={len(told)}") as answer:
            message = json.load(answer)
        if message is not None:
            told.append(message)
            urllib.request.urlopen(f"{url}moment?t=1").close()
    with urllib.request.urlopen(f"{url}report") as answer:
        assert b"<title>" in answer.read()
    return told


def test_pace_changes_the_speed_alone(tmp_path: Path, run_scenario: Run) -> None:
    lines = tmp_path / "lines"
    alone = run_scenario(SCENARIO)
    paced = run_scenario(SCENARIO, "--pace", "2", "--stream", str(lines))
    assert paced["digest"] == alone["digest"]
    walls = [
        float(line.split("wall_s=")[1].split(",")[0])
        for line in lines.read_text().splitlines()
        if line.startswith("hoplab_progress")
    ]
    # A machine may be slower than its pace, never faster, but for the looks at its clock.
    assert len(walls) == 4
    assert walls[-1] >= 3 / 2 - 0.1


def test_wrong_options_are_told(tmp_path: Path, hoplab: Callable[..., Any]) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    for options, said in (
        (["--pace", "0"], "--pace: 0 is not between"),
        (["--pace", "nan"], "--pace: nan is not between"),
        (["--pace", "1", "--machine", "host"], "--pace: a host's run is in real time"),
        (["--influx", "localhost:8428"], "--influx: 'localhost:8428' is no URL"),
        (["--stream", str(tmp_path)], "cannot be written"),
        (["--stream", "/nowhere/file"], "cannot be written"),
    ):
        out = tmp_path / "run"
        done = hoplab("run", str(tmp_path / "scenario.toml"), "--out", str(out), *options)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert done.stderr.count("\n") <= 2 and not out.exists()


def test_what_is_pushed_are_the_tables(tmp_path: Path, run_scenario: Run, hoplab: Any) -> None:
    run_scenario(SCENARIO)
    done = hoplab("push", str(tmp_path / "run1"), "--stream", str(tmp_path / "lines"))
    assert done.returncode == 0, done.stderr
    run = results.load(tmp_path / "run1")
    lines = (tmp_path / "lines").read_text().splitlines()
    of_tables = [line for line in lines if not line.startswith(("hoplab_run,", "hoplab_health,"))]
    assert len(of_tables) == sum(run.table(name).num_rows for name in TABLES)
    assert sum(line.startswith("hoplab_run,") for line in lines) == 5
    done = hoplab("push", str(tmp_path / "run1"))
    assert done.returncode == 2 and "--influx" in done.stderr
