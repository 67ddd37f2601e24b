# SPDX-License-Identifier: Apache-2.0
"""Movement: places at times, the random waypoint model, files read and written."""

from __future__ import annotations

import gzip
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hoplab.front.commands.cli import app
from hoplab.model import movement
from hoplab.model.errors import ScenarioError
from hoplab.model.movement import (
    RandomWaypoint,
    Trace,
    bonnmotion,
    gpx,
    ns2,
    random_waypoint,
    sumo,
)
from hoplab.model.movement.geo import Degrees, middle, projected

AREA = {"width_m": 1500.0, "height_m": 300.0}


def walk(speed: float, stations: int = 3, seed: int = 1, **more: float) -> dict[str, Trace]:
    duration_s = more.pop("duration_s", 100.0)
    steps = RandomWaypoint(**AREA, min_speed_mps=0.9 * speed, max_speed_mps=1.1 * speed, **more)
    return random_waypoint([f"n{i}" for i in range(stations)], steps, duration_s, seed)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Traces from time 0 with legs of at least a millisecond and at most a few km."""
    count = draw(st.integers(1, 6))
    coordinate = st.floats(-2000, 2000).map(lambda value: round(value, 3))
    t, points = 0.0, []
    for _ in range(count):
        points.append((t, draw(coordinate), draw(coordinate)))
        t = round(t + draw(st.floats(0.001, 500)), 6)
    return Trace.of(points)


class TestTrace:
    def test_position_is_linear_between_and_at_rest_outside(self) -> None:
        trace = Trace.of([(10, 0, 0), (20, 100, 50)])
        assert trace.at(0) == (0, 0)
        assert trace.at(15) == (50, 25)
        assert trace.at(20) == trace.at(1e9) == (100, 50)

    def test_jump_holds_from_its_time_on(self) -> None:
        trace = Trace.of([(0, 0, 0), (5, 10, 0), (5, 90, 0), (6, 90, 0)])
        assert trace.at(4.999)[0] < 10
        assert trace.at(5) == (90, 0)

    @pytest.mark.parametrize(
        "points", [[], [(1, 0, 0), (0, 0, 0)], [(0, math.nan, 0)], [(math.inf, 0, 0)]]
    )
    def test_refuses_what_is_no_path(self, points: list[tuple[float, float, float]]) -> None:
        with pytest.raises(ValueError):
            Trace.of(points)


class TestRandomWaypoint:
    def test_known_values(self) -> None:
        # The stream's derivation is part of a run's digest: a change here changes every result.
        trace = walk(10)["n0"]
        assert trace[0] == KNOWN[0]
        assert trace[1] == KNOWN[1]

    def test_same_path_at_every_mean_speed(self) -> None:
        slow, fast = walk(2)["n1"], walk(20)["n1"]
        for one, other in zip(slow, fast, strict=False):
            assert one[1:] == other[1:]
            assert one.t_s == pytest.approx(10 * other.t_s, abs=2e-5)
        assert len(fast) > len(slow)

    def test_more_stations_leave_the_first_alone(self) -> None:
        few, many = walk(5, stations=2), walk(5, stations=9)
        assert few["n1"] == many["n1"]
        assert len({trace[0] for trace in many.values()}) == 9

    def test_seed_matters(self) -> None:
        assert walk(5, seed=1) != walk(5, seed=2)

    @given(st.integers(0, 2**63 - 1), st.floats(0.5, 40), st.sampled_from([0.0, 3.0]))
    def test_stays_in_area_within_speed_and_lasts(
        self, seed: int, speed: float, pause_s: float
    ) -> None:
        trace = walk(speed, stations=1, seed=seed, pause_s=pause_s)["n0"]
        assert trace[-1].t_s >= 100
        for point in trace:
            assert 0 <= point.x_m <= 1500
            assert 0 <= point.y_m <= 300
        for start, end in pairwise(trace):
            distance = math.dist(start[1:], end[1:])
            if distance == 0:
                assert end.t_s - start.t_s == pytest.approx(pause_s, abs=1e-5)
                continue
            # 1 us and 1 mm of rounding at either end of the leg
            time = end.t_s - start.t_s
            assert distance <= 1.1 * speed * (time + 2e-6) + 3e-3
            assert distance >= 0.9 * speed * (time - 2e-6) - 3e-3

    def test_pauses(self) -> None:
        trace = walk(10, pause_s=7.0)["n0"]
        rests = [b.t_s - a.t_s for a, b in pairwise(trace) if a[1:] == b[1:]]
        assert rests
        assert rests == pytest.approx([7.0] * len(rests))

    @pytest.mark.parametrize(
        "wrong",
        [{"width_m": 0.0}, {"min_speed_mps": 0.0}, {"max_speed_mps": 0.5}, {"pause_s": -1.0}],
    )
    def test_refuses_what_makes_no_movement(self, wrong: dict[str, float]) -> None:
        good = {**AREA, "min_speed_mps": 1.0, "max_speed_mps": 2.0}
        with pytest.raises(ValueError):
            RandomWaypoint(**{**good, **wrong})


KNOWN = [(0.0, 1369.606, 227.187), (36.658196, 1095.056, 35.742)]


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of Python ``action`` runs, turns of loops included: its cost on any host."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


class TestNs2:
    def test_reads_setdest_output(self) -> None:
        found = ns2.parse(
            """#
# nodes: 2, pause: 2.00, max speed: 1.50
$node_(1) set X_ 0.0
$node_(1) set Y_ 5.0
$node_(0) set X_ 10.0
$node_(0) set Y_ 20.0
$node_(0) set Z_ 0.000000000000
$god_ set-dist 0 1 1
$ns_ at 2.0 "$node_(0) setdest 40.0 60.0 5.0"
$ns_ at 12.0 "$node_(0) setdest 40.0 60.0 0.0"
$ns_ at 3.5 "$god_ set-dist 0 1 2"
"""
        )
        assert list(found) == ["n0", "n1"]
        assert found["n0"] == Trace.of([(0, 10, 20), (2, 10, 20), (12, 40, 60)])
        assert found["n1"] == Trace.of([(0, 0, 5)])

    def test_turns_where_it_is_when_sent_off_early(self) -> None:
        trace = ns2.parse(
            "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n"
            '$ns_ at 0 "$node_(0) setdest 100 0 10"\n'
            '$ns_ at 4 "$node_(0) setdest 40 30 5"\n'
        )["n0"]
        assert trace == Trace.of([(0, 0, 0), (4, 40, 0), (10, 40, 30)])

    def test_speed_zero_stops_it(self) -> None:
        trace = ns2.parse(
            "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n"
            '$ns_ at 0 "$node_(0) setdest 100 0 10"\n'
            '$ns_ at 4 "$node_(0) setdest 90 9 0"\n'
        )["n0"]
        assert trace.at(4) == trace.at(50) == (40, 0)

    def test_lines_need_not_be_in_order_of_time(self) -> None:
        trace = ns2.parse(
            '$ns_ at 9 "$node_(0) setdest 10 5 1"\n'
            '$ns_ at 0 "$node_(0) setdest 10 0 2"\n'
            "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n"
        )["n0"]
        assert trace == Trace.of([(0, 0, 0), (5, 10, 0), (9, 10, 0), (14, 10, 5)])

    def test_each_leg_costs_the_same_however_many_there_are_before_it(self) -> None:
        legs = [f'$ns_ at {i} "$node_(0) setdest {i % 7 * 100} {i % 5} 50"' for i in range(2000)]
        start = ["$node_(0) set X_ 0", "$node_(0) set Y_ 0"]
        half = lines_run(lambda: ns2.parse("\n".join(start + legs[:1000])))
        assert lines_run(lambda: ns2.parse("\n".join(start + legs))) < 2.1 * half

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("$node_(0) set X_ abc", "m.tcl:3: 'abc'; expected a number"),
            ("$node_(0) set X_ nan", "m.tcl:3: 'nan'; expected a number"),
            ("$node_(x) set X_ 1", "m.tcl:3: node 'x'; expected a number"),
            ("$node_(0) set W_ 1", "m.tcl:3: sets 'W_'; expected X_, Y_ or Z_"),
            ("$node_(0) set Z_ 4", "m.tcl:3: Z_ is 4; expected 0"),
            ("puts hello", "m.tcl:3: 'puts hello'; expected `$node_(I) set X_"),
            ('$ns_ at -1 "$node_(0) setdest 1 1 1"', "m.tcl:3: time -1; expected 0 or later"),
            ('$ns_ at 1 "$node_(0) setdest 1 1 -1"', "m.tcl:3: speed -1; expected 0 or above"),
            ('$ns_ at 1 "$node_(7) setdest 1 1 1"', "m.tcl:3: node 7 has no X_; expected"),
        ],
    )
    def test_errors_name_line_value_and_expectation(self, line: str, message: str) -> None:
        text = f"$node_(0) set X_ 0\n$node_(0) set Y_ 0\n{line}\n"
        with pytest.raises(ScenarioError) as caught:
            ns2.parse(text, "m.tcl")
        assert message in str(caught.value)

    def test_empty_file(self) -> None:
        with pytest.raises(ScenarioError, match="no station"):
            ns2.parse("# nothing\n")

    def test_a_jump_cannot_be_written(self) -> None:
        with pytest.raises(ValueError, match="jumps at 5 s"):
            ns2.dump({"a": Trace.of([(0, 0, 0), (5, 0, 0), (5, 1, 1)])})

    @given(st.lists(traces(), min_size=1, max_size=4))
    def test_round_trip(self, written: list[Trace]) -> None:
        named = {f"n{i}": trace for i, trace in enumerate(written)}
        read = ns2.parse(ns2.dump(named))
        assert list(read) == list(named)
        for name, trace in named.items():
            for start, end in pairwise(trace):
                for t in (start.t_s, (start.t_s + end.t_s) / 2, end.t_s):
                    # An arrival may move by a rounding error of its time, times the speed.
                    speed = math.dist(start[1:], end[1:]) / (end.t_s - start.t_s)
                    close = 1e-6 + 1e-8 * speed + 1e-5
                    assert math.dist(read[name].at(t), trace.at(t)) <= close
            assert read[name].at(1e7) == pytest.approx(trace.at(1e7), abs=1e-6)


class TestBonnMotion:
    def test_reads(self) -> None:
        found = bonnmotion.parse("0.0 1 2 10.0 3 4\n\n# comment\n0 5 6\n")
        assert found == {"n0": Trace.of([(0, 1, 2), (10, 3, 4)]), "n1": Trace.of([(0, 5, 6)])}

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("0 1", "a.movements:2: 2 values; expected groups of three"),
            ("0 1 x", "a.movements:2: 'x'; expected a number"),
            ("0 1 inf", "a.movements:2: 'inf'; expected a number"),
            ("5 1 1 4 1 1", "a.movements:2: time 4; expected at least 5"),
            ("-5 1 1", "a.movements:2: time -5; expected at least 0"),
        ],
    )
    def test_errors_name_line_value_and_expectation(self, line: str, message: str) -> None:
        with pytest.raises(ScenarioError) as caught:
            bonnmotion.parse(f"0 0 0\n{line}\n", "a.movements")
        assert message in str(caught.value)

    @given(st.lists(traces(), min_size=1, max_size=4))
    def test_round_trip_is_exact(self, written: list[Trace]) -> None:
        named = {f"n{i}": trace for i, trace in enumerate(written)}
        assert bonnmotion.parse(bonnmotion.dump(named)) == named


def fcd(*steps: str) -> str:
    return "<fcd-export>\n" + "\n".join(steps) + "\n</fcd-export>\n"


class TestSumo:
    def test_reads_what_moves_and_numbers_it(self) -> None:
        found = sumo.parse(
            fcd(
                '<timestep time="0.00">\n<vehicle id="bus" x="1" y="2" speed="3"/></timestep>',
                '<timestep time="1.00"><vehicle id="bus" x="4" y="2"/>'
                '<person id="ann" x="0" y="9" angle="0"/></timestep>',
                '<timestep time="2.50"><container id="box" x="5" y="5"/></timestep>',
            )
        )
        assert found.called == ("bus", "ann", "box")
        assert dict(found.traces) == {
            "n0": Trace.of([(0, 1, 2), (1, 4, 2)]),
            "n1": Trace.of([(1, 0, 9)]),
            "n2": Trace.of([(2.5, 5, 5)]),
        }
        assert found.about is None

    def test_of_a_rest_the_ends_are_kept(self) -> None:
        found = sumo.parse(
            fcd(
                *(
                    f'<timestep time="{t}"><vehicle id="a" x="1" y="1"/></timestep>'
                    for t in range(9)
                )
            )
        )
        assert found.traces["n0"] == Trace.of([(0, 1, 1), (8, 1, 1)])

    def test_degrees_are_known_by_sumos_own_comment(self) -> None:
        steps = (
            '<timestep time="0"><vehicle id="a" x="13.4" y="52.5"/></timestep>',
            '<timestep time="9"><vehicle id="a" x="13.41" y="52.5"/></timestep>',
        )
        plain = sumo.parse(fcd(*steps))
        assert plain.traces["n0"][0] == (0, 13.4, 52.5)
        said = '<!-- <output><fcd-output.geo value="true"/></output> -->\n'
        geo = sumo.parse(said + fcd(*steps))
        assert geo.about == pytest.approx((52.5, 13.405))
        meant = Geodesic.WGS84.Inverse(52.5, 13.4, 52.5, 13.41)["s12"]
        assert geo.traces["n0"][-1].x_m == pytest.approx(meant, abs=0.002)
        assert sumo.parse(said.replace("true", "false") + fcd(*steps)).about is None

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('<timestep time="x"/>', "f.xml:3: time: 'x'; expected a number"),
            ("<timestep/>", "f.xml:3: <timestep> has no time; expected a number"),
            ('<timestep time="4"/>', "f.xml:3: time 4; expected at least 5"),
            ('<timestep time="5"><vehicle id="b" x="1"/></timestep>', "<vehicle> has no y"),
            ('<timestep time="5"><vehicle x="1" y="1"/></timestep>', "<vehicle> has no id"),
            ('<timestep time="5"><person id="b" x="nan" y="1"/></timestep>', "x: 'nan'"),
            ('<timestep time="5"><vehicle id="a" x="1" y="1"/></timestep>', "'a' again at 5 s"),
            ("<timestep", "f.xml:4: not well-formed (invalid token); expected XML"),
            ("</vehicle>", "f.xml:3: mismatched tag; expected XML"),
        ],
    )
    def test_errors_name_line_value_and_expectation(self, line: str, message: str) -> None:
        first = '<timestep time="5"><vehicle id="a" x="0" y="0"/></timestep>'
        with pytest.raises(ScenarioError) as caught:
            sumo.parse(fcd(first, line), "f.xml")
        assert message in str(caught.value)
        assert "f.xml:" in str(caught.value)

    def test_a_vehicle_before_any_time_is_refused(self) -> None:
        with pytest.raises(ScenarioError, match="expected <timestep"):
            sumo.parse('<fcd-export><vehicle id="a" x="0" y="0"/></fcd-export>')

    def test_is_told_where_everybody_is_with_speed_and_angle(self) -> None:
        text = sumo.dump({"n0": Trace.of([(0, 0, 0), (2, 0, -6), (3, 8, -6)])}, 1.0)
        rows = [line.split('"')[1::2] for line in text.splitlines() if "<vehicle" in line]
        assert [row[1:4] + row[5:] for row in rows] == [
            ["0.000", "0.000", "180.00", "3.000"],
            ["0.000", "-3.000", "180.00", "3.000"],
            ["0.000", "-6.000", "180.00", "3.000"],
            ["8.000", "-6.000", "90.00", "8.000"],
        ]

    @pytest.mark.parametrize("step", [0.0, -1.0, math.inf, math.nan, 1e-9])
    def test_a_step_that_makes_no_file_is_refused(self, step: float) -> None:
        with pytest.raises(ValueError):
            sumo.dump({"n0": Trace.of([(0, 0, 0), (9, 0, 9)])}, step)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(traces(), min_size=1, max_size=4), st.sampled_from([2.0, 10.0]))
    def test_round_trip_is_within_half_a_steps_way(self, written: list[Trace], step: float) -> None:
        named = {f"n{i}": trace for i, trace in enumerate(written)}
        read = sumo.parse(sumo.dump(named, step)).traces
        for name, trace in named.items():
            bound = trace.top_speed_mps() * step / 2 + 0.002
            for start, end in pairwise(trace):
                for t in (start.t_s, (start.t_s + end.t_s) / 2, end.t_s):
                    assert math.dist(read[name].at(t), trace.at(t)) <= bound


def track(*points: tuple[float, float, str], name: str = "") -> str:
    inner = "".join(
        f'<trkpt lat="{lat}" lon="{lon}"><ele>3</ele><time>{date}</time></trkpt>\n'
        for lat, lon, date in points
    )
    return f"<trk><name>{name}</name><trkseg>\n{inner}</trkseg></trk>\n"


def gps(*tracks: str) -> str:
    space = "http://www.topografix.com/GPX/1/1"
    return (
        f'<?xml version="1.0"?>\n<gpx version="1.1" xmlns="{space}">' + "".join(tracks) + "</gpx>"
    )


class TestGpx:
    def test_a_station_a_track_with_one_clock_and_one_plane(self) -> None:
        found = gpx.parse(
            gps(
                "<wpt lat='1' lon='1'><name>kiosk</name><time>1999-01-01T00:00:00Z</time></wpt>",
                track((52.5, 13.4, "2024-05-01T10:00:10Z"), (52.5, 13.41, "2024-05-01T10:01:00Z")),
                track((52.51, 13.4, "2024-05-01T12:00:00.5+02:00"), name="ann"),
                track((52.51, 13.4, "2024-05-01T10:00:00"), name="ann"),
            )
        )
        assert found.called == ("track", "ann", "ann (3)")
        ways = found.traces
        assert [ways[n][0].t_s for n in ("n0", "n1", "n2")] == [10, 0.5, 0]
        assert ways["n0"][-1].t_s == 60
        east = Geodesic.WGS84.Inverse(52.5, 13.4, 52.5, 13.41)["s12"]
        north = Geodesic.WGS84.Inverse(52.5, 13.4, 52.51, 13.4)["s12"]
        assert math.dist(ways["n0"].at(0), ways["n0"].at(60)) == pytest.approx(east, abs=0.01)
        assert math.dist(ways["n0"].at(0), ways["n1"].at(0)) == pytest.approx(north, abs=0.01)
        # Nobody is west or south of the corner.
        assert min(p.x_m for t in ways.values() for p in t) == 0
        assert min(p.y_m for t in ways.values() for p in t) == 0

    def test_segments_follow_each_other_under_any_prefix(self) -> None:
        text = gps(track((0, 0, "2024-01-01T00:00:00Z"), (0, 0.01, "2024-01-01T00:00:10Z")))
        split = text.replace("</trkpt>\n<trkpt", "</trkpt></trkseg><trkseg><trkpt")
        assert split != text
        prefixed = split.replace("<trk", "<g:trk").replace("</trk", "</g:trk")
        assert gpx.parse(split).traces == gpx.parse(text).traces == gpx.parse(prefixed).traces

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (gps(track((0, 0, "yesterday"))), "g.gpx:3: time 'yesterday'; expected one such as"),
            (gps(track((91, 0, "2024-01-01T00:00:00Z"))), "g.gpx:3: lat 91, lon 0; expected"),
            (gps(track((0, 181, "2024-01-01T00:00:00Z"))), "lat 0, lon 181; expected"),
            (gps('<trk><trkseg><trkpt lat="1"/></trkseg></trk>'), "<trkpt> has no lon"),
            (gps('<trk><trkseg><trkpt lat="1" lon="1"/></trkseg></trk>'), "<trkpt> has no <time>"),
            (gps('<trkpt lat="1" lon="1"/>'), "g.gpx:2: <trkpt>; expected it in <trk>"),
            (
                gps(track((0, 0, "2024-01-02T00:00:00Z"), (0, 0, "2024-01-01T00:00:00Z"))),
                "g.gpx:4: time 2024-01-01T00:00:00+00:00; expected at least 2024-01-02",
            ),
            (
                gps(track((0, 0, "2024-01-01T00:00:00Z"), (0, 9, "2024-01-02T00:00:00Z"))),
                "is over 100 km from the middle at longitude 4.5; expected places of one region",
            ),
            (gps(), "g.gpx: no station; expected <trk>"),
            ("<kml/>", "g.gpx:1: begins with <kml>; expected <gpx>"),
        ],
    )
    def test_errors_name_line_value_and_expectation(self, text: str, message: str) -> None:
        with pytest.raises(ScenarioError) as caught:
            gpx.parse(text, "g.gpx")
        assert message in str(caught.value)


class TestProjection:
    """Against Karney's geodesics, which are exact to 15 nm (J. Geodesy 87, 2013)."""

    @settings(max_examples=50, deadline=None)
    @given(
        st.floats(-88, 88),
        st.floats(-180, 180),
        st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=2, max_size=2),
        st.sampled_from([0.1, 1.0, 4.9]),
    )
    def test_distances_are_within_the_stated_bound(
        self, latitude: float, longitude: float, ends: list[tuple[float, float]], scale: float
    ) -> None:
        """Places up to 98 km from the middle's meridian, in every region of the globe."""
        places = []
        for east_km, north_km in ends:
            way = math.hypot(east_km, north_km) * scale * 1000
            bearing = math.degrees(math.atan2(east_km, north_km))
            found = Geodesic.WGS84.Direct(latitude, longitude, bearing, way)
            places.append(Degrees(found["lat2"], found["lon2"]))
        about = Degrees(latitude, (longitude + 180) % 360 - 180)
        if any(abs(place.latitude) > 89 for place in places):
            return
        plane = list(projected(places, about))
        meant = Geodesic.WGS84.Inverse(*places[0], *places[1])["s12"]
        widest = max(abs(x_m) for x_m, _ in plane)
        # R: the smallest radius of curvature of the ellipsoid, at the equator along a meridian.
        bound = (widest / 6_335_439) ** 2 / 2 * meant
        # The chord on the plane beside the geodesic, which is an arc on it.
        error = math.dist(*plane) - meant
        assert -1e-6 - 1e-9 * meant <= error + 1e-9 * meant
        assert error <= 1.02 * bound + 1e-6

    def test_the_middle_lies_across_the_date_line(self) -> None:
        places = [Degrees(-17, 179.99), Degrees(-17.02, -179.97)]
        assert middle(places) == pytest.approx((-17.01, -179.99))
        (west, _), (east, _) = projected(places, middle(places))
        meant = Geodesic.WGS84.Inverse(-17, 179.99, -17, -179.97)["s12"]
        assert east - west == pytest.approx(meant, rel=1e-4)


class TestSafety:
    BOMB = (
        '<!DOCTYPE gpx [<!ENTITY l0 "ha">'
        + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
        + "]><gpx>&l9;</gpx>"
    )

    @pytest.mark.parametrize(
        "text",
        [
            BOMB,
            '<!DOCTYPE gpx SYSTEM "file:///etc/passwd"><gpx/>',
            '<!DOCTYPE gpx [<!ENTITY e SYSTEM "file:///etc/passwd">]><gpx>&e;</gpx>',
        ],
    )
    @pytest.mark.parametrize("parse", [sumo.parse, gpx.parse])
    def test_no_entity_is_declared(self, parse: Callable[[str, str], object], text: str) -> None:
        with pytest.raises(ScenarioError, match=r"f:\d: has a DOCTYPE; expected XML without one"):
            parse(text, "f")

    def test_an_entity_that_nobody_declared_is_a_mistake(self) -> None:
        with pytest.raises(ScenarioError, match="undefined entity"):
            gpx.parse("<gpx>&lol;</gpx>", "f")

    @pytest.mark.parametrize("name", ["m.xml.gz", "m.gpx.gz", "m.movements.gz"])
    def test_what_unpacks_without_end_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setattr(movement, "MAX_BYTES", 1 << 20)
        (tmp_path / name).write_bytes(gzip.compress(b" " * (8 << 20)))
        with pytest.raises(ScenarioError, match="is larger than 1 MiB; shorten it"):
            movement.load(tmp_path / name)

    @settings(max_examples=50, deadline=None)
    @given(st.data())
    @pytest.mark.parametrize("form", ["xml", "gpx", "ns2", "movements"])
    def test_a_damaged_file_is_read_or_refused_in_one_line(
        self, form: str, data: st.DataObject
    ) -> None:
        text = FORMS[form]
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(text)))
            gone = data.draw(st.integers(0, 20))
            put = data.draw(st.one_of(st.text(max_size=8), st.sampled_from(DAMAGE)))
            text = text[:at] + put + text[at + gone :]
        parse = {"xml": sumo.parse, "gpx": gpx.parse, "ns2": ns2.parse}.get(form, bonnmotion.parse)
        try:
            parse(text, "file")
        except ScenarioError as error:
            assert len(str(error).splitlines()) == 1
            assert len(str(error)) < 300
            assert str(error).startswith("file")


DAMAGE = [
    *("<", ">", '"', "&", "&#0;", "]]>", "<!--", "<?x?>", "<!DOCTYPE x>", "/>", "\x00"),
    *("nan", "-1", "1e308", "1e400", "_1", "<trk>", "</trk>", "<time>", "<trkpt>"),
    *("<timestep time='3'>", "<vehicle id='a' x='1' y='1'/>"),
]
FORMS = {
    "xml": fcd(
        '<timestep time="0.00"><vehicle id="bus" x="1" y="2" speed="3"/></timestep>',
        '<timestep time="1.00"><vehicle id="bus" x="4" y="2"/></timestep>',
        '<timestep time="2.00"><person id="b" x="0" y="9"/></timestep>',
    ),
    "gpx": gps(
        track((52.5, 13.4, "2024-05-01T10:00:10Z"), (52.5, 13.41, "2024-05-01T10:01:00Z")),
        track((52.51, 13.4, "2024-05-01T12:00:00.5+02:00"), name="ann"),
    ),
    "ns2": '$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$ns_ at 0 "$node_(0) setdest 100 0 10"\n',
    "movements": "0.0 1 2 10.0 3 4\n0 5 6\n",
}


class TestCommand:
    def convert(self, *words: str | Path) -> str:
        result = CliRunner().invoke(app, ["movement", *map(str, words)], catch_exceptions=False)
        assert result.exit_code == 0
        return result.stdout

    def test_every_format_becomes_every_other(self, tmp_path: Path) -> None:
        for form, text in FORMS.items():
            source = tmp_path / f"in.{form}"
            source.write_text(text)
            meant = movement.load(source)
            for suffix in movement.WRITTEN:
                out = tmp_path / f"{form}{suffix}.gz"
                self.convert(source, out, "--step", "0.1")
                written = movement.load(out)
                assert len(written) == len(meant)
                for name, trace in meant.items():
                    assert written[name].at(1e6) == pytest.approx(trace.at(1e6), abs=1e-3)
                    assert written[name].at(1.0) == pytest.approx(trace.at(1.0), abs=0.02)

    def test_a_window_has_those_that_are_there(self, tmp_path: Path) -> None:
        source, out = tmp_path / "in.xml", tmp_path / "out.movements"
        steps = [
            f'<timestep time="{t}">'
            + "".join(
                f'<vehicle id="v{i}" x="{t}" y="{i}"/>' for i in range(9) if 5 * i <= t <= 5 * i + 9
            )
            + "</timestep>"
            for t in range(50)
        ]
        source.write_text(fcd(*steps))
        self.convert(source, out, "--begin", "12", "--end", "15")
        assert movement.load(out) == {
            "n0": Trace.of([(0, 12, 1), (1, 13, 1), (2, 14, 1)]),
            "n1": Trace.of([(0, 12, 2), (1, 13, 2), (2, 14, 2), (3, 15, 2)]),
            "n2": Trace.of([(3, 15, 3)]),
        }
        self.convert(source, out, "--begin", "12", "--end", "15", "--stations", "2")
        assert len(movement.load(out)) == 2
        with pytest.raises(ScenarioError, match="no station is there in that time"):
            self.convert(source, out, "--begin", "500")
        with pytest.raises(ScenarioError, match="--end: 1 is not after --begin, 2"):
            self.convert(source, out, "--begin", "2", "--end", "1")

    def test_without_a_file_to_write_it_tells_who_is_who(self, tmp_path: Path) -> None:
        source = tmp_path / "in.gpx"
        source.write_text(FORMS["gpx"])
        told = self.convert(source)
        assert "ann" in told
        assert "projected about latitude 52.50500, longitude 13.40500" in told
        assert "2 stations, 0 to 59.5 s" in told


class TestFiles:
    @pytest.mark.parametrize(
        "name", ["m.movements", "m.movements.gz", "m.ns2", "m.tcl", "m.xml.gz"]
    )
    def test_saved_and_loaded(self, tmp_path: Path, name: str) -> None:
        saved = walk(10)
        movement.save(saved, tmp_path / name)
        for station, trace in movement.load(tmp_path / name).items():
            for t in range(0, 100, 7):
                assert trace.at(t) == pytest.approx(saved[station].at(t), abs=1e-3)

    def test_unknown_suffix(self, tmp_path: Path) -> None:
        with pytest.raises(ScenarioError, match=r"suffix '.csv' is no movement format"):
            movement.load(tmp_path / "m.csv")

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ScenarioError, match=r"m.ns2: cannot be read: No such file"):
            movement.load(tmp_path / "m.ns2")

    def test_not_gzip(self, tmp_path: Path) -> None:
        (tmp_path / "m.movements.gz").write_text("0 0 0\n")
        with pytest.raises(ScenarioError, match="is not gzip data"):
            movement.load(tmp_path / "m.movements.gz")
