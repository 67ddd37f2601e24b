# SPDX-License-Identifier: Apache-2.0
"""A sweep's file: axes, combinations, what is left out, and the messages about mistakes."""

from pathlib import Path
from typing import Any

import pytest

from hoplab.many.store.key import key_of, text_of
from hoplab.many.sweep import api as sweeps
from hoplab.many.sweep import engine, points
from hoplab.many.sweep.place import held
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.resolve.file import load
from tests.scenarios import TWO_HOPS

BASE = f"duration_s = 10\n{TWO_HOPS}"


def read(folder: Path, text: str, base: str = BASE) -> sweeps.Sweep:
    (folder / "scenario.toml").write_text(base)
    (folder / "sweep.toml").write_text(text)
    return sweeps.read(folder / "sweep.toml")


def parameters(sweep: sweeps.Sweep) -> list[tuple[Any, ...]]:
    return [tuple(one.parameters.values()) for one in sweep.combinations()]


def test_lists_and_ranges_make_a_grid_the_first_axis_the_slowest(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        seeds = 2
        [[axis]]
        key = "flow.0.congestion_control"
        name = "variant"
        values = ["reno", "vegas"]
        [[axis]]
        key = "topology.spacing_m"
        from = 100
        to = 200
        step = 50
        """,
    )
    wanted = [(v, s) for v in ("reno", "vegas") for s in (100, 150, 200)]
    assert parameters(sweep) == wanted
    points = list(sweep.points())
    assert [(*p.parameters.values(), p.seed) for p in points] == [
        (*pair, seed) for pair in wanted for seed in (1, 2)
    ]
    assert points[-1].document["topology"] == {"kind": "chain", "stations": 3, "spacing_m": 200}
    assert points[-1].document["flow"][0]["congestion_control"] == "vegas"
    assert sweep.count() == 12


def test_points_share_nothing_that_one_could_change(tmp_path: Path) -> None:
    sweep = read(tmp_path, '[[axis]]\nkey = "flow.0.window"\nvalues = [4, 8]')
    one, other = sweep.points()
    assert one.document["flow"][0]["window"] == 4
    assert other.document["flow"][0]["window"] == 8


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("from = 0.1\nto = 0.5\nstep = 0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("from = 0\nto = 1\nstep = 0.4", [0, 0.4, 0.8]),
        ("from = 10\nto = 4\nstep = -3", [10, 7, 4]),
        ("from = 1\nto = 2\ncount = 5", [1, 1.25, 1.5, 1.75, 2]),
        ('from = 1\nto = 1000\ncount = 4\nscale = "log"', [1, 10, 100, 1000]),
    ],
)
def test_a_range(tmp_path: Path, text: str, values: list[float]) -> None:
    sweep = read(tmp_path, f'[[axis]]\nkey = "flow.0.rate_kbps"\n{text}')
    assert [row[0] for row in parameters(sweep)] == values


def test_lists_in_step_set_several_keys(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        [[axis]]
        name = "hops"
        keys = ["topology.stations", "flow.0.destination"]
        values = [[2, "n1"], [4, "n3"]]
        names = [1, 3]
        """,
    )
    assert parameters(sweep) == [(1,), (3,)]
    assert [len(point.scenario().station) for point in sweep.points()] == [2, 4]
    assert [point.scenario().flow[0].destination for point in sweep.points()] == ["n1", "n3"]


def test_a_case_replaces_a_whole_table(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        set = { "radio.rate_mbps" = 1 }
        [[axis]]
        name = "card"
        [[axis.case]]
        name = "slow"
        set = {}
        [[axis.case]]
        name = "fast"
        set = { radio = { profile = "80211b" } }
        """,
    )
    assert [point.document["radio"] for point in sweep.points()] == [
        {"rate_mbps": 1},
        {"profile": "80211b"},
    ]


def test_grids_stand_side_by_side(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        [[axis]]
        key = "flow.0.window"
        values = [4, 8]
        [[grid]]
        [[grid.axis]]
        key = "topology.spacing_m"
        values = [100]
        [[grid]]
        set = { "topology.kind" = "chain" }
        [[grid.axis]]
        key = "duration_s"
        values = [5, 6]
        """,
    )
    assert sweep.parameters == ("window", "spacing_m", "duration_s")
    assert parameters(sweep) == [
        *[(4, 100, None), (8, 100, None)],
        *[(4, None, 5), (4, None, 6), (8, None, 5), (8, None, 6)],
    ]


def test_an_axis_sets_the_seed_with_what_is_drawn_along_with_it(tmp_path: Path) -> None:
    text = """
        [[axis]]
        name = "draw"
        keys = ["seed", "topology.spacing_m"]
        values = [[4, 201], [7, 202]]
        """
    points = list(read(tmp_path, text).points())
    found = [(point.seed, point.document["topology"]["spacing_m"]) for point in points]
    assert found == [(4, 201), (7, 202)]
    assert [p.seed for p in read(tmp_path, "seeds = [9]\n" + text).points()] == [9, 9]


def test_conditions_leave_combinations_out(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        leave_out = ["window * 2 > 10 and kind != 'pair'", "stations in [5, 6]", "not probe"]
        [[axis]]
        key = "flow.0.window"
        values = [4, 8]
        [[axis]]
        key = "topology.kind"
        values = ["chain", "pair"]
        [[axis]]
        key = "topology.stations"
        values = [4, 5]
        [[axis]]
        name = "probe"
        key = "measure.packets"
        values = [true, false]
        """,
    )
    assert parameters(sweep) == [
        (4, "chain", 4, True),
        (4, "pair", 4, True),
        (8, "pair", 4, True),
    ]


@pytest.mark.parametrize(
    ("seeds", "found"),
    [
        ("", [7]),
        ("seeds = 3", [1, 2, 3]),
        ("seeds = [9, 2]", [9, 2]),
        ("seeds = { from = 5, count = 2 }", [5, 6]),
    ],
)
def test_seeds(tmp_path: Path, seeds: str, found: list[int]) -> None:
    sweep = read(tmp_path, seeds, base=f"seed = 7\n{BASE}")
    assert [point.seed for point in sweep.points()] == found


ONE_AXIS = '[[axis]]\nkey = "flow.0.window"\nvalues = [4]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("axes = 1", "axes: unknown key (did you mean 'axis'?)"),
        ("[[axis]]\nvalues = [1]", 'axis.0: needs key = "path.to.key"'),
        ('[[axis]]\nkey = "duration_s"', "axis.0: needs values"),
        ('[[axis]]\nkey = "duration_s"\nfrom = 1\nto = 2\nstep = -1', "no step of -1 leads"),
        ('[[axis]]\nkey = "duration_s"\nvalues = [1, 1]', "has a value twice"),
        ('[[axis]]\nkey = "radio"\nvalues = [{ profile = "hv99" }]', "need names"),
        ('[[axis]]\nkeys = ["a", "b"]\nvalues = [[1]]', "must be a list of 2"),
        ('[[axis]]\nkey = "flow.0.goodput_kbps"\nvalues = [1]', "is a column of the results"),
        (ONE_AXIS + ONE_AXIS, "two are called 'window'"),
        ('leave_out = ["windw > 3"]\n' + ONE_AXIS, "no parameter (did you mean 'window'?)"),
        ('leave_out = ["window > "]\n' + ONE_AXIS, "is no condition"),
        ('leave_out = ["__import__(1)"]\n' + ONE_AXIS, "may compare parameters"),
        ('leave_out = ["window.real > 1"]\n' + ONE_AXIS, "may compare parameters"),
        ("leave_out = [\"window > 'a'\"]\n" + ONE_AXIS, "cannot be decided"),
        ('keep = ["segments"]', "keep: 'segments' is no table"),
        ('stop_when = "enough"', "stop_when: 'enough' is no rule"),
        ('stop_when = "ci95 of speed < 1 %"', "'speed' is no number of a flow"),
        ("most_seeds = 5", "most_seeds counts only with stop_when"),
        ('seeds = 9\nmost_seeds = 5\nstop_when = "ci95 of sent < 1"', "needs 2 to most_seeds (5)"),
        ('[[axis]]\nkey = "flow.3.window"\nvalues = [4]', "index 0 only"),
    ],
)
def test_a_mistake_is_told_in_a_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        list(read(tmp_path, text).points())
    assert told in str(caught.value)
    assert "sweep.toml" in str(caught.value) or "flow" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_point_that_contradicts_itself_is_named(tmp_path: Path) -> None:
    sweep = read(tmp_path, '[[axis]]\nkey = "flow.0.destination"\nvalues = ["n2", "n9"]')
    good, bad = sweep.points()
    good.scenario()
    with pytest.raises(
        ScenarioError, match=r"^destination n9, seed 1: flow.0.destination: no .*'n9'"
    ):
        bad.scenario()


def test_all_combinations_are_checked_before_the_first_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = read(
        tmp_path,
        """
        seeds = 3
        [[axis]]
        key = "flow.0.destination"
        values = ["n2", "n9", "n1", "n8"]
        """,
    )
    monkeypatch.setattr(engine.Engine, "run", lambda self: pytest.fail("was run"))
    for call in (sweep.check, lambda: list(sweeps.run(sweep))):
        with pytest.raises(ScenarioError) as caught:
            call()
        first, second, last = str(caught.value).splitlines()
        assert "sweep.toml: destination n9, seed 1: flow.0.destination: no" in first
        assert "destination n8, seed 1: " in second
        assert "nothing was run; leave such combinations out with leave_out" in last
    monkeypatch.setattr(points, "MOST_TOLD", 1)
    with pytest.raises(ScenarioError, match="and 1 more combinations"):
        sweep.check()


def test_every_seed_that_makes_another_network_is_checked(tmp_path: Path) -> None:
    """Of a random network some seeds have routes and some have none."""
    base = """
        duration_s = 5
        [topology]
        kind = "random-waypoint"
        stations = 4
        width_m = 600
        height_m = 600
        [[flow]]
        source = "n0"
        destination = "n3"
        """
    axis = '[[axis]]\nkey = "flow.0.window"\nvalues = [4]'
    good = []
    for seed in range(1, 30):
        one = read(tmp_path, f"seeds = [{seed}]\n{axis}", base)
        try:
            one.check()
            good.append(seed)
        except ScenarioError as error:
            bad = seed
            reason = str(error)
    read(tmp_path, f"seeds = {good[:4]}\n{axis}", base).check()
    assert f"seed {bad}: " in reason
    with pytest.raises(ScenarioError, match=f"seed {bad}: "):
        read(tmp_path, f"seeds = {[*good[:4], bad]}\n{axis}", base).check()


def test_a_key_depends_on_scenario_and_machine_and_on_nothing_else() -> None:
    document = {"topology": {"kind": "pair"}, "flow": [{"source": "n0", "destination": "n1"}]}
    explicit = {"topology": {"kind": "pair", "spacing_m": 200.0}, "flow": document["flow"]}
    text = text_of(sweeps.point(document).scenario())
    assert text == text_of(sweeps.point(explicit, {"a": 1}).scenario())
    assert text != text_of(sweeps.point(document, seed=2).scenario())
    assert key_of(text, "a" * 64) != key_of(text, "b" * 64)


TWO = """
[[axis]]
key = "topology.spacing_m"
values = [100, 200]
"""


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("spacing_m in [0] * 9999999999", "a list is no number"),
        ("spacing_m in [0] + [1]", "a list is no number"),
        ("-" * 990 + "1", "nested more than 50 deep"),
        ("(" * 150 + "1" + ")" * 150 + "+1" * 300, "nested"),
        ("1 + " * 400 + "1", "longer than 1000"),
        ("spacing_m * 'a' > 1", "a string is no number"),
    ],
)
def test_conditions_cost_little(tmp_path: Path, condition: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        list(read(tmp_path, f'leave_out = ["{condition}"]' + TWO).combinations())
    assert words in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 100_000) + " = 1",
        '"x".' * 100_000 + "y = 1",
        ".".join(["a"] * 150) + " = 1",
        '[set]\n"' + ".".join(["a"] * 3000) + '" = 1',
        '[set]\n"' + ".".join(["a"] * 100) + '" = 1',
    ],
)
def test_a_key_has_few_parts(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read(tmp_path, text)
    assert len(str(error.value)) < 400
    assert "parts" in str(error.value) or "deep" in str(error.value)


def test_runs_are_counted_before_they_are_made(tmp_path: Path) -> None:
    axis = """
    [[axis]]
    name = "a{}"
    key = "topology.spacing_m"
    from = 1
    to = 10000
    count = 10000
    """
    axes = "".join(axis.format(number) for number in range(3))
    with pytest.raises(ScenarioError, match=r"has 1000000000000 runs.* at most 100000"):
        read(tmp_path, axes)
    with pytest.raises(ScenarioError, match=r"has 1000000 runs.*most_runs = 1000000"):
        read(tmp_path, "seeds = 1000000")
    assert read(tmp_path, "seeds = 1000000\nmost_runs = 1000000").count() == 1_000_000


def test_an_axis_over_the_congestion_control_is_called_variant(tmp_path: Path) -> None:
    axis = """
        [[axis]]
        key = "flow.0.congestion_control"
        values = ["reno", "vegas"]
    """
    assert read(tmp_path, axis).parameters == ("variant",)


def test_a_sweep_and_a_scenario_are_told_apart(tmp_path: Path) -> None:
    read(tmp_path, TWO)
    with pytest.raises(ScenarioError, match=r"is a sweep, not a scenario.*'hoplab sweep "):
        load(tmp_path / "sweep.toml")
    with pytest.raises(ScenarioError, match=r"is a scenario, not a sweep.*'hoplab run "):
        sweeps.read(tmp_path / "scenario.toml")


def test_one_sweep_at_a_time_writes_into_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "out"
    told = pytest.raises(ResultsError, match="another sweep is writing there")
    with held(place), told, held(place):
        pass
    with held(place):
        pass
