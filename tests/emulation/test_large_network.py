# SPDX-License-Identifier: Apache-2.0
"""A network of more stations than mac80211 of any kernel would keep as neighbours."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

CHAIN = """
duration_s = 2
[topology]
kind = "grid"
rows = {}
columns = 15
[[flow]]
source = "n0"
destination = "n3"
"""
ACROSS = """
duration_s = 3
[topology]
kind = "grid"
rows = 10
columns = 15
[routing]
protocol = "dsr"
[[flow]]
source = "n0"
destination = "n140"
protocol = "ping"
"""


def test_a_flow_is_as_fast_as_among_few(run_scenario: Run) -> None:
    """Every frame finds its neighbour known, as among few stations. Only beacons come between."""
    many, few = (run_scenario(CHAIN.format(rows))["flows"][0] for rows in (10, 1))
    assert many["retransmits"] == few["retransmits"] == 0
    assert many["goodput_kbps"] == pytest.approx(few["goodput_kbps"], rel=0.05)


def test_dsr_finds_a_route_across(tmp_path: Path, run_scenario: Run) -> None:
    """From a corner over nine rows and five columns, fourteen hops."""
    run_scenario(ACROSS)
    rows = results.load(tmp_path / "run1").rows("exchanges")
    assert [row["rtt_ms"] for row in rows if row["rtt_ms"] is not None], rows
