# SPDX-License-Identifier: Apache-2.0
"""UDP flows: who sends them, and their rows over time."""

from pathlib import Path
from typing import Any

import pytest

from hoplab.host.results import arrow, connections, datagrams, flows
from hoplab.host.results.datagrams import Arrival
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show.live.course import Course
from hoplab.show.report.lines import Lines

ENDS = {"source": "n0", "destination": "n1", "protocol": "udp"}


def resolved(**flow: Any) -> Scenario:
    document = {"duration_s": 10, "topology": {"kind": "pair"}, "flow": [{**ENDS, **flow}]}
    return resolve(parse(document, "test"))


def test_percentiles_are_nearest_ranks() -> None:
    assert datagrams.delays(range(100, 0, -1)) == {
        "latency_ms_mean": 50.5,
        "latency_ms_p50": 50.0,
        "latency_ms_p95": 95.0,
        "latency_ms_p99": 99.0,
    }
    assert set(datagrams.delays([]).values()) == {None}


def test_jitter_is_the_mean_difference() -> None:
    assert datagrams.jitter_ms([5, 21, 20, 20]) == pytest.approx(17 / 3, abs=1e-6)
    assert datagrams.jitter_ms([5]) is None


ARRIVALS = [
    Arrival(1.51, 100, 1, 5.0),
    Arrival(1.6, 100, 3, 21.0),
    Arrival(1.75, 100, 4, 20.0),
    Arrival(1.76, 100, 2, 20.0),
    Arrival(9.0, 100, 5, 1.0),
]


def test_rows_count_what_came_by_their_time() -> None:
    """As daemons/traffic-core/tests/flow.rs has it: at whole intervals, and at the stop."""
    rows = list(datagrams.rows("f", ARRIVALS, 1.5, 1.95, 0.1))
    assert [row["t_s"] for row in rows] == [1.6, 1.7, 1.8, 1.9, 1.95]
    assert [(row["received"], row["lost"]) for row in rows] == [(2, 1), (2, 1), *[(4, 0)] * 3]
    assert [row["latency_ms_p50"] for row in rows] == [5.0, None, 20.0, None, None]
    # By sixteenths: 16 ms, then 1 ms, then none.
    assert [row["jitter_ms"] for row in rows] == [1.0, 1.0, 0.9375, 0.9375, 0.9375]


def test_losses_of_what_has_no_numbers_are_unknown() -> None:
    arrivals = [Arrival(0.5, 100), Arrival(0.6, 100)]
    (row,) = datagrams.rows("f", arrivals, 0.4, 0.6, 1.0, numbered=False)
    assert (row["received"], row["delivered_bytes"], row["lost"]) == (2, 200, None)
    assert (row["latency_ms_p50"], row["jitter_ms"]) == (None, None)


CAPTURED = {
    **{"sent": 10, "received": 9, "lost": 1, "delivered_bytes": 900, "goodput_kbps": 0.9},
    **dict.fromkeys(("latency_ms_mean", "latency_ms_p50"), 5.0),
}


@pytest.mark.parametrize(("last_s", "received"), [(8.0, 7), (7.9, 9)])
def test_a_receivers_count_goes_before_a_captures(last_s: float, received: int) -> None:
    """If it counted to the flow's stop, at 8 s."""
    table = arrow.from_rows("udp", [_row(1, 3, 0, 5), _row(last_s, 7, 2, 5)], "udp")
    none = (connections.Found([], {}), arrow.empty("exchanges"))
    course = flows.Course(arrow.empty("tcp"), {"flow0": CAPTURED}, 0, True, *none, table)
    (row,) = flows.rows(Path("none"), plan(resolved(rate_kbps=100, stop_s=8)), course)
    assert (row["sent"], row["received"], row["lost"]) == (10, received, 10 - received)
    assert row["latency_ms_p50"] == 5.0
    assert row["goodput_kbps"] == (0.875 if received == 7 else 0.9)


def _row(t_s: float, received: int, lost: int, delay_ms: float | None) -> dict[str, Any]:
    return {
        "t_s": t_s,
        "flow": "flow0",
        "received": received,
        "delivered_bytes": received * 125,
        "lost": lost,
        "latency_ms_mean": delay_ms,
        "latency_ms_p50": delay_ms,
        "latency_ms_p95": delay_ms and 2 * delay_ms,
        "latency_ms_p99": delay_ms and 3 * delay_ms,
        "jitter_ms": delay_ms and delay_ms / 10,
    }


def test_a_flow_of_datagrams_has_its_lines() -> None:
    lines = Lines(["flow0"])
    for row in (_row(1, 100, 0, 5), _row(2, 175, 25, 7), _row(3, 175, 25, None)):
        lines.add("udp", row)
    panels = {panel["title"]: panel["lines"] for panel in lines.panels()}
    assert list(panels) == ["Goodput", "One-way delay", "Jitter", "Lost datagrams"]
    assert panels["Goodput"][0]["y"] == [100.0, 75.0, 0.0]
    assert [line["y"] for line in panels["One-way delay"]] == [[5, 7, None], [10, 14, None]]
    assert panels["Lost datagrams"][0]["y"] == [0.0, 25.0, None]


def test_a_rate_between_rare_samples_is_that_of_their_interval() -> None:
    """The last sample, at a flow's stop, may follow soon."""
    lines = Lines(["flow0"], interval_s=5)
    for row in (
        _row(5, 500, 0, 5),
        _row(10, 1000, 0, 5),
        _row(15, 2000, 0, 5),
        _row(16, 2000, 0, 5),
    ):
        lines.add("udp", row)
    (goodput, *_) = lines.panels()
    assert goodput["lines"][0]["y"] == [100.0, 100.0, 200.0, 166.67]


def test_a_flow_that_lost_nothing_has_no_line_of_losses() -> None:
    lines = Lines(["flow0"])
    lines.add("udp", _row(1, 100, 0, 5))
    assert "Lost datagrams" not in [panel["title"] for panel in lines.panels()]


def test_measured_packets_take_the_place_of_sampled_delays() -> None:
    lines = Lines(["flow0"])
    lines.add("udp", _row(1, 100, 0, 5))
    lines.add_packets("flow0", [{"sent_s": 0.5, "received_s": 0.75, "bytes": 125}])
    panels = {panel["title"]: panel["lines"] for panel in lines.panels()}
    assert [line["y"] for line in panels["One-way delay"]] == [[250.0]]
    assert len(panels["Goodput"]) == 1


def test_a_live_page_shows_it_until_it_stops() -> None:
    course = Course(resolved(rate_kbps=100, stop_s=3))
    course.add("udp", _row(1, 75, 25, 5))
    (flow,) = course.flows(1.0)
    assert (flow["flow"], flow["state"]) == ("flow0", "5.0 ms one way, 25 % lost")
    course.add("udp", _row(2, 75, 25, None))
    assert course.flows(2.0)[0]["state"] == "nothing arrives"
    assert course.flows(9.0)[0]["state"] == "stopped"
