# SPDX-License-Identifier: Apache-2.0
"""A relay of a three-hop chain is away for 16 s: what the flow does with ELFN and without."""

import itertools
from pathlib import Path

import pytest

from hoplab.host import results
from hoplab.host.analysis.trace import Line, trace
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import Run

SCENARIO = (PROJECT / "experiments" / "elfn-relay.toml").read_text(encoding="utf-8")
DSR = 'protocol = "dsr"', "settings = { max_request_period_s = 1 }"
AODV = 'protocol = "aodv"', "settings = { net_diameter = 5, local_repair = false }"
BY_AODV = SCENARIO.replace(DSR[0], AODV[0]).replace(DSR[1], AODV[1])
"""AODV looks for a route at least every 1.6 s: NET_TRAVERSAL_TIME 0.4 s, doubled twice."""
AWAY_S, BACK_S = 20.0, 36.0
LATE = 1.125


def flow(
    tmp_path: Path, run_scenario: Run, number: int, *settings: str, text: str = SCENARIO
) -> list[Line]:
    overrides = [word for setting in settings for word in ("--set", setting)]
    run_scenario(text, "--set", "duration_s=52", *overrides)
    return trace(results.load(tmp_path / f"run{number}"))


def moves_on_s(lines: list[Line]) -> float:
    """When data that had never been sent before the break arrives."""
    most = max(line.sequence or 0 for line in lines if line.kind == "s" and line.t_s < BACK_S)
    return next(x.t_s for x in lines if x.kind == "r" and (x.sequence or 0) > most)


@pytest.mark.parametrize("carriage", ["route-error", "icmp"])
def test_a_flow_stands_by_until_its_relay_returns(
    tmp_path: Path, run_scenario: Run, carriage: str
) -> None:
    lines = flow(tmp_path, run_scenario, 1, f"routing.settings.carriage={carriage}")
    run = results.load(tmp_path / "run1")
    began, ended = ([x for x in lines if x.kind == kind] for kind in ("standby", "resume"))
    assert len(began) == len(ended) == 1
    # What it had, it has again.
    assert ended[0].why == f"acknowledged, {began[0].why}"
    rows = run.rows("tcp")
    before = [row for row in rows if row["t_s"] < AWAY_S][-1]
    at_once = next(row for row in rows if row["t_s"] > ended[0].t_s)
    assert at_once["ssthresh"] == before["ssthresh"] and at_once["cwnd"] == before["cwnd"]
    assert rows[-1]["timeouts"] == 0
    for row in rows:
        standing = began[0].t_s < row["t_s"] < ended[0].t_s
        assert row["standby"] == int(standing), row
    assert rows[-1]["standby_s"] == pytest.approx(ended[0].t_s - began[0].t_s, abs=1e-3)
    # Within one probe interval and two round trips of the relay's return.
    rtt_s = before["rtt_ms"] / 1000
    assert BACK_S < ended[0].t_s < BACK_S + 2.0 + rtt_s
    assert moves_on_s(lines) < BACK_S + 2.0 + 2 * rtt_s
    # Sent again: one segment as probe, every 2 s, and each that was lost, once.
    probes = [x for x in lines if x.kind == "probe"]
    again = [x for x in lines if x.why == "again"]
    lost = {x.sequence for x in lines if x.kind == "D" and x.t_s < AWAY_S + 1}
    assert len({x.sequence for x in probes}) == 1
    others = [x.sequence for x in again if x.sequence != probes[0].sequence]
    assert len(others) == len(set(others)) and set(others) == lost - {probes[0].sequence}
    assert len(again) == len(probes) + len(others)
    assert rows[-1]["probes"] == len(probes) and rows[-1]["retransmits"] == len(again)


def test_a_route_error_of_aodv_is_a_notice_too(tmp_path: Path, run_scenario: Run) -> None:
    lines = flow(tmp_path, run_scenario, 1, "measure.frames=true", text=BY_AODV)
    run = results.load(tmp_path / "run1")
    (began,), (ended,) = ([x for x in lines if x.kind == kind] for kind in ("standby", "resume"))
    told_s = next(
        frame["until_s"]
        for frame in run.rows("frames")
        if (frame["src"], frame["protocol"]) == ("n1", "aodv") and frame["until_s"] > AWAY_S
    )
    # With the Route Error. That waits behind the frames that fail, for longer than TCP's timer.
    assert told_s <= began.t_s < told_s + 1e-3
    assert ended.why == f"acknowledged, {began.why}"
    rows = run.rows("tcp")
    before = [row for row in rows if row["t_s"] < AWAY_S][-1]
    timeouts = next(row["timeouts"] for row in rows if row["t_s"] > began.t_s)
    assert rows[-1]["timeouts"] == timeouts and rows[-1]["standby_s"] > BACK_S - began.t_s
    # Within a probe interval, AODV's longest wait between requests and two round trips.
    assert BACK_S < ended.t_s < BACK_S + 2.0 + 1.6 + 2 * before["rtt_ms"] / 1000
    # Probes are of one segment; each other one is sent again at most once.
    probed = {x.sequence for x in lines if x.kind == "probe"}
    others = [x.sequence for x in lines if x.why == "again" and x.sequence not in probed]
    assert len(probed) == 1 and len(others) == len(set(others))
    # One copy of the probe waited for the route.
    arrived = [x for x in lines if x.kind == "r" and x.sequence in probed and x.t_s > BACK_S]
    assert len(arrived) == 1


def test_without_it_the_doubled_timer_decides(tmp_path: Path, run_scenario: Run) -> None:
    lines = flow(tmp_path, run_scenario, 1, "tcp.elfn=false")
    tries = [x.t_s for x in lines if x.why == "again" and x.t_s > AWAY_S]
    gaps = [b - a for a, b in itertools.pairwise(tries)]
    # RFC 6298 section 5.5: the timer doubles, whatever it began with. The kernel's wheel of timers
    # ends each late, by an eighth of it at most (kernel/time/timer.c).
    for gap, doubled in itertools.pairwise(gaps[:5]):
        assert 2 * gap / LATE < doubled < 2 * gap * LATE, gaps
    # The relay's return changes nothing; the next try does.
    assert moves_on_s(lines) > min(t_s for t_s in tries if t_s > BACK_S)
    assert not [x for x in lines if x.kind in ("standby", "probe", "resume")]
