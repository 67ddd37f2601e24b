# SPDX-License-Identifier: Apache-2.0
"""Links as they were measured: `[[snr]]` and the file of `radio.snr_trace`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.scenario import Scenario
from hoplab.model.keys.snr import Snr
from hoplab.model.network import medium_document
from hoplab.model.network.reach import neighbours
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve, resolve_medium

BASE = {"duration_s": 10, "topology": {"kind": "chain", "stations": 3, "spacing_m": 5000.0}}
ONE = {"src": "n0", "dst": "n1", "points": [[0, 9]]}
ROWS = ((0, "n0", "n1", 30), (4, "n0", "n1", 20.5), (0, "n1", "n0", 25), (0, "n1", "n2", 40))


def resolved(folder: Path, **keys: object) -> Scenario:
    return resolve(parse({**BASE, **keys}, "x.toml"), folder)


def csv(folder: Path, rows: object = ROWS, head: str = "t_s,src,dst,snr_db") -> Path:
    path = folder / "links.csv"
    lines = [",".join(map(str, row)) for row in rows]  # type: ignore[attr-defined]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def test_a_csv_file_becomes_links(tmp_path: Path) -> None:
    csv(tmp_path)
    found = resolved(tmp_path, radio={"snr_trace": "links.csv"})
    assert found.radio.snr_trace is None
    assert [(link.src, link.dst, link.points) for link in found.snr] == [
        ("n0", "n1", ((0, 30), (4, 20.5))),
        ("n1", "n0", ((0, 25),)),
        ("n1", "n2", ((0, 40),)),
    ]
    assert resolve(found) == found


def test_a_parquet_file_says_the_same_in_any_order_of_rows(tmp_path: Path) -> None:
    csv(tmp_path)
    columns = zip(*ROWS[::-1], strict=True)
    table = pa.table(dict(zip(("t_s", "src", "dst", "snr_db"), map(list, columns), strict=True)))
    pq.write_table(table, tmp_path / "links.parquet")
    by_csv, by_parquet = (
        resolved(tmp_path, radio={"snr_trace": f"links.{suffix}"}) for suffix in ("csv", "parquet")
    )
    assert by_csv == by_parquet


def test_a_ratio_is_linear_between_its_points() -> None:
    link = Snr(src="a", dst="b", points=((1.0, 30.0), (3.0, 10.0), (3.0, 20.0)))
    at = {0.0: 30.0, 1.0: 30.0, 1.5: 25.0, 2.5: 15.0, 3.0: 20.0, 9.0: 20.0}
    assert {t_s: link.at(t_s) for t_s in at} == at


def test_those_who_hear_each_other_both_ways_are_neighbours(tmp_path: Path) -> None:
    """Of n1 and n2 one way alone was measured. Noise is at -93.55 dBm."""
    csv(tmp_path)
    keys = {"snr_trace": "links.csv", "rx_threshold_dbm": -69.0}
    graph = neighbours(resolved(tmp_path, radio=keys))
    assert graph == {"n0": ["n1"], "n1": ["n0"], "n2": []}
    graph = neighbours(resolved(tmp_path, radio={**keys, "rx_threshold_dbm": -68.0}))
    assert graph == {"n0": [], "n1": [], "n2": []}


def test_the_medium_gets_powers_at_instants() -> None:
    stations = [{"name": name, "mac": f"02:00:00:00:00:0{name}"} for name in "ab"]
    snr = [{"src": "b", "dst": "a", "points": [[0.0, 10.0], [0.5, 12.0]]}]
    given = {"station": stations, "records": {"dir": "/r"}, "epoch_ns": 1000, "snr": snr}
    file = resolve_medium(MediumFile.model_validate({**given, "radio": {"noise_dbm": -90.0}}))
    assert medium_document.document(file, 0)["measured"] == [
        {"from": 1, "to": 0, "points": [[1000, -80.0], [500_001_000, -78.0]]}
    ]


def test_the_medium_s_own_file_may_name_a_trace(tmp_path: Path) -> None:
    csv(tmp_path, [(0, "b", "a", 10), (0.5, "b", "a", 12)])
    stations = [{"name": name, "mac": f"02:00:00:00:00:0{name}"} for name in "ab"]
    given = {"station": stations, "records": {"dir": "/r"}, "radio": {"snr_trace": "links.csv"}}
    file = resolve_medium(MediumFile.model_validate(given), tmp_path)
    assert [(link.src, link.dst, link.points) for link in file.snr] == [
        ("b", "a", ((0, 10), (0.5, 12)))
    ]
    both = MediumFile.model_validate({**given, "snr": [{**ONE, "src": "a", "dst": "b"}]})
    with pytest.raises(ScenarioError, match=r"^radio.snr_trace: gives the same as \[\[snr\]\]"):
        resolve_medium(both, tmp_path)


@pytest.mark.parametrize(
    ("rows", "head", "expected"),
    [
        (ROWS, "t,src,dst,snr_db", "links.csv: has no column 't_s'; expected the columns t_s, src"),
        ([(0, "n0", "n1", "x")], None, "links.csv:2: snr_db: 'x'; expected a number"),
        ([(0, "n0", "n1")], None, "links.csv:2: snr_db: None; expected a number"),
        ([("nan", "n0", "n1", 3)], None, "links.csv:2: t_s: 'nan'; expected a number"),
        ([], None, "links.csv: has no rows"),
        ([(-1, "n0", "n1", 3)], None, "links.csv: link 'n0' to 'n1': should be greater"),
        ([(0, "n0", "n9", 3)], None, "snr.0.dst: no station with a radio is called 'n9'"),
        ([(0, "n1", "n1", 3)], None, "snr.0: n1 is both ends; name two stations"),
    ],
)
def test_mistakes_of_a_file_name_it(
    tmp_path: Path, rows: object, head: str | None, expected: str
) -> None:
    csv(tmp_path, rows, head or "t_s,src,dst,snr_db")
    with pytest.raises(ScenarioError) as caught:
        resolved(tmp_path, radio={"snr_trace": "links.csv"})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"radio": {"snr_trace": "links.txt"}}, "ends with .csv or .parquet"),
        ({"radio": {"snr_trace": "none.csv"}}, "none.csv: cannot be read"),
        ({"radio": {"snr_trace": "bad.parquet"}}, "bad.parquet: is no Parquet file"),
        (
            {"radio": {"shadowing_db": 3.0}, "snr": [ONE]},
            "radio.shadowing_db: acts on nothing",
        ),
        (
            {
                "snr": [ONE],
                "event": [{"kind": "move", "station": "n0", "at_s": 1, "x_m": 1, "y_m": 1}],
            },
            "event.0: a move acts on nothing",
        ),
        (
            {"snr": [ONE] * 2},
            "snr.1: n0 to n1 is given twice",
        ),
        (
            {"snr": [{"src": "n0", "dst": "n1", "points": [[2, 9], [1, 9]]}]},
            "1 s follows 2 s; put them in order of time",
        ),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, keys: dict[str, object], expected: str) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(ScenarioError) as caught:
        resolved(tmp_path, **keys)
    assert expected in str(caught.value)
