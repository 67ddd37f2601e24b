# SPDX-License-Identifier: Apache-2.0
"""The tutorial's commands, and whether what it claims comes out of them.

Another machine (a rebuilt daemon) draws other random numbers. So a figure of one seed may differ as
seeds make it differ, and means lie in the intervals that the page itself gives.
"""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hoplab
from hoplab.host.statistics.samples import Sample
from tests.docs import pictured
from tests.docs.test_commands import TUTORIAL, run_page
from tests.docs.test_pictures import kept, same

ROW = re.compile(
    r"^ (?P<window>no limit|\d+) +(?P<n>\d+) +(?P<goodput>\S+ ± \S+) .* (?P<rtt>\S+ ± \S+)$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    run_page(TUTORIAL, folder)
    return folder


def _told(cell: str) -> tuple[float, float]:
    mean, half = (float(word.replace(",", "")) for word in cell.split(" ± "))
    return mean, half


def _interval(values: list[float]) -> tuple[float, float]:
    sample = Sample.of(values)
    return sample.mean, sample.half_width


def _measured(folder: Path) -> dict[str, dict[str, tuple[float, float]]]:
    rows: list[dict[str, Any]] = pq.read_table(
        folder / "sweeps/windows/results.parquet"
    ).to_pylist()
    found = {}
    for window in dict.fromkeys(str(row["window"]) for row in rows):
        of = [row for row in rows if str(row["window"]) == window]
        found[window] = {
            name: _interval([row[key] for row in of])
            for name, key in (("goodput", "goodput_kbps"), ("rtt", "rtt_ms_mean"))
        }
    return found


def test_one_run_and_the_other(done: Path) -> None:
    free, eight = hoplab.load(done / "runs/free"), hoplab.load(done / "runs/eight")
    told = re.search(r"flow0 goodput_kbps +(\S+) +(\S+)", TUTORIAL.read_text())
    assert told is not None
    assert eight.goodput_kbps == pytest.approx(float(told[2]), rel=0.05)
    assert eight.goodput_kbps > free.goodput_kbps
    assert free.rows("flows")[0]["rtt_ms_mean"] > 3 * eight.rows("flows")[0]["rtt_ms_mean"]
    assert free.rows("flows")[0]["retransmits"] > 10 > eight.rows("flows")[0]["retransmits"]


def test_the_queue_in_the_middle_is_what_overflows(done: Path) -> None:
    full = {
        row["node"]: row["queue_full"] for row in hoplab.load(done / "runs/free").rows("radios")
    }
    given_up = [row["retry_limit"] for row in hoplab.load(done / "runs/free").rows("radios")]
    assert max(full, key=lambda node: full[node]) in ("n1", "n2", "n3")
    assert sum(full.values()) > 10 * sum(given_up)
    assert not any(row["queue_full"] for row in hoplab.load(done / "runs/eight").rows("radios"))
    # The station that senses six others and not four is one further on, and so is the queue.
    far = {row["node"]: row for row in hoplab.load(done / "runs/far").rows("radios")}
    assert max(far, key=lambda node: far[node]["queue_full"]) in ("n3", "n4")
    assert far["n2"]["queue_full"] < far["n3"]["queue_full"] > 10


def test_the_table_and_the_finding(done: Path) -> None:
    told = {row["window"]: row.groupdict() for row in ROW.finditer(TUTORIAL.read_text())}
    assert list(told) == ["2", "4", "8", "32", "no limit"]
    found = _measured(done)
    for window, row in told.items():
        for name in ("goodput", "rtt"):
            (mean, half), (here, half_here) = _told(row[name]), found[window][name]
            # Both are means of five; their difference has the two intervals, once in twenty more.
            limit = 1.5 * (half + half_here)
            assert here == pytest.approx(mean, abs=limit), f"window {window}: {name}"
    eight, free = found["8"], found["no limit"]
    assert eight["goodput"][0] - eight["goodput"][1] > sum(free["goodput"])
    assert free["rtt"][0] - free["rtt"][1] > sum(eight["rtt"])
    assert found["32"]["goodput"][0] == pytest.approx(eight["goodput"][0], rel=0.05)
    assert found["32"]["rtt"][0] > 3 * eight["rtt"][0]


def test_the_sentence_has_the_tables_figures() -> None:
    text = " ".join(TUTORIAL.read_text().split())
    told = {row["window"]: row.groupdict() for row in ROW.finditer(TUTORIAL.read_text())}
    eight, free = _told(told["8"]["goodput"]), _told(told["no limit"]["goodput"])
    assert f"{eight[0]:.0f} ± {eight[1]:.0f} kbit/s" in text
    assert f"{free[0]:.0f} ± {free[1]:.0f}" in text
    longest, shortest = _told(told["no limit"]["rtt"])[0], _told(told["8"]["rtt"])[0]
    assert f"from {longest / 1000:.1f} s to {shortest / 1000:.1f} s" in text


def test_the_pictures_show_what_the_pages_show(done: Path) -> None:
    same("tutorial-report", pictured.over_time(done / "runs/free"))
    same("tutorial-sweep", pictured.sweep(done / "sweeps/windows"))


def test_the_pictures_are_of_the_runs_that_the_text_tells_of() -> None:
    text = TUTORIAL.read_text()
    run = kept("tutorial-report")["figures"]
    row = re.search(r"^ flow0 +n0 → n7 \(tcp\) +(\S+) +(\d+) +(\d+) +(\S+)$", text, re.MULTILINE)
    assert row is not None
    told = [float(cell.replace(",", "")) for cell in row.groups()]
    names = ("goodput_kbps", "retransmits", "timeouts", "rtt_ms_mean")
    assert told == [round(run[name], 1) for name in names]
    means = kept("tutorial-sweep")["figures"]
    rows = {found["window"]: _told(found["goodput"])[0] for found in ROW.finditer(text)}
    assert {**dict.fromkeys(rows, 0.0)} == {**dict.fromkeys(means, 0.0)}
    for window, mean in rows.items():
        assert means[window] == pytest.approx(mean, abs=0.51), f"window {window}"
