# SPDX-License-Identifier: Apache-2.0
"""Sweeps without guests: seeds until an interval is narrow, bounded windows, dataset, page."""

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from hoplab.host.results import arrow
from hoplab.host.statistics.samples import Sample
from hoplab.many.store import entry as entries
from hoplab.many.store.entry import Entry
from hoplab.many.store.files import Store
from hoplab.many.sweep import api, dataset, engine, page
from hoplab.many.sweep.api import Point, Sweep, read
from hoplab.many.sweep.dataset import Dataset
from hoplab.many.sweep.engine import Done, Engine, Listed, Options
from hoplab.many.sweep.progress import Teller
from hoplab.many.sweep.seeds import Adaptive
from hoplab.many.sweep.stopping import Rule
from hoplab.many.sweep.summary import Moments, Summary, told
from hoplab.model.errors import ResultsError
from tests.scenarios import ONE_HOP

BASE = f"duration_s = 10\n{ONE_HOP}"
AXES = """
[[axis]]
key = "flow.0.window"
values = [2, 4]
[[axis]]
name = "card"
key = "radio.profile"
values = ["wavelan", "80211b"]
"""


FACTS = {
    "file": "<b>sweep</b>.toml",
    "machine": "m" * 64,
    "made": "now",
    "wall_s": 2.0,
    "total": None,
    "out": "x'\"</script>",
    "text": "",
    "base": "",
}
OWN: Any = SimpleNamespace(id="m" * 64)
"""A machine."""


def sweep(folder: Path, text: str) -> Sweep:
    (folder / "scenario.toml").write_text(BASE)
    (folder / "sweep.toml").write_text(text)
    return read(folder / "sweep.toml")


def _work(request: Any) -> Any:
    """What a worker answers that made an empty run."""
    head = {"machine": "m", "scenario": {}, "digest": "d", "digests": {}, "key": request.key}
    return engine.Answer(entries.pack(entries.made(head, {})))


def done(point: Point, goodput_kbps: float | None, number: int = 0, **more: Any) -> Done:
    """A run that ended so; None: that failed."""
    head = {"key": f"{number:064x}", "machine": "m" * 64, "scenario": {}}
    if goodput_kbps is None:
        return Done(point, entries.failed(head, "no space", 5), False)
    row = dict.fromkeys(arrow.schema(arrow.TABLES["flows"]).names)
    row |= {"flow": "flow0", "protocol": "tcp", "src": "n0", "dst": "n1"}
    row |= {"start_s": 0.0, "stop_s": 10.0, "goodput_kbps": goodput_kbps, **more}
    table = arrow.from_rows("flows", [row], "test")
    head |= {"digest": "d" * 64, "digests": {"flows": "f" * 64}}
    return Done(point, entries.made(head, {"flows": table}), False)


def drive(source: Adaptive, draw: Callable[[Point], float | None], ahead: int) -> list[Done]:
    """Run a source with so many runs under way, which end in any order."""
    ended: list[Done] = []
    going: list[Point] = []
    lots = random.Random(ahead)
    while True:
        while len(going) < ahead and (point := source.next()) is not None:
            going.append(point)
        if not going:
            return ended
        ended.append(done(going.pop(lots.randrange(len(going))), None))
        ended[-1] = done(ended[-1].point, draw(ended[-1].point))
        source.told(ended[-1])


RULE = 'stop_when = "ci95 of goodput_kbps < 5 %"\nmost_seeds = 40\n'


def spread(point: Point) -> float:
    """1000 kbit/s; one card spreads by 1 %, the other by 8 %."""
    width = 10 if point.parameters["card"] == "wavelan" else 80
    return random.Random(f"{point.label}").gauss(1000, width)


def test_seeds_are_added_until_the_interval_is_narrow_and_no_longer(tmp_path: Path) -> None:
    plan = sweep(tmp_path, RULE + AXES)
    assert plan.rule is not None
    summary = Summary(plan)
    for one in drive(Adaptive(plan), spread, ahead=1):
        summary.add(one)
    by_card = {(g.parameters["window"], g.parameters["card"]): g for g in summary.combinations()}
    assert all(group.enough for group in by_card.values())
    for (_, card), group in by_card.items():
        values = group.flows["flow0"]["goodput_kbps"].sample
        assert values.half_width <= 0.05 * values.mean
        # 8 % of spread need some 12 draws (t * 0.08 / sqrt n <= 0.05); 1 % the first three.
        assert group.done == 3 if card == "wavelan" else 6 <= group.done <= 25


def test_the_seeds_that_are_taken_do_not_depend_on_how_runs_end(tmp_path: Path) -> None:
    plan = sweep(tmp_path, RULE + AXES)
    taken = [
        sorted((d.point.label, d.point.seed) for d in drive(Adaptive(plan), spread, ahead))
        for ahead in (1, 2, 7, 100)
    ]
    assert taken[0] == taken[1] == taken[2] == taken[3]


def test_the_limit_holds_and_failures_do_not_go_on_for_ever(tmp_path: Path) -> None:
    plan = sweep(tmp_path, RULE.replace("40", "6") + AXES)
    lots = random.Random(1)

    def wild(point: Point) -> float | None:
        return None if point.parameters["card"] == "wavelan" else lots.uniform(0, 1000)

    source = Adaptive(plan)
    summary = Summary(plan)
    for one in drive(source, wild, ahead=3):
        summary.add(one)
    counts = {g.parameters["card"]: (g.done, g.failed, g.enough) for g in summary.combinations()}
    assert counts == {"wavelan": (3, 3, False), "80211b": (6, 0, False)}
    assert source.more() == 6
    assert summary.failed == 6 and summary.failures[0].error == "no space"


@pytest.mark.parametrize(
    ("text", "relative", "flow"),
    [
        ("ci95 of goodput_kbps < 5 %", True, None),
        ("ci95 of rtt_ms_mean of flow1 < 2.5", False, "flow1"),
    ],
)
def test_a_rule(tmp_path: Path, text: str, relative: bool, flow: str | None) -> None:
    rule = sweep(tmp_path, f'stop_when = "{text}"').rule
    assert isinstance(rule, Rule)
    assert (rule.relative, rule.flow, rule.begin, rule.most) == (relative, flow, (1, 2, 3), 50)
    assert [rule.seed(i) for i in range(5)] == [1, 2, 3, 4, 5]
    rows = [{"flow": "flow0", rule.column: 4.0}, {"flow": "flow1", rule.column: 7.0}]
    assert rule.values(rows) == ({"flow0": 4.0, "flow1": 7.0} if flow is None else {"flow1": 7.0})


def test_moments_are_those_of_a_sample() -> None:
    values = [1e6 + value for value in (1.0, 2.0, 4.0, 8.0)]
    moments = Moments()
    for value in values:
        moments.add(value)
    assert moments.sample.mean == pytest.approx(Sample.of(values).mean)
    assert moments.sample.half_width == pytest.approx(Sample.of(values).half_width)
    assert told(Sample(1234.567, 0.0, 1)) == ["1,234.6"]
    assert told(Sample(1234.567, 1.0, 3)) == ["1,234.6", "4.3"]
    assert told(Sample(1234.567, 10.0, 3)) == ["1,235", "43"]


@pytest.fixture
def finished(tmp_path: Path) -> tuple[Sweep, list[Done]]:
    plan = sweep(tmp_path, "seeds = 2\n" + AXES)
    ended = []
    for number, point in enumerate(plan.points()):
        ended.append(done(point, None if number == 5 else 100.0 * number, number))
    random.Random(3).shuffle(ended)
    return plan, ended


def test_the_dataset_has_a_row_a_run_in_the_order_of_the_axes(
    tmp_path: Path, finished: tuple[Sweep, list[Done]]
) -> None:
    plan, ended = finished
    data = Dataset(tmp_path / "results.parquet", plan)
    for one in ended:
        data.add(one)
    assert not data.path.exists(), "it is in its place when it is complete"
    data.close()
    table = pq.read_table(data.path)
    rows = table.to_pylist()
    assert [(row["window"], row["card"], row["seed"]) for row in rows] == [
        (window, card, seed)
        for window in (2, 4)
        for card in ("wavelan", "80211b")
        for seed in (1, 2)
    ]
    assert [row["goodput_kbps"] for row in rows] == [0, 100, 200, 300, 400, None, 600, 700]
    assert [row["error"] for row in rows] == [None] * 5 + ["no space"] + [None] * 2
    assert table.schema.field("goodput_kbps").metadata[b"unit"] == b"kbit/s"
    other = Dataset(tmp_path / "results.parquet", plan)
    other.add(ended[0])
    other.abandon()
    assert pq.read_table(data.path).num_rows == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "results.parquet",
        "scenario.toml",
        "sweep.toml",
    ]


def test_a_full_disk_is_told_in_a_line_and_leaves_nothing_half_written(
    tmp_path: Path, finished: tuple[Sweep, list[Done]], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ended = finished
    full = r"results.parquet: cannot be written: .*No space left.*; make room there, .* --out"
    partial = tmp_path / "out" / ".results.parquet.partial"
    partial.parent.mkdir()
    partial.symlink_to("/dev/full")
    data = Dataset(tmp_path / "out" / "results.parquet", plan)
    data.add(ended[0])
    with pytest.raises(ResultsError, match=full):
        data.close()
    assert list(partial.parent.iterdir()) == []
    partial.symlink_to("/dev/full")
    monkeypatch.setattr(dataset, "GROUP_ROWS", 1)
    data = Dataset(tmp_path / "out" / "results.parquet", plan)
    with pytest.raises(ResultsError, match=full):
        for _ in range(1000):
            data.add(ended[0])
    data.abandon()
    assert list(partial.parent.iterdir()) == []
    (tmp_path / "out" / ".index.html.partial").symlink_to("/dev/full")
    with pytest.raises(ResultsError, match=r"index.html: cannot be written: No space left"):
        page.write(tmp_path / "out", plan, Summary(plan), FACTS)
    assert list(partial.parent.iterdir()) == []


def test_the_page_shows_every_run_and_escapes_what_it_is_told(
    tmp_path: Path, finished: tuple[Sweep, list[Done]]
) -> None:
    plan, ended = finished
    summary = Summary(plan)
    for one in ended:
        summary.add(one)
    path = page.write(tmp_path, plan, summary, FACTS)
    text = path.read_text()
    for one in ended:
        assert f'href="runs/{one.key[:16]}/report.html"' in text
    assert "<b>sweep" not in text and "x'\"</script>" not in text
    assert "1 run failed" in text and "no space" in text
    assert "Plotly.newPlot" in text


def test_a_sweep_over_variants_that_differ_in_sack_says_so(tmp_path: Path) -> None:
    """Each run has one of them, so only the sweep can tell."""
    plan = sweep(tmp_path, AXES)
    (tmp_path / "out").mkdir()
    summary = Summary(plan)
    variants = (("cubic", 1), ("linux-reno", 1), ("newreno", 0), ("newreno", None))
    for point, (name, sack) in zip(plan.points(), variants, strict=True):
        assert summary.warnings() == []
        summary.add(done(point, 100.0, congestion_control=name, sack=sack))
        if name == "newreno":
            break
    (warning,) = summary.warnings()
    assert "cubic, linux-reno with it, newreno without" in warning
    shown = page.write(tmp_path / "out", plan, summary, FACTS).read_text()
    assert "newreno without; part of their difference" in shown


def test_what_is_held_does_not_grow_with_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points are made when there is room for them, and gone once they are handed over."""
    made = handed = 0
    most = 0

    def points() -> Any:
        nonlocal made, most
        for seed in range(1, 201):
            made += 1
            most = max(most, made - handed)
            document = {"topology": {"kind": "pair"}, "seed": seed}
            yield Point({}, document)

    monkeypatch.setattr(engine.task, "work", _work)
    monkeypatch.setattr(engine.task, "know", lambda machine: None)
    options = Options(Store(tmp_path), cluster=engine.Cluster(workers=0), machine=OWN)
    for _ in range(2):  # made, then from the store
        made = handed = most = 0
        runner = Engine(Listed(points()), options)
        for one in runner.run():
            handed += 1
            assert isinstance(one.entry, Entry)
            assert len(runner._going) + len(runner._twins) <= 2
        assert handed == 200 and most <= 2


@pytest.mark.parametrize("cold", [False, True])
def test_a_worker_learns_whether_a_guest_boots_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cold: bool
) -> None:
    seen = []

    def work(request: Any) -> Any:
        seen.append(request.cold)
        return _work(request)

    monkeypatch.setattr(engine.task, "work", work)
    monkeypatch.setattr(engine.task, "know", lambda machine: None)
    points = [Point({}, {"topology": {"kind": "pair"}})]
    api.run_all(points, store=tmp_path, workers=0, machine=OWN, cold=cold)
    assert seen == [cold]


def test_progress_tells_rate_and_time_left(tmp_path: Path) -> None:
    heard = []
    teller = Teller(4, heard.append)
    point = Point({}, {})
    for value in (1.0, None, 3.0):
        teller.told(done(point, value))
    assert (heard[-1].done, heard[-1].total, heard[-1].failed) == (3, 4, 1)
    assert heard[-1].per_s is not None and heard[-1].left_s is not None
    assert heard[-1].left_s == pytest.approx(1 / heard[-1].per_s)
