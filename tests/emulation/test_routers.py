# SPDX-License-Identifier: Apache-2.0
"""OLSR and DSDV in a guest: routes that are there before they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

CHAIN = """
duration_s = 10
[topology]
kind = "chain"
stations = 5
[routing]
protocol = "{protocol}"
[tcp]
profile = "classic"
[[flow]]
source = "n0"
destination = "n4"
window = 8
"""


@pytest.mark.parametrize("protocol", ["olsr", "dsdv"])
def test_routes_are_there_at_time_0(tmp_path: Path, run_scenario: Run, protocol: str) -> None:
    run_scenario(CHAIN.format(protocol=protocol))
    run = results.load(tmp_path / "run1")
    (flow,) = run.rows("flows")
    # Four hops share a channel on which only one of them sends at a time (test_runs.py).
    assert flow["goodput_kbps"] > 0.15 * 1538
    counters = {(row["node"], row["counter"]): row["value"] for row in run.rows("routing")}
    # What finds no route lost it to the flow, whose frames collide with a neighbour's HELLOs.
    failures = {row["node"]: row["t_s"] for row in run.rows("events")[::-1] if is_failure(row)}
    assert all(counters[f"n{i}", "caught"] == 0 for i in range(5) if f"n{i}" not in failures)
    # A neighbour is held for 6 s, of which 2 s may be over when the flow begins.
    assert min(failures.values(), default=10) > 4
    # The daemons woke for their own messages, and for none of hundreds of packets.
    waits = max(counters[f"n{i}", "calls_wait"] for i in range(5))
    assert waits < 250 < flow["delivered_bytes"] / 1460
    for row in run.rows("events"):
        assert row["kind"] != "drop" or row["t_s"] >= failures[row["node"]]


def is_failure(row: dict[str, Any]) -> bool:
    return bool(row["kind"] == "link-failure")


@pytest.mark.parametrize("metric", ["hops", "etx"])
def test_olsr_finds_relays(tmp_path: Path, run_scenario: Run, metric: str) -> None:
    text = CHAIN.format(protocol="olsr")
    run_scenario(text, "--set", f"routing.settings.metric={metric}", "--set", "duration_s=5")
    run = results.load(tmp_path / "run1")
    last = {row["node"]: row["detail"] for row in run.rows("events") if row["kind"] == "relays"}
    # Those between a station and others two hops away; the chain's ends are nobody's.
    assert last["n0"] == "addresses=10.0.0.2" and last["n4"] == "addresses=10.0.0.4"
    assert last["n2"] == "addresses=10.0.0.2,10.0.0.4"
    assert run.rows("flows")[0]["delivered_bytes"] > 0
