# SPDX-License-Identifier: Apache-2.0
"""`hoplab.run`: a run from Python, its tables, its figures, its errors."""

import pytest

import hoplab

PAIR = {
    "title": "a <b>pair</b>",
    "duration_s": 2,
    "topology": {"kind": "pair"},
    "flow": [{"source": "n0", "destination": "n1"}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> hoplab.Run:
    return hoplab.run(PAIR, seed=3, out=tmp_path_factory.mktemp("api") / "run")


def test_tables_are_arrows(run: hoplab.Run) -> None:
    assert run.flows.column("flow").to_pylist() == ["flow0"]
    assert run.goodput_kbps == pytest.approx(run.flows.column("goodput_kbps")[0].as_py())
    # One hop at 2 Mbit/s. A segment of 1448 octets takes 7.01 ms with its mean backoff, and every
    # second one an acknowledgement of 1.22 ms: 1520 kbit/s.
    assert run.goodput_kbps == pytest.approx(1520, rel=0.05)
    assert run.tcp.num_rows > 0
    assert run.summary()["digest"] == run.digest


def test_it_shows_itself(run: hoplab.Run) -> None:
    assert "flow0" in str(run)
    shown = run._repr_html_()
    assert "flow0" in shown
    assert "<b>pair" not in shown
    assert len(run.figure().data) > 0
    assert run.report.is_file()


def test_it_is_there_again(run: hoplab.Run) -> None:
    again = hoplab.load(run.run_dir)
    assert again.digest == run.digest
    assert again.scenario["seed"] == 3
