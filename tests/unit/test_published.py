# SPDX-License-Identifier: Apache-2.0
"""Curves of others, read from figures that matplotlib has saved."""

import zlib
from pathlib import Path

import pytest

from hoplab.model.errors import HoplabError
from tests.published import ofdma
from tests.published.drawing import half_width, read

AXES = """
q 10 10 100 100 re W n 0.8 w
20 10 m
20 110 l
S
Q 1 w BT (1) Tj ET
q 10 10 100 100 re W n 0.8 w
60 10 m
60 110 l
S
Q 1 w BT (5) Tj ET
q 10 10 100 100 re W n 0.8 w
10 30 m
110 30 l
S
Q 1 w BT (42) Tj (:) Tj (5) Tj ET
q 10 10 100 100 re W n 0.8 w
10 70 m
110 70 l
S
Q 1 w BT (44) Tj (:) Tj (5) Tj ET
"""
"""x from 1 at 20 to 5 at 60, y from 42.5 at 30 to 44.5 at 70."""
CURVE = """
q 10 10 100 100 re W n 2 w
20 30 m
30 50 l
60 70 l
S
Q q 10 10 100 100 re W n 2 w q
1 0 0 1 20 40 cm /M0 Do
1 0 0 1 40 20 cm /M0 Do
Q Q q 10 10 100 100 re W n 1 w
60 60 m
60 70 l
S
Q 2 w
1 1 m
9 9 l
S
"""
"""A line, two markers of which the second has an interval, and a line of the legend."""


def saved(path: Path, operators: str) -> Path:
    body = zlib.compress(operators.encode())
    path.write_bytes(b"1 0 obj << >> stream\n" + body + b"\nendstream endobj")
    return path


def test_a_figure_has_its_values(tmp_path: Path) -> None:
    drawing = read(saved(tmp_path / "figure.pdf", AXES + CURVE))
    assert drawing.curves == [[(1, 42.5), (2, 43.5), (5, 44.5)]]
    assert drawing.markers == [[(1, 43), (5, 44)]]
    assert [half_width(drawing, mean) for mean in drawing.markers[0]] == [0, 0.5]
    first, second, third = ofdma.rows_of(drawing, ("one",))
    assert (first.model, first.simulated, first.half_width) == (42.5, 43, 0)
    assert (second.stations, second.simulated) == (2, None)
    assert third.line() == "one\t5\t44.500\t44.000\t0.500"


def test_a_file_without_axes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HoplabError, match=r"no drawing of matplotlib's"):
        read(saved(tmp_path / "text.pdf", "BT (1) Tj ET"))
    with pytest.raises(HoplabError, match="not two labelled grid lines"):
        read(saved(tmp_path / "bare.pdf", CURVE))
    third = "q 10 10 100 100 re W n 0.8 w\n90 10 m\n90 110 l\nS\nQ BT (6) Tj ET"
    with pytest.raises(HoplabError, match="a tick labelled"):
        read(saved(tmp_path / "crooked.pdf", AXES + third + CURVE))


def test_published_curves_have_each_number_of_stations() -> None:
    curves = ofdma.recorded()
    assert {name: len(rows) for name, rows in curves.items()} == {
        **{f"downlink-{way}": 19 for way in ("alone", "sequential", "mu-bar", "aggregated")},
        **{f"contention-{window}": 19 for window in (15, 127, 1023)},
        "beside-uplinks": 9,
        "beside-uplinks-all": 9,
    }
    assert curves["downlink-mu-bar"][9].simulated == pytest.approx(53.748)
    assert curves["contention-15"][2].simulated is None
