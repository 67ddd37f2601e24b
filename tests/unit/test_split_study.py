# SPDX-License-Identifier: Apache-2.0
"""The split study's measures of two sessions, and its verdicts, on cases worked out by hand."""

import tomllib
from collections.abc import Sequence
from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.swept import Run, Runs
from hoplab.model.resources import EXPERIMENTS

STUDY = folder.find("split")
ANALYSIS: Any = STUDY.analysis()
SESSIONS = ANALYSIS.sessions


class Told:
    """A run's tables: sessions with what arrived of each in every second, in kbit/s."""

    def __init__(self, held: Sequence[int] = (), **kbps: Sequence[float]):
        self.kbps, self.held = kbps, held

    def rows(self, name: str) -> list[dict[str, Any]]:
        flows = [
            {"flow": n, "goodput_kbps": sum(k) / len(k), "delivered_bytes": 125 * sum(k)}
            for n, k in self.kbps.items()
        ]
        samples = [
            {"t_s": t + 1.0, "flow": n, "delivered_bytes": round(125 * sum(own[: t + 1]))}
            for n, own in self.kbps.items()
            for t in range(len(own))
        ]
        held = [
            {"t_s": t + 0.5, "node": "n6", "role": "proxy", "buffered": n}
            for t, n in enumerate(self.held)
        ]
        radios = [
            {"airtime_data_s": 0.3, "queue_full": 2},
            {"airtime_data_s": 0.5, "queue_full": 1},
        ]
        return {"flows": flows, "tcp": samples, "split": held, "radios": radios}[name]


def run(told: Told, seed: int = 1, **at: Any) -> Run:
    return Run("crossing", at, seed, told)


def test_both_metrics_of_unfairness_go_from_0_to_1() -> None:
    for metric in (SESSIONS.gap, SESSIONS.unfairness):
        assert metric([3.0, 3.0]) == pytest.approx(0)
        assert metric([5.0, 0.0]) == pytest.approx(1)
    assert SESSIONS.gap([1.0, 4.0]) == pytest.approx(0.75)
    # Jain: 25 / (2 * 17)
    assert SESSIONS.unfairness([1.0, 4.0]) == pytest.approx(2 * (1 - 25 / 34))
    assert SESSIONS.gap([0.0, 0.0, 2.0]) == pytest.approx(2 / 3)
    assert SESSIONS.unfairness([0.0, 0.0, 2.0]) == pytest.approx(1)


def test_a_session_starves_where_the_other_has_nearly_all() -> None:
    told = Told(long=[0, 0, 50, 95], short=[0, 90, 50, 5])
    # Of three seconds in which anything arrived.
    assert SESSIONS.starved("long")(run(told)) == pytest.approx(1 / 3)
    assert SESSIONS.starved("short")(run(told)) == pytest.approx(1 / 3)
    assert SESSIONS.by_second(run(told))["long"] == [0, 0, 50, 95]


def test_what_the_radios_did_for_what_arrived() -> None:
    told = Told(long=[100, 100], short=[100, 100])
    assert ANALYSIS.air(run(told)) == pytest.approx(0.8 / 0.4)
    assert ANALYSIS.dropped(run(told)) == 3


def test_what_a_proxy_holds_is_its_most_in_each_period() -> None:
    held = SESSIONS.held_by("n6")
    assert held(run(Told([1, 1, 1, 1, 1, 1, 40, 60, 50, 2, 1, 1, 1, 1, 1, 30]))) == 55
    assert SESSIONS.held_by("n2")(run(Told([9]))) == 0


def test_a_link_fails_as_often_as_the_analysis_says() -> None:
    scenario = tomllib.loads((EXPERIMENTS / "split" / "scenario-failing.toml").read_text())
    assert {loss["period_s"] for loss in scenario["loss"]} == {SESSIONS.PERIOD_S}
    crossing = tomllib.loads((EXPERIMENTS / "split" / "scenario-crossing.toml").read_text())
    ends = {flow["name"]: (flow["source"], flow["destination"]) for flow in crossing["flow"]}
    assert ends["long"] == ("n2", "n8") and ANALYSIS.HOPS["long"] == 6


@pytest.mark.parametrize(("after", "verdict"), [(210.0, "reproduced"), (90.0, "not")])
def test_the_short_session_loses_its_advantage_or_not(after: float, verdict: str) -> None:
    runs = []
    for seed in (1, 2, 3):
        plain = Told(long=[100.0 + seed], short=[400.0])
        split = Told(long=[after + seed], short=[400.0])
        runs.append(run(plain, seed, split="none"))
        runs.append(run(split, seed, split="long, every 3"))
    assert ANALYSIS._short_claim(Runs(runs)).verdict == verdict
