# SPDX-License-Identifier: Apache-2.0
"""``hoplab sweep --influx``: the results go to a database at the end, with a link to their page."""

import json
import socket
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from typer.testing import CliRunner

from hoplab.front.commands import stream, sweep
from hoplab.front.commands.cli import app
from hoplab.host.stream.influx import Influx
from hoplab.model.errors import ResultsError, ScenarioError
from tests.scenarios import ONE_HOP

SWEEP = """
scenario = "base.toml"
[[axis]]
key = "flow.0.window"
values = [4]
"""


def performed(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """The command, with a dataset of one row where its runs would be."""

    def dataset(sweep: Any, file: Path, out: Path, *others: Any) -> dict[str, Any]:
        row = {"flow.0.window": 4, "seed": 1, "key": "k", "goodput_kbps": 100.0}
        pq.write_table(pa.Table.from_pylist([row]), out / "results.parquet")
        return {"results": str(out / "results.parquet"), "failed": 0, "summary": None}

    (folder / "base.toml").write_text(ONE_HOP)
    (folder / "sweep.toml").write_text(SWEEP)
    monkeypatch.setattr(sweep, "_run", dataset)
    monkeypatch.delenv("HOPLAB_GRAFANA", raising=False)
    out = str(folder / "windows")
    return CliRunner().invoke(
        app, ["sweep", str(folder / "sweep.toml"), "--out", out, "--json", *words]
    )


def test_results_are_sent_and_the_page_s_link_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(Influx, "write", lambda self, text: written.append(text))
    done = performed(tmp_path, monkeypatch, "--influx", "http://127.0.0.1:8428")
    link = json.loads(done.stdout)["grafana"]
    assert link.startswith("http://127.0.0.1:3000/d/hoplab-sweep?var-sweep=windows&from=")
    assert b"hoplab_sweep,sweep=windows,p_flow_0_window=4," in b"".join(written)
    assert "windows/results.parquet: sent to http://127.0.0.1:8428" in done.stderr


def test_results_are_told_where_no_database_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PAUSE_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    done = performed(tmp_path, monkeypatch, "--influx", f"http://127.0.0.1:{port}")
    told = json.loads(done.stdout)
    assert told["results"].endswith("windows/results.parquet")
    assert "grafana" not in told
    assert isinstance(done.exception, ResultsError)


def test_without_a_database_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "grafana" not in json.loads(performed(tmp_path, monkeypatch).stdout)


def test_an_address_that_is_none_is_told_before_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = performed(tmp_path, monkeypatch, "--influx", "nowhere")
    assert isinstance(done.exception, ScenarioError)
    assert "nowhere" in str(done.exception)
    assert not (tmp_path / "windows").exists()
