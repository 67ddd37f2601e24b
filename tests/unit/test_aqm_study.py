# SPDX-License-Identifier: Apache-2.0
"""The aqm study's figures and verdicts, on runs worked out by hand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.swept import Run, Runs

STUDY = folder.find("aqm")
ANALYSIS: Any = STUDY.analysis()
PUBLISHED = tomllib.loads((STUDY.folder / "published.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Told:
    """A run of 11 s with even rates."""

    bbr: float
    cubic: float
    """Mbit/s."""
    rtt_ms: float = 20.0
    repeats: int = 0
    """Of BBR, all in the last tenth of each second."""
    ahead: float = 1.1
    """BBR's estimate over its rate."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        times = [round(0.1 * i, 6) for i in range(111)]
        if name == "exchanges":
            return [{"sent_s": t, "rtt_ms": self.rtt_ms} for t in times]
        return [
            {
                "t_s": t,
                "flow": flow,
                "delivered_bytes": round(rate * 1e6 * t / 8),
                "acked_bytes": round(rate * 1e6 * t / 8),
                "retransmits": self.repeats * int(t) if flow == "bbr" else 0,
                "estimate_kbps": 1000 * self.ahead * rate if flow == "bbr" else None,
            }
            for t in times
            for flow, rate in (("bbr", self.bbr), ("cubic", self.cubic))
        ]


def runs(**told: Told) -> Runs:
    names = {
        "long": ANALYSIS.LONG,
        "short": ANALYSIS.SHORT,
        "codel": ANALYSIS.FQ_CODEL,
        "cake": ANALYSIS.CAKE,
    }
    return Runs([Run("", {"queue": names[key]}, 1, run) for key, run in told.items()])


def verdicts(**told: Told) -> dict[str, str]:
    found = ANALYSIS.analyse(runs(**told), PUBLISHED)
    return {claim.name: claim.verdict for claim in found.claims}


def test_an_outcome_is_of_the_steady_part() -> None:
    one = ANALYSIS.outcome(Run("", {}, 1, Told(10, 30, repeats=20)))
    assert (one.bbr, one.cubic) == (pytest.approx(10), pytest.approx(30))
    assert one.fairness == pytest.approx(0.8)
    assert one.ahead == pytest.approx(1.1)
    sent = 10e6 * 6 / 8 / 1448 + 6 * 20
    assert one.repeated == pytest.approx(6 * 20 / sent)
    assert one.bursts == pytest.approx(1)
    assert one.busy == pytest.approx(0.1)


def test_all_that_was_published_is_reproduced() -> None:
    assert verdicts(
        long=Told(10, 60, rtt_ms=150),
        codel=Told(35, 35, rtt_ms=30, repeats=5),
        cake=Told(29, 31, rtt_ms=22, repeats=50, ahead=1.02),
    ) == {
        "fifo": "reproduced",
        "fq-codel": "reproduced",
        "cake": "reproduced",
        "bursts": "reproduced",
        "fairness": "reproduced",
    }


def test_a_short_fifo_that_bbr_wins_speaks_against_the_first_claim() -> None:
    found = verdicts(
        long=Told(10, 60, rtt_ms=150),
        short=Told(58, 4, rtt_ms=26),
        codel=Told(35, 35, rtt_ms=30),
        cake=Told(29, 31, rtt_ms=22, ahead=1.2),
    )
    assert found["fifo"] == "in part"
    assert found["cake"] == "in part"
    assert found["bursts"] == "in part"
