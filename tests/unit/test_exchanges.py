# SPDX-License-Identifier: Apache-2.0
"""Echoes and transactions: what is asked of them, and what they come to."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hoplab.host.results import arrow, connections, digests
from hoplab.host.results.flows import Course, rows
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show.live.course import Course as Live
from hoplab.show.report.lines import Lines

ENDS = {"source": "n0", "destination": "n1"}


def resolved(**flow: Any) -> Scenario:
    document = {"duration_s": 10, "topology": {"kind": "pair"}, "flow": [{**ENDS, **flow}]}
    return resolve(parse(document, "test"))


def test_a_ping_is_linuxs_own_where_nothing_is_said() -> None:
    scenario = resolved(protocol="ping")
    (flow,) = scenario.flow
    assert (flow.packet_bytes, flow.interval_s, flow.timeout_s) == (56, 1.0, 10.0)
    assert resolve(scenario) == scenario
    whole = plan(scenario)
    assert not whole.conversations[0].has_server
    assert whole.followed == []


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"interval_s": 1.0}, "interval_s counts only where protocol is"),
        ({"protocol": "ping", "mss": 1000}, "mss counts only where protocol is"),
        ({"protocol": "ping", "rate_kbps": 10}, "rate_kbps counts only where protocol is"),
        ({"protocol": "rr", "packets": 10}, "packets counts only where protocol is"),
        ({"protocol": "ping", "request": {"mean": 1}}, "request counts only where protocol is"),
        ({"protocol": "rr", "request": {"mean": 0.2}}, "request: 0.2 octets; a mean of 1 to"),
        ({"protocol": "rr", "think": {"mean": 1e6}}, "think: 1e+06 s; a mean of at most"),
        ({"protocol": "rr", "request": {"kind": "pareto", "mean": 9.0}}, "shape is not given"),
        ({"protocol": "rr", "request": {"mean": 9, "high": 9}}, "high counts only where kind is"),
        ({"protocol": "rr", "think": {"kind": "uniform", "low": 3, "high": 1}}, "low 3 is above"),
    ],
)
def test_what_contradicts_itself_is_named(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(**flow)
    assert words in str(error.value)


def exchanged(*times: float | None) -> list[dict[str, Any]]:
    return [
        {
            "t_s": float(number),
            "flow": "flow0",
            "number": number,
            "sent_s": number - 0.5,
            "sent_bytes": 10,
            "received_bytes": 0 if rtt_ms is None else 100,
            "rtt_ms": rtt_ms,
            "delay_ms": None,
            "late": None,
        }
        for number, rtt_ms in enumerate(times, 1)
    ]


def came_to(flow: dict[str, Any], *times: float | None) -> dict[str, Any]:
    course = Course(
        arrow.empty("tcp"),
        {},
        0,
        True,
        connections.Found([], {}),
        arrow.from_rows("exchanges", exchanged(*times), "exchanges"),
        arrow.empty("udp"),
    )
    (row,) = rows(Path("none"), plan(resolved(**flow)), course)
    return row


def test_what_a_flow_came_to() -> None:
    row = came_to({"protocol": "ping"}, 4.0, None, 1.0)
    assert (row["sent"], row["received"], row["lost"]) == (3, 2, 1)
    assert (row["rtt_ms_min"], row["rtt_ms_mean"], row["rtt_ms_max"]) == (1, 2.5, 4)
    assert row["goodput_kbps"] is row["rate_per_s"] is None
    assert row["stop_s"] == 10
    assert came_to({"protocol": "ping", "packets": 3}, 4.0, None, 1.0)["stop_s"] == 3
    row = came_to({"protocol": "rr"}, 4.0, 1.0, None)
    assert (row["sent"], row["received"], row["lost"]) == (3, 2, None)
    assert (row["rate_per_s"], row["delivered_bytes"], row["goodput_kbps"]) == (0.2, 200, 0.16)
    row = came_to({"protocol": "ping"}, None)
    assert (row["lost"], row["rtt_ms_min"], row["rtt_ms_mean"]) == (1, None, None)


def test_a_later_column_leaves_the_digests_of_what_has_none() -> None:
    """And one that has a value counts."""
    row = came_to({"protocol": "ping"}, 4.0)
    old = {key: value for key, value in row.items() if key not in ("rtt_ms_max", "rate_per_s")}
    before = digests.of_table("flows", pa.Table.from_pylist([old]))
    none = {**old, "rtt_ms_max": None, "rate_per_s": None}
    assert digests.of_table("flows", pa.Table.from_pylist([none])) == before
    assert digests.of_table("flows", pa.Table.from_pylist([row])) != before
    # A column that was there from the first counts with and without a value.
    without = {**old, "lost": None}
    assert digests.of_table("flows", pa.Table.from_pylist([without])) != before


def test_the_picture_has_a_gap_where_no_reply_came() -> None:
    lines = Lines(["flow0"])
    for row in exchanged(4.0, None, 1.0):
        lines.add("exchanges", row)
    (panel,) = lines.panels()
    assert panel["lines"][0]["y"] == [4.0, None, 1.0]


def test_the_live_page_has_the_last_time() -> None:
    live = Live(resolved(protocol="ping", stop_s=5.0))
    for row in exchanged(4.0, None):
        live.add("exchanges", row)
    (first,), (second,), (after,) = (live.flows(t_s) for t_s in (1.5, 2.5, 5.0))
    assert (first["rtt_ms"], first["state"]) == (4.0, "replies")
    assert (second["rtt_ms"], second["state"]) == (None, "no reply")
    assert (after["rtt_ms"], after["state"]) == (None, "stopped")
