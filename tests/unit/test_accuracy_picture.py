# SPDX-License-Identifier: Apache-2.0
"""The picture of all validated figures: which parts it takes, what it draws, what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hoplab.many.study.figures import figure
from tests.validate import accuracy
from tests.validate.__main__ import expected

PARTS = {"medium/exact": ["medium/a", "medium/b"], "tcp/estimates": ["tcp/c"]}


def row(
    name: str, measured: float, reference: float = 1.0, limit: float | None = 0.05
) -> dict[str, Any]:
    return figure(name, measured, reference, limit).row()


def test_a_part_measured_anew_replaces_its_own_figures_only() -> None:
    old = {"tcp/estimates": [row("tcp/c", 1.0)], "medium/exact": [row("medium/a", 9.0)]}
    new = [row("medium/a", 1.01), row("medium/b", 1.02)]
    both, refused = accuracy.merged(old, new, PARTS)
    assert list(both) == ["medium/exact", "tcp/estimates"]
    assert both["medium/exact"] == new
    assert both["tcp/estimates"] == old["tcp/estimates"]
    assert refused == []


def test_half_a_part_is_refused_by_name() -> None:
    old = {"medium/exact": [row("medium/a", 1.0), row("medium/b", 1.0)]}
    both, refused = accuracy.merged(old, [row("medium/a", 2.0)], PARTS)
    assert both == old
    assert refused == [
        "medium/exact: lacks 1 of 2 figures, medium/b one of them; measure the whole part"
    ]


def test_a_figure_of_no_part_is_refused() -> None:
    both, refused = accuracy.merged({}, [row("x/y", 1.0)], PARTS)
    assert both == {}
    assert refused == ["x/y: is in no part of expected.txt; see --expect"]


def test_a_heading_counts_what_decides_and_what_is_not_drawn() -> None:
    rows = [
        row("a", 1.01),
        row("b", 1.2),
        row("none", 0.0, reference=0.0),
        row("for information", 3.0, limit=None),
    ]
    assert [found["name"] for found in accuracy.relative(rows)] == ["a", "b"]
    told = accuracy.title("medium/exact", rows)
    assert told == "medium/exact: 2 of 3 inside (1 with reference 0 not drawn)"


def test_the_picture_names_what_is_outside_and_is_the_same_twice() -> None:
    parts = {"medium/exact": [row("medium/exact/in", 1.01), row("medium/exact/out", 1.2)]}
    drawn = accuracy.svg(parts)
    assert drawn == accuracy.svg(parts)
    assert ">out</text>" in drawn
    assert ">in</text>" not in drawn


def test_the_axis_reaches_a_figure_far_outside() -> None:
    near, far = (accuracy.svg({"medium/exact": [row("medium/a", value)]}) for value in (1.1, 9.0))
    assert near != far


def test_a_file_of_something_else_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.json"
    file.write_text("no JSON", encoding="utf-8")
    data, picture = tmp_path / "data.json", tmp_path / "picture.svg"
    assert accuracy.main([str(file)], data, picture) == 1
    assert f"accuracy: {file}: is not what validate --json writes" in capsys.readouterr().err


def test_the_committed_picture_is_of_the_committed_figures() -> None:
    parts = json.loads(accuracy.DATA.read_text(encoding="utf-8"))
    names = expected()
    assert parts
    for part, rows in parts.items():
        assert sorted(one["name"] for one in rows) == sorted(names[part])
    assert accuracy.PICTURE.read_text(encoding="utf-8") == accuracy.svg(parts)
