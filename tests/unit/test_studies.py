# SPDX-License-Identifier: Apache-2.0
"""Studies: their folders, what their runs are handed over as, pages, and what --quick compares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hoplab.front.commands import study as command
from hoplab.host.statistics.samples import Sample
from hoplab.many.study import expected, folder, pages
from hoplab.many.study.findings import Beside, Claim, Findings, Picture, Table, all_tables, told
from hoplab.many.study.swept import Run, Runs
from hoplab.many.sweep import api as sweep
from hoplab.model.errors import HoplabError, NotReproduced, ResultsError, ScenarioError

QUICK_MOST_RUNS = 400


@dataclass(frozen=True)
class Fake:
    """Tables of a run that nobody ran."""

    kbps: float

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [{"goodput_kbps": self.kbps}] if name == "flows" else []


def runs(machine: str = "m") -> Runs:
    return Runs(
        [
            Run("", {"variant": v, "loss": loss}, seed, Fake(seed * 10.0), machine)
            for v in ("reno", "sack")
            for loss in (0.0, 0.1)
            for seed in (1, 2)
        ]
    )


def kbps(run: Run) -> float:
    return float(run.rows("flows")[0]["goodput_kbps"])


def test_runs_are_chosen_by_the_values_of_axes_and_averaged_over_seeds() -> None:
    found = runs()
    assert len(found.where(variant="reno", loss=0.1)) == 2
    assert list(found.groups("variant")) == [("reno",), ("sack",)]
    assert [len(group) for group in found.groups("variant", "loss").values()] == [2] * 4
    assert found.where(variant="sack").sample(kbps).mean == 15
    assert len(found.part("rates")) == 0


@pytest.mark.parametrize("name", folder.names())
def test_every_study_can_be_begun(name: str) -> None:
    study = folder.find(name)
    study.published()
    assert callable(study.analysis().analyse)
    for path in study.sweeps(quick=False).values():
        next(iter(sweep.read(path).points())).scenario()
    quick = [sweep.read(path) for path in study.sweeps(quick=True).values()]
    assert sum(one.count() for one in quick) <= QUICK_MOST_RUNS
    for point in (point for one in quick for point in one.points()):
        point.scenario()
    held = expected.read(study.expected)
    assert held.draws >= 2 and held.values
    page = pages.DOCUMENTATION / "studies" / f"{name}.md"
    assert page.read_text(encoding="utf-8").startswith("# ")


def test_a_study_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(HoplabError, match=r"'enery' is not known \(did you mean 'energy'\?\)"):
        folder.find("enery")
    (tmp_path / "analysis.py").write_text("X = 1\n")
    own = folder.find(str(tmp_path))
    with pytest.raises(ScenarioError, match="has no function analyse"):
        own.analysis()
    with pytest.raises(ScenarioError, match=r"has no quick\.toml"):
        own.sweeps(quick=True)
    (tmp_path / "published.toml").write_text("x = ")
    with pytest.raises(ScenarioError, match=r"published\.toml: cannot be read"):
        own.published()


def findings(value: float, verdict: Any = "reproduced") -> Findings:
    return Findings(
        tables=[Table("speed", "Speed", ("", "kbit/s"), [("reno | sack", Sample(value, 1.0, 3))])],
        pictures=[Picture("speed", "<svg/>")],
        claims=[Claim("first", "Faster", verdict, "twice")],
        beside=[Beside("a", Sample(1.0), 2.0), Beside("b", Sample(1.0), 2.0, cause="known")],
        values={"kbps": value},
    )


def test_a_page_gets_its_tables_between_the_marks_and_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "figures").mkdir()
    page = tmp_path / "studies" / "own.md"
    page.write_text(
        "# Own\n<!-- table speed -->\nold\n<!-- end of table -->\nafter\n"
        "<!-- machine -->\n<!-- end of machine -->\n"
    )
    for runs in (3, 4):
        pages.refresh("own", findings(5.0), pages.made(runs, "ab" * 32), tmp_path)
    lines = page.read_text().splitlines()
    assert lines[2] == "|  | kbit/s |" and lines[4] == r"| reno \| sack | 5.0 ± 4.3 |"
    assert lines[6] == "after" and "old" not in lines
    made = "Tables and pictures are of 4 runs on one machine, `abababababababab`."
    assert lines[7:] == ["<!-- machine -->", made, "<!-- end of machine -->"]
    assert "on more than one machine." in pages.made(4, "")
    assert (tmp_path / "figures" / "own-speed.svg").read_text() == "<svg/>"
    page.write_text("<!-- table sped -->\n<!-- end of table -->\n")
    with pytest.raises(ResultsError, match="'sped'; there are speed, claims, published"):
        pages.refresh("own", findings(5.0), "", tmp_path)


def test_tables_are_written_with_all_digits(tmp_path: Path) -> None:
    pages.write(findings(1 / 3), tmp_path / "out")
    rows = (tmp_path / "out" / "speed.csv").read_text().splitlines()
    assert rows[0] == ",kbit/s,kbit/s half-width,kbit/s draws"
    assert rows[1].startswith(f"reno | sack,{1 / 3},4.30265")
    assert [told(cell) for cell in (None, 3, 0.123456, "x")] == ["", "3", "0.1235", "x"]


def test_a_mean_is_told_to_the_last_digit_of_its_interval() -> None:
    assert told(Sample(0.59412, 0.02, 6)) == "0.594 ± 0.051"
    assert told(Sample(390.72, 17, 6)) == "391 ± 44"
    assert told(Sample(319.8, 100.0, 3)) == "320 ± 430"
    assert told(Sample(1563.4, 0.0, 3)) == "1563 ± 0"
    assert told(Sample(12.345, 0.0, 1)) == "12.35"


def test_what_is_far_from_the_published_needs_a_cause() -> None:
    assert findings(1.0).unexplained == ["a"]
    assert not Beside("c", Sample(1.1), 1.0).far
    whys = [row[-1] for row in all_tables(findings(1.0))[-1].rows]
    assert whys == ["unknown", "known"]


def held(values: Sequence[float], verdicts: Sequence[str] = ()) -> expected.Expected:
    told = verdicts or ["reproduced"] * len(values)
    return expected.Expected.of(
        "m", [findings(v, verdict) for v, verdict in zip(values, told, strict=True)]
    )


def test_on_the_same_machine_a_value_is_equal_to_the_digit() -> None:
    wanted = held([10.0, 11.0, 9.0])
    assert list(expected.differences(wanted, "m", findings(10.0))) == []
    assert "to the digit" in next(expected.differences(wanted, "m", findings(10.00001)))


def test_on_another_machine_a_value_is_another_draw() -> None:
    wanted = held([10.0, 11.0, 9.0])
    assert wanted.values["kbps"].deviation == 1.0
    assert list(expected.differences(wanted, "other", findings(13.0))) == []
    found = list(expected.differences(wanted, "other", findings(20.0)))
    assert found == ["kbps: 20, expected 10 ± 7"]
    # Where every draw is the same, half a percent is all that another machine may change.
    assert list(expected.differences(held([10.0, 10.0]), "other", findings(10.04))) == []
    assert list(expected.differences(held([10.0, 10.0]), "other", findings(10.06))) != []


def test_a_value_that_is_no_number_or_not_there_differs() -> None:
    wanted = held([10.0, 11.0])
    assert list(expected.differences(wanted, "other", findings(float("nan")))) != []
    assert "was not found" in next(expected.differences(wanted, "m", Findings()))
    new = Findings(values={"kbps": 10.0, "more": 1.0}, claims=findings(1.0).claims)
    assert "more: is new" in next(expected.differences(wanted, "m", new))


def test_a_verdict_is_held_where_every_draw_gave_it() -> None:
    sure = held([10.0, 10.0])
    differing = list(expected.differences(sure, "other", findings(10.0, "not")))
    assert differing == ["claim first: not, expected reproduced"]
    unsure = held([10.0, 10.0], ["reproduced", "not"])
    assert list(expected.differences(unsure, "other", findings(10.0, "not"))) == []


def test_expected_values_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "expected.json"
    held([10.0, 11.0]).write(path)
    assert expected.read(path) == held([10.0, 11.0])
    path.write_text(json.dumps({"machine": "m"}))
    with pytest.raises(ResultsError, match="cannot be read"):
        expected.read(path)
    with pytest.raises(ResultsError, match="--quick --expect writes it"):
        expected.read(tmp_path / "none.json")


@pytest.mark.parametrize("name", folder.names())
def test_a_studys_page_has_rows_in_every_table(name: str) -> None:
    page = (pages.DOCUMENTATION / "studies" / f"{name}.md").read_text(encoding="utf-8")
    marks = list(pages.MARK.finditer(page))
    assert marks
    empty = [mark["name"] for mark in marks if mark[0].count("\n| ") < 3]
    assert not empty, f"{name}.md: renew with 'hoplab study {name} --docs': {', '.join(empty)}"


def test_a_quick_study_that_differs_ends_badly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "analysis.py").write_text(
        "from hoplab.many.study.findings import Findings\n"
        "def analyse(runs, published):\n"
        "    return Findings(values={'n': float(len(runs))})\n"
    )
    study = folder.find(str(tmp_path))
    monkeypatch.setattr(command, "gather", lambda *_: runs())
    console = Console(stderr=True)

    def perform() -> command.Outcome:
        return command.perform(study, True, tmp_path / "out", False, console)

    with pytest.raises(NotReproduced, match="is not there, so nothing to compare"):
        perform().require()
    command.expect(study, 2, console)
    perform().require()
    monkeypatch.setattr(command, "gather", lambda *_: runs()[:3])
    with pytest.raises(NotReproduced, match=r"n: 3\.0, expected 8\.0 to the digit"):
        perform().require()
