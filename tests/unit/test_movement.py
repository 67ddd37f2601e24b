# SPDX-License-Identifier: Apache-2.0
"""Movement: places at times, the random waypoint model, files read and written."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoplab.errors import ScenarioError
from hoplab.scenario import movement
from hoplab.scenario.movement import Trace, bonnmotion, ns2, random_waypoint

AREA = {"width_m": 1500.0, "height_m": 300.0}


def walk(speed: float, stations: int = 3, seed: int = 1, **more: float) -> dict[str, Trace]:
    return random_waypoint(
        [f"n{i}" for i in range(stations)],
        **AREA,
        min_speed_mps=0.9 * speed,
        max_speed_mps=1.1 * speed,
        duration_s=more.pop("duration_s", 100.0),
        seed=seed,
        **more,
    )


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
        good = {**AREA, "min_speed_mps": 1.0, "max_speed_mps": 2.0, "duration_s": 10.0}
        with pytest.raises(ValueError):
            random_waypoint(["n0"], seed=1, **{**good, **wrong})


KNOWN = [(0.0, 1369.606, 227.187), (36.658196, 1095.056, 35.742)]


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

    def test_a_station_of_many_legs_is_read_at_once(self) -> None:
        """Each leg costs the same, however many there are before it."""
        legs = "".join(
            f'$ns_ at {i} "$node_(0) setdest {i % 7 * 100} {i % 5} 50"\n' for i in range(20_000)
        )
        began = time.process_time()
        trace = ns2.parse("$node_(0) set X_ 0\n$node_(0) set Y_ 0\n" + legs)["n0"]
        assert len(trace) > 20_000
        assert time.process_time() - began < 5

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


class TestFiles:
    @pytest.mark.parametrize("name", ["m.movements", "m.movements.gz", "m.ns2", "m.tcl"])
    def test_saved_and_loaded(self, tmp_path: Path, name: str) -> None:
        saved = walk(10)
        movement.save(saved, tmp_path / name)
        for station, trace in movement.load(tmp_path / name).items():
            for t in range(0, 100, 7):
                assert trace.at(t) == pytest.approx(saved[station].at(t), abs=1e-4)

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
