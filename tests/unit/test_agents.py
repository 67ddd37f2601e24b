# SPDX-License-Identifier: Apache-2.0
"""What an agent may decide and observe, and the line on which a run asks it; without a guest."""

import contextlib
import json
import math
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoplab import gym
from hoplab.front import api
from hoplab.front.agents import env
from hoplab.front.agents.fields import Observer, field
from hoplab.host.machine.copies import Line
from hoplab.host.runs.steps import Steps, Wanted
from hoplab.host.stream.sink import Batch
from hoplab.model.errors import GuestFailed, HoplabError, ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.requests import Request

CHAIN: dict[str, Any] = {
    "duration_s": 5,
    "topology": {"kind": "chain", "stations": 3, "spacing_m": 20},
    "flow": [
        {"name": "f", "source": "n0", "destination": "n2"},
        {"name": "u", "source": "n0", "destination": "n2", "protocol": "udp", "rate_kbps": 10},
    ],
}


def scenario(changes: Mapping[str, Any] | None = None) -> Any:
    return api.resolved_scenario(CHAIN, None, changes or {})


@pytest.mark.parametrize(
    ("action", "changes", "told"),
    [
        (gym.Window("g"), {}, "window: there is no flow 'g'; one of: f, u"),
        (gym.Window("u"), {}, "window: flow u is of udp; a window is TCP's"),
        (gym.Window("f", 4, 4), {}, "window: 4 to 4; expected 1 to 10000, low first"),
        (gym.Goes("g"), {}, "goes: there is no flow 'g'"),
        (gym.Up("n9"), {}, "up: there is no station with a radio 'n9'; one of: n0, n1, n2"),
        (gym.Place("n0", (0, 0), (0, 5)), {}, "place: 0 to 0; expected -1e+06 to 1e+06"),
        (gym.LossRate("n0", "n9"), {}, "loss: there is no station with a radio 'n9'"),
        (gym.TransmitPower("n0", 0, 101), {}, "transmit power: 0 to 101; expected -200 to 100"),
        (gym.Mcs("n0", [0]), {}, "mcs: the radios are of 802.11"),
        (gym.Mcs("n0", [16]), {"radio.profile": "80211n"}, "mcs: 16 is not to be had"),
        (gym.Rate("n0", [2]), {}, 'rate: needs radio.rate_mbps = "auto"'),
        (
            gym.Rate("n0", [54]),
            {"radio.profile": "80211b", "radio.rate_mbps": "auto"},
            "rate: 54 is not to be had; one of: 1, 2, 5.5, 11",
        ),
        (gym.NextHop("n0", "n2", []), {"routing.protocol": "static"}, "next hop: a list without"),
        (
            gym.NextHop("n0", "n2", ["n0"]),
            {"routing.protocol": "static"},
            "next hop: 'n0' is not to be had; one of: n1, n2",
        ),
        (
            gym.NextHop("n0", "n2", ["n1"]),
            {"routing.protocol": "babeld"},
            "next hop: routing.protocol is 'babeld'",
        ),
    ],
)
def test_what_cannot_be_decided_is_one_line(
    action: gym.Action, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        action.check(scenario(changes))
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cwnd", "is no field; expected TABLE.SUBJECT.COLUMN"),
        ("tables.f.cwnd", "tables is no table of samples"),
        ("tcp.f.window", "tcp has no number 'window'"),
        ("tcp.f.ca_state", "tcp has no number 'ca_state'"),
        ("tcp.u.cwnd", "there is no flow 'u'; one of: f"),
        ("nodes.n9.x_m", "there is no node 'n9'"),
        ("link_samples.n0.frames", "link_samples is about src>dst"),
    ],
)
def test_what_cannot_be_observed_is_one_line(name: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=r"^observe: ") as caught:
        field(name, scenario())
    assert told in str(caught.value)


@pytest.mark.parametrize("step_s", [0.01, 6, float("nan")])
def test_a_step_is_of_a_sample_at_least(step_s: float) -> None:
    with pytest.raises(ScenarioError, match=r"^step_s: .*; expected at least measure.interval_s"):
        gym.ScenarioEnv(CHAIN, gym.Window("f"), step_s=step_s)


def test_a_thing_is_decided_once() -> None:
    with pytest.raises(ScenarioError, match=r"^action: Window f is there twice$"):
        gym.ScenarioEnv(CHAIN, {"a": gym.Window("f"), "b": gym.Window("f", 1, 2)})


def test_a_field_is_the_latest_value_or_its_growth() -> None:
    fields = [field(name, scenario()) for name in ("tcp.f.cwnd", "tcp.f.acked_bytes/s")]
    observer = Observer(fields, ["f"], ["f", "u"])
    values, missing = observer.observe(0.0)
    assert missing == ["tcp.f.cwnd", "tcp.f.acked_bytes/s"]
    assert [float(value[0]) for value in values.values()] == [0, 0]
    observer.take(Batch("tcp", [row("f", 3, 500), row("f", 4, 1000), row("other", 9, 9)]))
    values, missing = observer.observe(2.0)
    assert not missing
    assert [float(value[0]) for value in values.values()] == [4, 500]
    observer.take(Batch("tcp", [row("f-2", 1, 300)]))  # it goes again, and counts from 0
    values, _ = observer.observe(3.0)
    assert [float(value[0]) for value in values.values()] == [1, 300]


def row(flow: str, cwnd: int, acked: int) -> dict[str, Any]:
    return {"t_s": 1.0, "flow": flow, "cwnd": cwnd, "acked_bytes": acked}


class Guest:
    """The other end of the line, as the lab inside has it."""

    def __init__(self, steps: Steps) -> None:
        line = Line()
        self.end = line.other
        steps.attend(line.own, None)

    def hear(self) -> Any:
        return json.loads(self.end.recv(1 << 16))

    def say(self, text: str) -> None:
        for at in range(0, len(text), 1 << 16):
            self.end.send(text[at : at + (1 << 16)].encode())
        self.end.send(b"\n")


def test_the_watch_is_held_while_the_agent_thinks() -> None:
    held: list[bool] = []
    steps = Steps(Wanted(0.5, ["f"]))
    steps.held_by(held.append)
    guest = Guest(steps)
    assert guest.hear() == {"step_s": 0.5, "windows": ["f"], "flows": [], "medium": False}
    guest.say('{"at": 0.0}')
    assert steps.reached() == 0
    assert held == [True]
    window = requests.Window(flow="f", segments=4)
    steps.go_on([window])
    assert held == [True, False]
    assert guest.hear() == {"acts": [{"do": "window", "flow": "f", "segments": 4}]}
    guest.say('{"refused": "no such flow"}')
    with pytest.raises(ScenarioError, match=r"^no such flow$"):
        steps.reached()
    assert held == [True, False, True]
    steps.close()
    assert steps.reached() is None


@pytest.mark.parametrize("said", ["{", "[1]", '{"at": "now"}', '{"what": 1}', "x" * (1 << 17)])
def test_what_no_lab_says_ends_the_run(said: str) -> None:
    steps = Steps(Wanted(1.0))
    guest = Guest(steps)

    def say() -> None:
        with contextlib.suppress(OSError):  # nobody reads it to its end
            guest.say(said)

    thread = threading.Thread(target=say)
    thread.start()
    with pytest.raises(GuestFailed, match=r"^guest: said"):
        steps.reached()
    steps.close()
    thread.join()


def test_without_gymnasium_the_rest_works_and_one_line_tells() -> None:
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import hoplab\n"
        "assert hoplab.run and hoplab.results\n"
        "try:\n    hoplab.gym\n"
        "except hoplab.MissingTool as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == (
        "hoplab.gym: gymnasium is missing; install it with 'pip install hoplab[gym]'\n"
    ), done.stderr


class Standing:
    """An episode whose guest is at its next step at once."""

    last: "Standing"
    folder = Path("/nowhere/run")

    def __init__(self, *_: object) -> None:
        self.t_s, self.sent, self.closed = 0.0, [], False
        Standing.last = self

    def reached(self) -> float:
        return self.t_s

    def go_on(self, wanted: list[Request]) -> None:
        self.sent.append(wanted)
        self.t_s += 1.0

    def close(self, at_once: bool = False) -> None:
        self.closed = True


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env.select, "chosen", lambda: None)
    monkeypatch.setattr(env.Sealed, "require", lambda *_: None)
    monkeypatch.setattr(env, "Episode", Standing)


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({"power": np.array([math.nan]), "window": 4}, r"action power: array\(\[nan\]\) is not in"),
        ({"power": np.array([1.0]), "window": math.nan}, "action window: nan is not in Discrete"),
        ({"window": 4}, r"action: \{'window': 4\}; expected values by name: window, power"),
        (math.nan, "action: nan; expected values by name: window, power"),
    ],
)
def test_an_impossible_action_is_a_line_and_the_run_waits_for_another(
    action: Any, told: str
) -> None:
    actions = {"window": gym.Window("f"), "power": gym.TransmitPower("n0", -10, 10)}
    own = gym.ScenarioEnv(CHAIN, actions)
    own.reset()
    with pytest.raises(ScenarioError, match=told) as caught:
        own.step(action)
    assert caught.value.__cause__ is None
    assert [entry.name for entry in caught.traceback][1:] == ["step"]
    assert Standing.last.sent == [] and not Standing.last.closed
    own.step({"power": np.array([1.0]), "window": 4})
    assert [one.do for one in Standing.last.sent[0]] == ["window", "transmit"]


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (lambda seen: seen["nothing"], r"reward: KeyError: 'nothing'; the run was ended"),
        (lambda seen: math.nan, r"reward: ValueError: nan is no number; the run was ended"),
        (lambda seen: None, r"reward: TypeError: float\(\) argument .*; the run was ended"),
    ],
)
def test_a_reward_that_fails_is_a_line_and_ends_the_run(reward: Any, told: str) -> None:
    rewards = iter([lambda seen: 1.0, reward])
    own = gym.ScenarioEnv(CHAIN, gym.Window("f"), reward=lambda seen: next(rewards)(seen))
    own.reset()
    with pytest.raises(ScenarioError, match=told):
        own.step(4)
    assert Standing.last.closed
    with pytest.raises(HoplabError, match="call reset first"):
        own.step(4)
