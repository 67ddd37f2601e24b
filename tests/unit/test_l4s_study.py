# SPDX-License-Identifier: Apache-2.0
"""The l4s study's figures and verdicts, on runs worked out by hand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.findings import told
from hoplab.many.study.swept import Run, Runs

STUDY = folder.find("l4s")
ANALYSIS: Any = STUDY.analysis()
PUBLISHED = tomllib.loads((STUDY.folder / "published.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Told:
    """A run of 25 s whose connections have even rates."""

    mbps: dict[str, float]
    marked: float = 0.1
    """Share of segments."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        assert name == "tcp"
        return [
            {
                "t_s": t,
                "flow": flow,
                "delivered_bytes": rate * 1e6 * t / 8,
                "marked": self.marked * rate * 1e6 * t / 8 / 1448,
                "rtt_ms": 9.0,
            }
            for t in range(26)
            for flow, rate in self.mbps.items()
        ]


def behind(**goodput: tuple[float, float]) -> Runs:
    """Runs at 20 and at 40 Mbit/s with the air shared."""
    names = {
        "one": ANALYSIS.STEP_1,
        "five": ANALYSIS.STEP_5,
        "cubic": ANALYSIS.CUBIC,
    }
    runs = []
    for key, rates in goodput.items():
        flow = "prague" if key in ("one", "five") else "cubic"
        for mbps, rate in zip((20, 40), rates, strict=True):
            at = {"mbps": mbps, "air": ANALYSIS.SHARED, "who": names[key]}
            runs.append(Run("", at, 1, Told({flow: rate})))
    return Runs(runs)


def verdicts(runs: Runs) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in ANALYSIS.analyse(runs, PUBLISHED).claims}


def test_a_share_is_of_the_steady_part() -> None:
    found = ANALYSIS.shares(Run("", {}, 1, Told({"prague": 22.0})))["prague"]
    assert found.mbps == pytest.approx(22.0)
    assert found.marked == pytest.approx(0.1)
    assert found.rtt_ms == pytest.approx(9.0)


def test_a_connection_that_begins_at_the_end_has_no_part() -> None:
    late = Told({"prague": 22.0}).rows("tcp")[-1]
    run = Told({"cubic": 30.0})
    rows = [*run.rows("tcp"), {**late, "t_s": 24.95}]

    class Both:
        def rows(self, name: str) -> list[dict[str, Any]]:
            return rows

    assert list(ANALYSIS.shares(Run("", {}, 1, Both()))) == ["cubic"]


def test_the_published_values_give_the_published_claims() -> None:
    said = PUBLISHED["heist"]["goodput"]
    one, five, cubic = (
        tuple(said[who]) for who in ("Prague, step 1 ms", ANALYSIS.STEP_5, ANALYSIS.CUBIC)
    )
    found = verdicts(behind(one=one, five=five, cubic=cubic))
    assert found == dict.fromkeys(("bursts", "step", "more"), "reproduced")


def test_a_step_of_5_ms_that_helps_at_one_rate_alone_does_so_in_part() -> None:
    found = verdicts(behind(one=(18.5, 10), five=(18.8, 30), cubic=(19, 38)))
    assert found == {"bursts": "in part", "step": "in part", "more": "reproduced"}


def test_a_share_that_is_as_large_at_40_speaks_against_it() -> None:
    assert verdicts(behind(one=(10, 25), five=(18, 37), cubic=(19, 38)))["more"] == "not"


def test_pairs_have_columns_for_each_and_the_marks_of_prague_alone() -> None:
    shared = behind(one=(14, 22), five=(18, 36), cubic=(19, 37))
    rates = {"Prague": {"prague": 30.0}, "CUBIC": {"cubic": 35.0}}
    rates["both"] = {"prague": 25.0, "cubic": 12.0}
    before = [
        Run("before", {"air": "free", "who": who}, 1, Told(mbps)) for who, mbps in rates.items()
    ]
    tables = {
        table.name: [[told(cell) for cell in row] for row in table.rows]
        for table in ANALYSIS.analyse(Runs([*shared, *before]), PUBLISHED).tables
    }
    assert tables["before"] == [
        ["free", "Prague", "30", "9", "10", "", ""],
        ["free", "CUBIC", "", "", "", "35", "9"],
        ["free", "both", "25", "9", "10", "12", "9"],
    ]
    assert {row[2]: row[5] for row in tables["behind"]}[ANALYSIS.CUBIC] == ""


def test_bursts_are_a_table_and_a_picture_from_none_on() -> None:
    def run(part: str, air: str, who: str, mbps: float) -> Run:
        return Run(part, {"mbps": 40, "air": air, "who": who}, 1, Told({"prague": mbps}))

    steps = (ANALYSIS.STEP_1, ANALYSIS.STEP_5)
    shared = behind(one=(14, 22), five=(18, 36), cubic=(19, 37))
    free = [run("", "free", who, 37.0) for who in steps]
    airs = ("2 ms, 1/8", "4 ms, 1/4")
    bursts = [run("bursts", air, who, 21.0) for air in airs for who in steps]
    found = ANALYSIS.analyse(Runs([*shared, *free, *bursts]), PUBLISHED)
    table = next(table for table in found.tables if table.name == "bursts")
    assert [[told(cell) for cell in row] for row in table.rows] == [
        [air, "21", "21"] for air in airs
    ]
    assert [picture.name for picture in found.pictures] == ["bursts"]
    assert "published" in found.pictures[0].svg
    assert not ANALYSIS.analyse(shared, PUBLISHED).pictures
