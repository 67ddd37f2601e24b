# SPDX-License-Identifier: Apache-2.0
"""The energy study's accountings and verdicts, on cases worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import folder
from hoplab.many.study.swept import Run, Runs

STUDY = folder.find("energy")
ANALYSIS: Any = STUDY.analysis()
LEADS = {"reno": 0.1, "newreno": 0.1, "sack": 0.1}


class Told:
    """A run whose stations sent 1, 2, 2, 3 s and received 4 s each, for ``octets`` of payload."""

    def __init__(self, octets: int):
        self.octets = octets

    def rows(self, name: str) -> list[dict[str, Any]]:
        states = {"energy_rx_j": 4.0, "energy_idle_j": 10.0}
        radios = [{"node": f"n{i}", "energy_tx_j": s, **states} for i, s in enumerate((1, 2, 2, 3))]
        packets = [
            {"seq": 0, "received_s": None},
            {"seq": 0, "received_s": 1.0},
            {"seq": 1460, "received_s": None},
        ]
        flow = {"delivered_bytes": self.octets, "goodput_kbps": 1.0}
        sent = packets if self.octets else []
        return {"radios": radios, "packets": sent, "flows": [flow]}[name]


def runs(*octets: int) -> Runs:
    at = {"variant": "reno", "rts": "on", "mtu": 1500, "loss": 0.01}
    return Runs([Run("", at, seed, Told(n), "m") for seed, n in enumerate(octets)])


@pytest.mark.parametrize(
    ("of", "joules"),
    [
        ("a station's mean", (5 + 6 + 6 + 7) / 4),
        ("the sender's", 5),
        ("the receiver's", 7),
        ("the mean of both ends", 6),
        ("all four", 24),
    ],
)
def test_whose_energy_counts(of: str, joules: float) -> None:
    accounting = ANALYSIS.Accounting(ANALYSIS.Powers("1 W, 1 W, idle 0", 1.0, 1.0, 0.0), of)
    assert accounting.j_per_mbit(ANALYSIS.seconds(runs(125_000)[0])) == joules
    assert ANALYSIS.per_mbit(runs(125_000), accounting).mean == joules


def test_a_run_that_delivers_nothing_counts_with_what_it_used() -> None:
    accounting = ANALYSIS.Accounting(ANALYSIS.Powers("", 1.0, 1.0, 0.0), "the sender's")
    assert ANALYSIS.per_mbit(runs(125_000, 0), accounting).mean == 10
    # Where no seed of a setting delivers anything there is no energy of a Mbit.
    assert ANALYSIS.per_mbit(runs(0, 0), accounting) is None
    assert ANALYSIS.j_per_mbit(runs(0), accounting) is None
    assert ANALYSIS.table_of(runs(0), accounting) == {}


def test_goodput_by_both_definitions() -> None:
    assert ANALYSIS.goodput(runs(1)[0]) == (0.5, pytest.approx(1 / 3))


def test_a_run_without_a_connection_has_no_goodput() -> None:
    assert ANALYSIS.goodput_of(runs(1, 0), 0).mean == 0.5
    assert ANALYSIS.goodput_of(runs(0), 0) is None


def test_columns_are_the_published_ones() -> None:
    published = STUDY.published()
    ns2 = ANALYSIS.in_ns2(published["ns2"])
    found = ANALYSIS.table_of_ns2(ANALYSIS._placed(ns2, "packets", "second"), ANALYSIS.STUDY)
    for variant, cells in published["j_per_mbit"].items():
        assert found[variant].keys() == cells.keys()


def test_the_accounting_of_the_study_is_the_nearest_that_ns2_has() -> None:
    published = STUDY.published()
    ns2 = ANALYSIS.in_ns2(published["ns2"])
    off = {
        (world, accounting): ANALYSIS.distance(
            ANALYSIS.table_of_ns2(ANALYSIS._placed(ns2, *world), accounting),
            published["j_per_mbit"],
        )
        for world in ANALYSIS.WORLDS
        for accounting in ANALYSIS.CANDIDATES
    }
    assert min(off, key=off.__getitem__) == (ANALYSIS.PARTS[""], ANALYSIS.STUDY)


def first(*means: float, error: float, n: int = 5) -> str:
    cells = dict(zip(LEADS, (Sample(mean, error, n) for mean in means), strict=True))
    return str(ANALYSIS._first("x", "SACK needs least", "sack", cells, 1, LEADS).verdict)


@pytest.mark.parametrize(
    ("means", "error", "n", "verdict"),
    [
        ((1.2, 1.2, 1.0), 0.01, 5, "reproduced"),
        # Wide intervals show neither that there is a lead nor that there is none.
        ((1.2, 1.2, 1.0), 0.2, 5, "in part"),
        ((1.2, 1.2, 1.0), 0.0, 1, "in part"),
        # Surely less than half of the published lead of 10 %.
        ((1.01, 1.2, 1.0), 0.005, 5, "not"),
        ((0.9, 1.2, 1.0), 0.01, 5, "not"),
    ],
)
def test_a_verdict_follows_from_the_intervals(
    means: Sequence[float], error: float, n: int, verdict: str
) -> None:
    assert first(*means, error=error, n=n) == verdict
