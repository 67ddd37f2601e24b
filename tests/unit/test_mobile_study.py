# SPDX-License-Identifier: Apache-2.0
"""The mobile study's expected throughput and verdicts, on cases worked out by hand."""

import tomllib
from itertools import pairwise
from typing import Any

import pytest

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import folder
from hoplab.many.study.findings import told
from hoplab.many.study.swept import Run, Runs
from hoplab.model.resources import EXPERIMENTS

STUDY = folder.find("mobile")
ANALYSIS: Any = STUDY.analysis()
MODEL = ANALYSIS.expected_throughput
CHAIN = {1: 1400.0, 2: 700.0, 3: 400.0}


def test_the_model_walks_as_the_scenario_does() -> None:
    scenario = tomllib.loads((EXPERIMENTS / "mobile" / "scenario.toml").read_text())
    topology = scenario["topology"]
    assert topology["stations"] == MODEL.STATIONS
    assert (topology["width_m"], topology["height_m"]) == (MODEL.WIDTH_M, MODEL.HEIGHT_M)
    assert scenario["radio"] == {"profile": "hv99"}  # whose range is 250 m
    assert MODEL.RANGE_M == 250.0


def test_hops_change_by_links_and_a_pattern_is_the_same_at_every_speed() -> None:
    slow, fast = MODEL.hops(3, 10.0, 60.0), MODEL.hops(3, 20.0, 30.0)
    assert len(slow) == 600 and len(fast) == 300
    # Twice as fast is the same walk in half the time, to a step and rounded speeds.
    differ = sum(a != b for a, b in zip(slow[::2], fast, strict=True))
    assert differ <= 3 + sum(a != b for a, b in pairwise(slow))
    assert set(slow) - {0}


def test_expected_throughput_is_the_mean_over_time() -> None:
    assert MODEL.expected_kbps([1, 1, 2, 0], CHAIN) == pytest.approx((1400 * 2 + 700) / 4)
    assert MODEL.expected_kbps([7], CHAIN) == 400.0
    assert MODEL.expected_kbps([0, 0], CHAIN) == 0.0


class Told:
    """A run's tables with one flow that came to ``kbps`` of payload."""

    def __init__(self, kbps: float):
        self.kbps = kbps

    def rows(self, name: str) -> list[dict[str, Any]]:
        flow = {"goodput_kbps": self.kbps, "timeouts": 2, "start_s": 0.0, "stop_s": 20.0}
        drop = {"source": "dsr", "kind": "drop", "detail": "cause=arp src=10.0.0.1"}
        return {"flows": [flow], "tcp": [{"standby_s": None}], "events": [drop]}[name]


def runs(gain: float) -> Runs:
    """Chains, and four patterns at two speeds in which ELFN gains ``gain`` kbit/s and a little."""
    chains = [Run("chain", {"hops": n}, 1, Told(kbps)) for n, kbps in CHAIN.items()]
    own = []
    for speed in (2, 30):
        for pattern in range(1, 5):
            base = 300.0 + 10 * pattern - 5 * speed
            after = base + gain + 0.1 * pattern
            for way, kbps in (("base", base), ("ELFN", after)):
                own.append(Run("", {"speed": speed, "tcp": way}, pattern, Told(kbps)))
    return Runs(own + chains)


@pytest.mark.parametrize(("gain", "verdict"), [(50.0, "reproduced"), (-50.0, "not")])
def test_the_gain_is_taken_within_a_pattern(gain: float, verdict: str) -> None:
    found = ANALYSIS.analyse(runs(gain), STUDY.published())
    claim = next(claim for claim in found.claims if claim.name == "elfn")
    assert claim.verdict == verdict
    table = next(table for table in found.tables if table.name == "speed")
    difference = table.rows[0][5]
    # Patterns differ by tens of kbit/s, the gain within one by tenths.
    assert difference.mean == pytest.approx(1460 / 1420 * (gain + 0.25))
    assert difference.half_width < 1.0


def test_a_wide_interval_is_written_in_whole_numbers() -> None:
    assert told(Sample(999.4, 110.0, 18)) == "999 ± 232"
    assert told(Sample(12.72, 20.4, 18)) == "13 ± 43"
