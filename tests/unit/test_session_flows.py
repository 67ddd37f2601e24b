# SPDX-License-Identifier: Apache-2.0
"""What a session does with requests. It measures flows that somebody adds by hand as it does those
of the scenario, and no request goes without an answer."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from hoplab.guest.lab import acts, session
from hoplab.guest.lab.runtime import Runtime
from hoplab.guest.lab.started import Started
from hoplab.model.network.plan import Plan, plan
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

ENDS = {"source": "n0", "destination": "n1"}


def planned(**more: Any) -> Plan:
    document = {"duration_s": 1, "topology": {"kind": "pair"}, **more}
    return plan(resolve(parse(document, "test")))


def asked(
    whole: Plan,
    request: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    out: Path | None = None,
    further: Sequence[dict[str, Any]] = (),
) -> tuple[session.Session, MagicMock, MagicMock]:
    """The session, its runtime and its channel after ``request`` and further ones, with all but
    the session a stub."""
    runtime = MagicMock(spec=Runtime, going={}, standby=MagicMock(), captures=MagicMock())
    runtime.follow.side_effect = lambda feed: [action(t_s) for t_s, action in feed]
    runtime.join.side_effect = partial(Runtime.join, runtime)
    monkeypatch.setattr(session, "Runtime", lambda *_, **__: runtime)
    monkeypatch.setattr(acts, "MediumClient", MagicMock())
    built = runtime._built = MagicMock(plan=whole, out=out)
    runtime._undo = MagicMock()
    started = MagicMock(spec=Started, built=built, clock=MagicMock())
    started.clock.now_s.return_value = 0.0
    channel = MagicMock()
    requests = [request, *further, {"do": "end"}]
    channel.requests.side_effect = [[{"id": i, **one}] for i, one in enumerate(requests, start=1)]
    made = session.Session(cast(Started, started), Path("control"), channel, MagicMock())
    made.serve()
    return made, runtime, channel


def followed(whole: Plan, request: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flows whose packets are captured from ``request`` on."""
    _, runtime, channel = asked(whole, request, monkeypatch)
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


def test_a_drag_moves_the_station_that_the_prompt_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"do": "move", "station": "n1", "x_m": 70.0, "y_m": 8.0}
    made, _, channel = asked(planned(), request, monkeypatch)
    channel.say.assert_any_call(id=1, ok=True)
    assert made.present.scenario().station[1].place() == (70.0, 8.0)


def test_a_drag_is_one_event_however_slow_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of its moves pass seconds; where it ends, it ends at once."""
    now_s = itertools.count()
    monkeypatch.setattr(session.time, "monotonic", lambda: float(next(now_s)))
    move = {"do": "move", "station": "n1", "y_m": 8.0}
    drag = [{**move, "do": "drag", "x_m": 70.0 + i} for i in range(10)]
    further = [*drag, {**move, "x_m": 80.0}, {**move, "station": "n0", "x_m": 1.0}]
    _, runtime, channel = asked(
        planned(), {**move, "do": "drag", "x_m": 70.0}, monkeypatch, further=further
    )
    assert not [call for call in channel.say.call_args_list if "error" in call.kwargs]
    told = [call.args[1:] for call in runtime.event.call_args_list]
    assert told == [("n1", "move", "x_m=80.0 y_m=8.0"), ("n0", "move", "x_m=1.0 y_m=8.0")]


DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "request_",
    [
        *(
            {"do": "move", "station": "n1", "x_m": x_m, "y_m": 0.0}
            for x_m in ("abc", "", None, True, [1], {}, math.nan, math.inf, 1e300, 10**400, DEEP)
        ),
        {"do": "move"},
        {"do": "move", "station": "n1", "x_m": 1, "y_m": 1, "more": 1},
        {"do": "move", "station": ["n1"], "x_m": 1, "y_m": 1},
        {"do": "drag", "station": "n1", "x_m": 1, "y_m": math.nan},
        {"do": "loss", "src": "n0", "dst": "n1", "rate": math.nan},
        {"do": "loss", "src": "n0", "dst": "n0", "rate": 0.5},
        {"do": "up", "station": "n1", "at_s": 1},
        {"do": "down"},
        {"do": "window", "flow": "flow0", "segments": 1},
        {"do": "reseed", "seed": 1},
        {"do": "start"},
        {"do": "stop", "flow": {}},
        {"do": "flow", "source": "n0", "destination": "n0"},
        {"do": "flow", "source": "n0", "destination": "n1", "congestion_control": "no such"},
        {"do": "flow", "source": 1, "destination": "n1"},
        {"do": "fly"},
        {"do": DEEP},
        {"do": None},
        {},
    ],
)
def test_every_malformed_request_is_answered_in_a_line(
    request_: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    _, _, channel = asked(planned(), dict(request_), monkeypatch, tmp_path)
    (answer,) = [call.kwargs for call in channel.say.call_args_list if call.kwargs.get("id") == 1]
    assert answer.keys() == {"id", "error"}
    assert answer["error"] and "\n" not in answer["error"]
    # Nothing of ours has failed.
    assert not (tmp_path / "logs" / "lab.log").exists()


def test_what_fails_at_a_request_is_answered_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(acts, "of_radios", lambda plan, request: 1 // 0)
    request = {"do": "move", "station": "n1", "x_m": 70.0, "y_m": 8.0}
    _, _, channel = asked(planned(), request, monkeypatch, tmp_path)
    (answer,) = [call.kwargs for call in channel.say.call_args_list if call.kwargs.get("id") == 1]
    assert answer["error"].startswith("ZeroDivisionError: ")
    assert answer["error"].endswith("; see logs/lab.log")
    channel.say.assert_any_call(id=2, ok=True)
    assert "of_radios" in (tmp_path / "logs" / "lab.log").read_text()
