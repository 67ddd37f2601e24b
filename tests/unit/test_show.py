# SPDX-License-Identifier: Apache-2.0
"""Tables of runs and sweeps on the terminal, and as CSV."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hoplab.front.commands import cli, export
from hoplab.model.errors import ResultsError, ScenarioError
from tests.unit.test_report import _run


def said(*words: object) -> str:
    done = CliRunner().invoke(cli.app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return _run(tmp_path / "run", 2, 2).run_dir


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    folder = tmp_path / "sweep"
    folder.mkdir()
    rows = {"hops": [1, 2], "seed": [1, 1], "flow": ["flow0", None], "goodput_kbps": [9.5, None]}
    pq.write_table(pa.table(rows), folder / "results.parquet")
    return folder


def test_a_runs_tables_are_listed(run: Path) -> None:
    assert said("show", run).split() == [
        *("table", "rows", "flows", "2", "tcp", "4", "links", "2", "radios", "2")
    ]


def test_rows_that_fit_are_shown_in_the_columns_that_are_named(run: Path) -> None:
    where = ["--where", "flow == 'flow1' and t_s > 0.5", "--columns", "t_s, flow,cwnd"]
    assert [line.split() for line in said("show", run, "tcp", *where).splitlines()] == [
        ["t_s", "flow", "cwnd"],
        ["1", "flow1", "2"],
        ["2", "flow1", "2"],
    ]
    first, more = said("show", run, "tcp", *where, "--rows", "1").splitlines()[1:]
    assert first.split() == ["1", "flow1", "2"]
    assert more == "and 1 more row; --rows 2 shows all"
    lines = said("show", run, "tcp", *where, "--json").splitlines()
    assert [json.loads(line) for line in lines][1] == {"t_s": 2.0, "flow": "flow1", "cwnd": 2}


def test_a_narrow_terminal_has_fewer_columns_and_whole_numbers(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Narrow:
        is_terminal, width = True, 30

        def print(self, text: str, **_: Any) -> None:
            lines.append(text)

    lines: list[str] = []
    monkeypatch.setattr(export, "output", Narrow())
    export.show(run, "tcp", rows=2)
    assert lines[0].split() == ["t_s", "flow", "delivered_bytes"]
    assert lines[1].split() == ["1", "flow1", "1"]
    assert "left out: acked_bytes, cwnd" in lines[-2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tcpp"], "'tcpp' is no table; one of: flows, tcp"),
        (["tcp", "--columns", "t_s,cwn"], "--columns: no column 'cwn'; one of: t_s, flow"),
        (["tcp", "--where", "cwn > 1"], "names 'cwn', which is no parameter"),
    ],
)
def test_what_is_not_there_is_told(run: Path, words: list[str], told: str) -> None:
    with pytest.raises((ResultsError, ScenarioError)) as caught:
        said("show", run, *words)
    assert told in str(caught.value)


def test_a_sweep_is_shown_and_exported(sweep: Path) -> None:
    shown = said("show", sweep, "--where", "hops == 1").splitlines()
    assert [line.split() for line in shown] == [
        ["hops", "seed", "flow", "goodput_kbps"],
        ["1", "1", "flow0", "9.5"],
    ]
    assert said("export", sweep) == f"csv: {sweep / 'csv'}\n"
    rows = pyarrow.csv.read_csv(sweep / "csv" / "results.csv").to_pylist()
    assert rows[0] == {"hops": 1, "seed": 1, "flow": "flow0", "goodput_kbps": 9.5}
    with pytest.raises(ScenarioError, match="is a sweep's; its only table is 'results'"):
        said("show", sweep, "tcp")
    (sweep / "results.parquet").write_bytes(b"x")
    with pytest.raises(ResultsError, match=r"results.parquet: cannot be read: .*; run the sweep"):
        said("export", sweep)


def test_a_folder_of_neither_is_told(tmp_path: Path) -> None:
    for command in ("show", "export"):
        with pytest.raises(ResultsError, match="is no finished run"):
            said(command, tmp_path)
