# SPDX-License-Identifier: Apache-2.0
"""Walls and floors: their losses by material, who is behind them, what the medium knows of
them, and plans of other tools."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoplab.front.imports import formats
from hoplab.model.errors import ScenarioError
from hoplab.model.network.obstacles import slab_db
from hoplab.model.network.powers import received_dbm, reception_dbm
from hoplab.model.network.reach import hearing
from hoplab.model.resolve.file import load, parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show.report import on_map
from tests.scenarios import resolved

TWO_ROOMS = """
[radio]
profile = "80211n"
{radio}
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 10
{station}
[[wall]]
corners = [[5, -3], [5, 3]]
{wall}
[[flow]]
source = "a"
destination = "b"
"""


def rooms(wall: str = "loss_db = 5", radio: str = "", station: str = "") -> str:
    return TWO_ROOMS.format(wall=wall, radio=radio, station=station)


def test_a_thin_lossless_slab_takes_what_its_two_faces_reflect() -> None:
    """A pane of glass at 5180 MHz by the sum of all echoes in it, each of two more reflections."""
    mhz, thickness_m = 5180.0, 0.006
    permittivity = complex(6.31, -17.98 * 0.0036 * 5.18**1.3394 / 5.18)
    index = permittivity**0.5
    phase = 2j * math.pi * thickness_m * mhz * 1e6 / 299_792_458 * index
    face = (1 - index) / (1 + index)
    once = (1 - face**2) * math.e ** (-phase)
    echoes = sum((face**2 * math.e ** (-2 * phase)) ** n for n in range(200))
    assert slab_db("glass", thickness_m, mhz) == pytest.approx(
        -20 * math.log10(abs(once * echoes)), abs=1e-9
    )


def test_a_thick_wall_takes_so_much_more_a_metre() -> None:
    """8.686 times the imaginary part of the wave number (ITU-R P.2040-3, section 2.1.3)."""
    ghz = 5.18
    index = complex(5.24, -17.98 * 0.0462 * ghz**0.7822 / ghz) ** 0.5
    a_metre_db = 8.686 * 2 * math.pi * ghz * 1e9 / 299_792_458 * -index.imag
    apart = slab_db("concrete", 1.5, 5180) - slab_db("concrete", 0.5, 5180)
    assert apart == pytest.approx(a_metre_db, rel=1e-3)


def test_who_is_behind_walls_is_not_heard() -> None:
    scenario = resolved(rooms())
    assert hearing(scenario) == {"a": ["b"], "b": ["a"]}
    radio = scenario.radio
    margin_db = received_dbm(radio, 10) - reception_dbm(radio)
    assert hearing(resolved(rooms(f"loss_db = {margin_db - 0.01}"))) == {"a": ["b"], "b": ["a"]}
    with pytest.raises(ScenarioError, match="there is no path from a to b"):
        resolved(rooms(f"loss_db = {margin_db + 0.01}"))
    # At the height of the floor above the wall ends, and its way is over it.
    above = f"loss_db = {margin_db + 1}\nbottom_m = 0\ntop_m = 2"
    assert hearing(resolved(rooms(above, station="z_m = 5"))) == {"a": ["b"], "b": ["a"]}


def test_a_client_behind_walls_is_refused_in_a_line() -> None:
    cell = '[[cell]]\naccess_point = "a"\nclients = ["b"]\n'
    text = rooms("loss_db = 90").replace("[[wall]]", f"{cell}[[wall]]")
    with pytest.raises(ScenarioError, match="walls or floors keep b from a, 10 m away"):
        resolved(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (rooms(""), "needs material or loss_db; neither is given"),
        (rooms('loss_db = 3\nmaterial = "brick"'), "both are given"),
        (rooms("loss_db = 3\nthickness_m = 0.1"), "thickness_m is of a material"),
        (rooms("loss_db = 3\nbottom_m = 3\ntop_m = 3"), "top_m 3 is not above bottom_m 3"),
        (
            rooms('material = "brick"', "frequency_mhz = 914"),
            "wall.0.material: values are known from 1000 to 40000 MHz",
        ),
        (
            rooms("loss_db = 3", 'indoor = "itu-office"\nexponent = 2.5'),
            'radio.exponent: radio.indoor = "itu-office" sets it',
        ),
    ],
)
def test_what_contradicts_itself_is_refused(text: str, told: str) -> None:
    with pytest.raises((ScenarioError, ValueError), match=told):
        resolved(text)


def test_exponents_of_buildings_are_those_of_the_models() -> None:
    """3GPP TR 38.901, table 7.4.1-1, and ITU-R P.1238-7, at 20 m and 5.18 GHz."""

    def loss_db(indoor: str) -> float:
        radio = resolved(rooms(radio=f'indoor = "{indoor}"')).radio
        return radio.tx_power_dbm + 2 * radio.antenna_gain_dbi - received_dbm(radio, 20)

    f, d = math.log10(5.18), math.log10(20)
    assert loss_db("3gpp-inh-nlos") == pytest.approx(17.3 + 38.3 * d + 24.9 * f, abs=0.1)
    assert loss_db("3gpp-inh-los") == pytest.approx(32.4 + 17.3 * d + 20 * f, abs=0.1)
    p1238 = 20 * math.log10(5180) - 28
    # Its constant is free space's at 1 m, 27.55, rounded.
    assert loss_db("itu-office") == pytest.approx(p1238 + 31 * d, abs=0.5)
    assert loss_db("itu-residential") == pytest.approx(p1238 + 28 * d, abs=0.5)
    # What was resolved stands for itself.
    scenario = resolved(rooms(radio='indoor = "itu-office"'))
    assert resolve(scenario).radio == scenario.radio


def test_a_map_has_the_walls() -> None:
    shapes = on_map.walls([[(0, 0), (5, 0), (5, 3)]])
    assert [(shape["x0"], shape["y0"], shape["x1"], shape["y1"]) for shape in shapes] == [
        *((0, 0, 5, 0), (5, 0, 5, 3)),
    ]


SVG = """<svg xmlns="http://www.w3.org/2000/svg" data-metres="0.1">
  <rect class="thick concrete" x="0" y="0" width="120" height="80"/>
  <g transform="translate(60, 0)"><line class="glass" x1="0" y1="0" x2="0" y2="60"/></g>
  <path d="M 0 40 h 30 m 20 0 H 60 V 50 z" data-loss-db="4.5"/>
  <path d="M 0 0 C 1 1 2 2 3 3"/><polyline points="1,1 2,1 2,2"/>
  <circle id="ap" cx="20" cy="20" r="1"/><circle id="desk" cx="100" cy="60" r="1"/>
</svg>
"""
GEOJSON: dict[str, Any] = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[8, 50], [8.0002, 50], [8.0002, 50.0001], [8, 50.0001], [8, 50]]],
            },
            "properties": {"material": "brick", "thickness_m": 0.24},
        },
        {
            "type": "Feature",
            "geometry": {"type": "LineString", "coordinates": [[8.0001, 50], [8.0001, 50.0001]]},
            "properties": {"loss_db": 6},
        },
        {"type": "Feature", "geometry": {"type": "GeometryCollection"}, "properties": None},
    ],
}


def test_lines_of_a_drawing_are_walls_and_circles_stations(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    file.write_text(SVG)
    network = formats.read(file, None)
    (tmp_path / "plan.toml").write_text(formats.text(network, "static", file.name))
    scenario = resolve(load(tmp_path / "plan.toml"))
    assert [(s.name, s.x_m, s.y_m) for s in scenario.station] == [
        *(("ap", 2, -2), ("desk", 10, -6)),
    ]
    outline, pane, first, second, corner = scenario.wall
    assert outline.corners == ((0, 0), (12, 0), (12, -8), (0, -8), (0, 0))
    assert (outline.material, pane.corners, pane.material) == (
        *("concrete", ((6, 0), (6, -6)), "glass"),
    )
    assert (first.corners, first.loss_db) == (((0, -4), (3, -4)), 4.5)
    assert second.corners == ((5, -4), (6, -4), (6, -5), (5, -4))
    assert corner.material == "brick"
    assert formats.left_out(network) == [
        *("1 curves", "1 materials of walls, which are brick now"),
    ]


def test_lines_of_a_map_are_walls_in_metres(tmp_path: Path) -> None:
    file = tmp_path / "plan.geojson"
    file.write_text(json.dumps(GEOJSON))
    network = formats.read(file, None)
    scenario = resolve(parse(network.document("static"), "plan"))
    outline, inner = scenario.wall
    # A ten thousandth of a degree at 50 degrees north is 7.17 m east and 11.12 m north (WGS84).
    assert outline.corners[1][0] - outline.corners[0][0] == pytest.approx(14.34, abs=0.02)
    assert outline.corners[2][1] - outline.corners[1][1] == pytest.approx(11.12, abs=0.02)
    assert (outline.thickness_m, inner.loss_db) == (0.24, 6)
    # Without stations there are two, in the rooms.
    assert len(scenario.station) == 2
    assert formats.left_out(network) == ["1 features of other kinds than lines and points"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.svg", "<svg/>", "has no wall"),
        ("a.svg", '<svg><line x2="nan"/></svg>', "a.svg:1: x2"),
        ("a.svg", '<svg><path d="h 3"/></svg>', "d: ends or begins amiss"),
        ("a.svg", '<svg><g transform="rotate(3)"/></svg>', "is no translate"),
        ("a.svg", '<svg data-metres="0"/>', "data-metres"),
        ("a.svg", "<!DOCTYPE svg><svg/>", "DOCTYPE"),
        ("a.geojson", "{}", "features"),
        (
            "a.geojson",
            '{"features": [{"geometry": {"type": "LineString", "coordinates": [[700, 3]]}}]}',
            "is no longitude and latitude",
        ),
    ],
)
def test_what_is_no_plan_is_refused_in_a_line(
    name: str, content: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ScenarioError, match=told) as error:
        formats.read(tmp_path / name, None)
    assert "\n" not in str(error.value)


NUMBERS = st.integers(-200, 200) | st.floats() | st.none() | st.text(max_size=3)
PLACES = st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=4), max_leaves=20)
KINDS = st.sampled_from(("Point", "LineString", "Polygon", "MultiPolygon", "Circle"))


@given(kind=KINDS, places=PLACES, loss=NUMBERS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_geometry_is_a_plan_or_a_line(
    kind: str, places: Any, loss: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    feature = {
        "geometry": {"type": kind, "coordinates": places},
        "properties": {"loss_db": loss},
    }
    either_way(tmp_path_factory, "any.geojson", json.dumps({"features": [feature]}))


@given(path=st.text(alphabet="MLHVZmlhvzCc 0123456789.,-e", max_size=40))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_path_is_a_plan_or_a_line(path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    either_way(tmp_path_factory, "any.svg", f'<svg><line x2="3"/><path d="{path}"/></svg>')


def either_way(factory: pytest.TempPathFactory, name: str, content: str) -> None:
    file = factory.getbasetemp() / name
    file.write_text(content)
    try:
        parse(formats.read(file, None).document("static"), "any")
    except ScenarioError as error:
        assert "\n" not in str(error)
