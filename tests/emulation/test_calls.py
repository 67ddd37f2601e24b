# SPDX-License-Identifier: Apache-2.0
"""Video calls, and datagrams at random or in bursts."""

from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

STATIONS = "".join(f'[[station]]\nname = "{name}"\nradio = false\n' for name in "ab")
CALL = f"""duration_s = 30
{STATIONS}
[[link]]
ends = ["a", "b"]
delay_ms = 20
up = {{{{ rate_mbps = {{up}}, queue = {{{{ packets = 100 }}}} }}}}
down = {{{{ rate_mbps = 50 }}}}
[[flow]]
protocol = "call"
source = "a"
destination = "b"
rate_kbps = 2000
"""


def _frames(done: dict[str, Any], flow: str) -> list[dict[str, Any]]:
    rows = results.load(Path(done["folder"])).rows("exchanges")
    return [row for row in rows if row["flow"] == flow]


def _kbps(frames: list[dict[str, Any]], begin_s: float, end_s: float) -> float:
    octets = sum(row["received_bytes"] for row in frames if begin_s <= row["t_s"] < end_s)
    return octets * 8e-3 / (end_s - begin_s)


def test_both_ways_reach_their_rate_on_a_free_link(run_scenario: Run) -> None:
    done = run_scenario(CALL.format(up=50))
    (flow,) = done["flows"]
    assert flow["lost"] == 0
    assert flow["sent"] == pytest.approx(30 * 30, abs=2)
    for name in ("flow0", "flow0<"):
        frames = _frames(done, name)
        assert [row["number"] for row in frames] == list(range(1, len(frames) + 1))
        assert not any(row["late"] for row in frames)
        # The delay, and at most a large frame's time on the link.
        assert all(20 <= row["delay_ms"] < 30 for row in frames)
        assert _kbps(frames, 20, 29) == pytest.approx(2000, rel=0.1)


def test_a_narrow_way_holds_its_own_rate_back_alone(run_scenario: Run) -> None:
    done = run_scenario(CALL.format(up=0.6))
    narrow, wide = _kbps(_frames(done, "flow0"), 15, 29), _kbps(_frames(done, "flow0<"), 20, 29)
    assert 300 < narrow < 600
    assert wide == pytest.approx(2000, rel=0.1)
    frames = _frames(done, "flow0")
    assert any(row["late"] for row in frames)
    assert fmean(row["late"] for row in frames) < 0.3


DATAGRAMS = f"""duration_s = 20
{STATIONS}
[[link]]
ends = ["a", "b"]
rate_mbps = 100
delay_ms = 1
[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = 500
rate_kbps = 800
{{keys}}
[measure]
packets = true
"""


def _gaps(done: dict[str, Any]) -> list[float]:
    rows = results.load(Path(done["folder"])).rows("packets")
    times = sorted(row["sent_s"] for row in rows)
    return [later - earlier for earlier, later in pairwise(times)]


def test_gaps_of_poisson_are_exponential(run_scenario: Run) -> None:
    """4000 gaps of 5 ms: 3 deviations of their mean are 5 %, of the number above two means 13 %."""
    gaps = _gaps(run_scenario(DATAGRAMS.format(keys='spacing = "poisson"')))
    assert fmean(gaps) == pytest.approx(0.005, rel=0.05)
    assert sum(gap > 0.010 for gap in gaps) / len(gaps) == pytest.approx(0.1353, rel=0.13)


def test_a_flow_on_and_off_is_silent_in_between(run_scenario: Run) -> None:
    keys = "on = { mean = 0.5 }\noff = { mean = 1.5 }"
    gaps = _gaps(run_scenario(DATAGRAMS.format(keys=keys)))
    long = [gap for gap in gaps if gap > 0.1]
    assert len(long) == 9
    assert long == pytest.approx([1.505] * 9, abs=0.001)
    assert len(gaps) + 1 == pytest.approx(10 * 100, abs=2)
