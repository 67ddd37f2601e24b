# SPDX-License-Identifier: Apache-2.0
"""Flows that somebody adds to a network by hand are measured as those of the scenario are."""

from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from hoplab.guest.lab import session
from hoplab.guest.lab.runtime import Runtime
from hoplab.guest.lab.started import Started
from hoplab.model.scenario.file import parse
from hoplab.model.scenario.plan import Plan, plan
from hoplab.model.scenario.resolve import resolve

ENDS = {"source": "n0", "destination": "n1"}


def planned(**more: Any) -> Plan:
    document = {"duration_s": 1, "topology": {"kind": "pair"}, **more}
    return plan(resolve(parse(document, "test")))


def followed(whole: Plan, request: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flows whose packets are captured from ``request`` on, with all but the session a stub."""
    runtime = MagicMock(spec=Runtime, going={}, standby=MagicMock(), captures=MagicMock())
    runtime.follow.side_effect = lambda feed: [action(t_s) for t_s, action in feed]
    monkeypatch.setattr(session, "Runtime", lambda *_, **__: runtime)
    monkeypatch.setattr(session, "MediumClient", MagicMock())
    started = MagicMock(spec=Started, built=MagicMock(plan=whole), clock=MagicMock())
    started.clock.now_s.return_value = 0.0
    channel = MagicMock()
    channel.requests.side_effect = [[{"id": 1, **request}], [{"id": 2, "do": "end"}]]
    session.Session(cast(Started, started), Path("control"), channel, MagicMock()).serve()
    channel.say.assert_any_call(id=1, ok=True)
    return [call.args[0].name for call in runtime.captures.follow.call_args_list]


@pytest.mark.parametrize("packets", [True, False])
def test_a_new_tcp_flows_packets_are_followed_where_all_are(
    packets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = planned(measure={"packets": packets})
    found = followed(whole, {"do": "flow", **ENDS}, monkeypatch)
    assert found == ["flow0"] * packets


def test_a_flow_of_the_scenario_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever starts it: its capture began with the run."""
    whole = planned(flow=[{**ENDS, "protocol": "udp", "rate_kbps": 8}])
    assert [conversation.name for conversation in whole.followed] == ["flow0"]
    assert followed(whole, {"do": "start", "flow": "flow0"}, monkeypatch) == []
