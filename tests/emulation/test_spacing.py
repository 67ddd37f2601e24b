# SPDX-License-Identifier: Apache-2.0
"""Constant-rate traffic with randomised spacing."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from hoplab.host import results

SCENARIO = """
duration_s = 4
station = [{ name = "a", radio = false }, { name = "b", radio = false }]
link = [{ ends = ["a", "b"] }]
[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = 1000
rate_kbps = 2000
spacing = "random"
[measure]
packets = true
"""
EVEN_S = 0.004


def _sent(run: Path) -> list[float]:
    """From the first on: nothing waits for ARP on a wire."""
    return [r["sent_s"] for r in results.load(run).rows("packets")]


def test_spacing_is_uniform_about_the_even_one(
    tmp_path: Path, run_scenario: Callable[..., dict[str, Any]]
) -> None:
    run_scenario(SCENARIO)
    sent = _sent(tmp_path / "run1")
    gaps = [b - a for a, b in pairwise(sent)]
    # 1000 gaps: the mean of uniform 0.5 to 1.5 lies within 3 of its standard deviations, 0.009.
    assert abs(fmean(gaps) / EVEN_S - 1) < 0.028
    assert abs(pstdev(gaps) / EVEN_S - 12**-0.5) < 0.02
    # The kernel wakes a sleeper at most its timer slack of 50 us late.
    assert min(gaps) > 0.5 * EVEN_S - 60e-6 and max(gaps) < 1.5 * EVEN_S + 60e-6
    run_scenario(SCENARIO, "--seed", "2")
    assert _sent(tmp_path / "run2") != sent
