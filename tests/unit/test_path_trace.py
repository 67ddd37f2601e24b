# SPDX-License-Identifier: Apache-2.0
"""A flow's path as a trace for other emulators."""

from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.host.analysis import path_trace
from hoplab.host.analysis.path_trace import OPPORTUNITY_BYTES, Packet
from hoplab.model.errors import ResultsError
from tests.scenarios import ONE_HOP, resolved

OCTETS = 1028
DELAY_S = 0.02


def packets(rate_mbps: float, duration_s: float, start_s: float = 0.0) -> list[Packet]:
    """Those that arrive at a rate, each `DELAY_S` after it was sent."""
    gap_s = 8e-6 * OCTETS / rate_mbps
    count = int(duration_s / gap_s)
    times = [start_s + (i + 1) * gap_s for i in range(count)]
    return [Packet(t_s, t_s + DELAY_S, OCTETS) for t_s in times]


TWO_RATES = [*packets(10, 2), *packets(2, 2, 2.0)]


def replayed_bytes(opportunities_ms: list[int], duration_s: float) -> int:
    """What a Mahimahi link delivers of packets that always wait: each opportunity takes so many
    octets, of a packet's rest too."""
    room, delivered = 0, 0
    for t_ms in opportunities_ms:
        if t_ms >= 1000 * duration_s:
            break
        room += OPPORTUNITY_BYTES
        while room >= OCTETS:
            room -= OCTETS
            delivered += OCTETS
    return delivered


def test_a_replay_gives_the_same_throughput_second_by_second() -> None:
    found = list(path_trace.opportunities_ms(TWO_RATES))
    assert found == sorted(found)
    for second in range(1, 5):
        came = sum(p.octets for p in TWO_RATES if p.received_s and p.received_s < second)
        assert replayed_bytes(found, second) == pytest.approx(came, rel=0.01)


def test_rates_of_steps_are_those_of_the_path() -> None:
    steps = path_trace.steps(TWO_RATES)
    first, last = steps[2:18], steps[22:38]
    assert [s.rate_mbps for s in first] == pytest.approx([10] * len(first), rel=0.02)
    assert [s.rate_mbps for s in last] == pytest.approx([2] * len(last), rel=0.05)
    assert {round(s.delay_ms, 3) for s in steps} == {20.0}
    lossy = [
        Packet(p.sent_s, None if i % 4 == 0 else p.received_s, p.octets)
        for i, p in enumerate(TWO_RATES)
    ]
    assert [s.loss for s in path_trace.steps(lossy)[2:18]] == pytest.approx([0.25] * 16, abs=0.02)


def test_forms() -> None:
    csv = path_trace.text(TWO_RATES, "csv", "path.csv").splitlines()
    assert csv[0] == "t_s,rate_mbps,delay_ms,loss"
    assert len(csv) == 1 + 41
    script = path_trace.text(TWO_RATES, "netem", "path.sh")
    assert script.startswith("#!/bin/sh\n# Usage, as root: sh path.sh INTERFACE.")
    assert script.count("tc qdisc change") == 40
    assert "rate 0kbit" not in path_trace.text([*packets(1, 1), *packets(1, 1, 3.0)], "netem", "p")


def told(rows: list[dict[str, Any]]) -> Any:
    return SimpleNamespace(rows=lambda table: rows)


def test_what_cannot_be_exported_is_said() -> None:
    scenario = resolved("duration_s = 5\n" + ONE_HOP)
    with pytest.raises(ResultsError, match="--flow: other; one of: flow0"):
        path_trace.of_flow(told([]), scenario, "other")
    with pytest.raises(ResultsError, match=r"measure\.packets=true"):
        path_trace.of_flow(told([]), scenario, None)
    row = {"flow": "flow0", "sent_s": 1.0, "received_s": None, "bytes": 1000}
    lost = path_trace.of_flow(told([row]), scenario, None)
    assert lost == [Packet(0.0, None, 1052)]
    with pytest.raises(ResultsError, match="none of its packets arrived"):
        path_trace.text(lost, "csv", "path.csv")
