# SPDX-License-Identifier: Apache-2.0
"""Runs that an agent leads: what it decides acts, and the time in which it thinks does not."""

import os
import signal
import time
import tomllib
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hoplab import gym
from hoplab.host.machine import processes, watch
from hoplab.host.machine.copies import Asked, Standing, Wish
from hoplab.host.machine.originals import Originals
from hoplab.host.results import reader
from hoplab.host.runs import again, artifact
from hoplab.host.runs.steps import Steps
from hoplab.model.errors import (
    GuestFailed,
    HoplabError,
    NotReproduced,
    ResultsError,
    ScenarioError,
)
from hoplab.model.keys import requests

CHAIN: dict[str, Any] = {
    "duration_s": 6,
    "topology": {"kind": "chain", "stations": 4, "spacing_m": 100},
    "routing": {"protocol": "static"},
    "flow": [{"name": "f", "source": "n0", "destination": "n3"}],
}
PAIR: dict[str, Any] = {
    "duration_s": 6,
    "topology": {"kind": "pair", "spacing_m": 10},
    "routing": {"protocol": "static"},
    "flow": [{"name": "f", "source": "n0", "destination": "n1"}],
}
WIRE = """
duration_s = 6
station = [{ name = "a", radio = false }, { name = "b", radio = false }]
link = [{ ends = ["a", "b"], rate_mbps = 2, delay_ms = 5 }]
flow = [{ name = "f", source = "a", destination = "b" }]
routing = { protocol = "static" }
"""
RATE = "tcp.f.delivered_bytes/s"
Make = Callable[..., gym.ScenarioEnv]


@pytest.fixture
def make() -> Iterator[Make]:
    """Environments by their public name, which are closed in the end."""
    made: list[gymnasium.Env[Any, Any]] = []

    def call(scenario: Mapping[str, Any], action: Any, **options: Any) -> gym.ScenarioEnv:
        options = {"scenario": scenario, "action": action, **options}
        made.append(gymnasium.make("hoplab/Scenario-v0", disable_env_checker=True, **options))
        found = made[-1].unwrapped
        assert isinstance(found, gym.ScenarioEnv)
        return found

    yield call
    for env in made:
        env.close()


def play(
    env: gym.ScenarioEnv, decisions: Sequence[Any], think_s: float = 0.0, seed: int = 1
) -> tuple[list[dict[str, float]], str]:
    """What is observed after each decision, and the digest."""
    env.reset(seed=seed)
    return goes_on(env, decisions, think_s)


def goes_on(
    env: gym.ScenarioEnv, decisions: Sequence[Any], think_s: float = 0.0
) -> tuple[list[dict[str, float]], str]:
    """What is observed after each decision of a run that has begun, and the digest."""
    seen = []
    for decision in decisions:
        time.sleep(think_s)
        observation, _, over, cut, info = env.step(decision)
        seen.append({name: float(value[0]) for name, value in observation.items()})
        assert not over
    assert cut
    return seen, info["digest"]


def test_gymnasiums_own_checker_is_content(make: Make) -> None:
    env = make(PAIR, gym.Window("f", 1, 8), set={"duration_s": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A count has no bound that a space could name.
        warnings.filterwarnings("ignore", ".*infinity.*")
        check_env(env)


def test_the_same_decisions_give_the_same_run_however_long_they_take(make: Make) -> None:
    """The digest is over all tables, with the nanoseconds of their times."""
    env = make(CHAIN, gym.Window("f", 1, 8), observe=["tcp.f.cwnd", "nodes.n1.queue_len", RATE])
    windows = [1, 2, 4, 8, 3, 6]
    first = play(env, windows)
    assert play(env, windows, think_s=0.05) == first
    assert play(env, windows, seed=2)[1] != first[1]
    assert play(env, [1, 2, 4, 8, 3, 5])[1] != first[1]
    # The last one has had its second: cwnd is where the agent wants it.
    assert [seen["tcp.f.cwnd"] for seen in first[0]] == windows


@pytest.mark.parametrize("how", ["loss = 0.1", "loss = 0.1, jitter_ms = 2"])
def test_chance_on_wires_follows_from_the_seed(make: Make, how: str) -> None:
    """Though the network is built before its guest has a seed."""
    document = tomllib.loads(WIRE.replace("delay_ms = 5", f"delay_ms = 5, {how}"))
    env = make(document, gym.Window("f", 1, 8), observe=["tcp.f.retransmits"])
    one, two = (play(env, [8] * 6, seed=seed) for seed in (1, 2))
    assert play(env, [8] * 6) == one
    # A wire draws nothing else, so other losses alone tell the two apart.
    assert one[0] != two[0]


@pytest.mark.parametrize("is_held", [True, False])
def test_the_watch_for_hung_guests_lets_one_be_that_waits_for_the_agent(
    make: Make, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    """With the watch so quick, and nobody who holds it, the same run is ended as hung."""
    monkeypatch.setattr(watch, "TICK_S", 0.1)
    monkeypatch.setattr(watch, "SLEEP_LIMIT_S", 1.0)
    if not is_held:
        monkeypatch.setattr(Steps, "held_by", lambda self, hold: None)
    env = make(PAIR, gym.Window("f", 1, 8), set={"duration_s": 2})
    env.reset(seed=1)
    time.sleep(4.0)
    if is_held:
        assert env.step(1)[4]["t_s"] == 1.0
    else:
        with pytest.raises(GuestFailed, match="hung: all its processes slept"):
            env.step(1)


def test_reset_without_a_seed_goes_on_from_the_last_one(make: Make) -> None:
    env = make(PAIR, gym.Window("f"), set={"duration_s": 1, "seed": 7})
    seeds = [env.reset()[1]["seed"] for _ in range(2)]
    assert seeds[0] == 7
    assert env.reset(seed=7)[1]["seed"] == 7
    assert env.reset()[1]["seed"] == seeds[1] != 7


def test_a_branch_has_the_future_that_its_past_would_have_had(make: Make) -> None:
    """Also one that branches off a branch."""
    env = make(CHAIN, gym.Window("f", 1, 8), observe=["tcp.f.cwnd", RATE])
    whole = play(env, [8, 8, 8, 2, 2, 2])
    other = play(env, [8, 8, 8, 8, 1, 1])
    env.reset(seed=1)
    for _ in range(3):
        env.step(8)
    first = env.branch()
    assert ended(first, [2, 2, 2], whole[0][3:]) == whole[1]
    nested = env.branch()
    nested.step(8)
    further = nested.branch()
    assert ended(further, [1, 1], other[0][4:]) == other[1]
    nested.close()
    assert ended(env, [2, 2, 2], whole[0][3:]) == whole[1]


def test_a_branch_with_a_seed_draws_otherwise_from_there_on(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also of the channel, though no action is for that. A copy and a repeated past are equal, and
    branches of it have its seed."""
    loss = {"at_s": 0.5, "kind": "loss", "src": "n0", "dst": "n1", "rate": 0.2}
    lossy = {**CHAIN, "event": [loss]}

    def branched(folder: str) -> dict[str, str]:
        env = make(lossy, gym.Window("f", 1, 8), folder=tmp_path / folder)
        env.reset(seed=1)
        env.step(8)
        first = {name: env.branch(seed) for name, seed in (("2", 2), ("3", 3), ("none", None))}
        first["2 again"], first["2, nested"] = env.branch(2), first["2"].branch()
        first["2, then 3"] = first["2"].branch(seed=3)
        found = {name: digest(one, 4) for name, one in first.items()}
        return {**found, "itself": digest(env, 4)}

    found = branched("copied")
    assert found["2"] == found["2 again"] == found["2, nested"]
    assert found["itself"] == found["none"]
    assert len({found[name] for name in ("none", "2", "3", "2, then 3")}) == 4
    manifest = reader.load(tmp_path / "copied" / "0001-branch1").manifest
    assert manifest.branch is not None
    assert (manifest.branch["at_s"], manifest.branch["seed"]) == (1.0, 2)
    tables = [reader.load(tmp_path / "copied" / name) for name in ("0001", "0001-branch1")]
    before, after = ([row for row in t.tcp.to_pylist() if row["t_s"] <= 1.0] for t in tables)
    assert before == after
    with monkeypatch.context() as patch:
        patch.setattr(Standing, "ask", lambda *_: None)
        assert branched("repeated") == found


def test_what_is_no_seed_of_a_branch_is_told(make: Make) -> None:
    env = make(PAIR, gym.Window("f", 1, 8), set={"duration_s": 2})
    env.reset(seed=1)
    with pytest.raises(ScenarioError, match=r"^reseed: "):
        env.branch(seed=-1)
    env.step(8)  # it goes on


def test_a_branch_is_a_copy_of_the_guest_or_repeats_its_past(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bytes, at any depth, also once the run that it is a copy of has ended."""

    def branched(by_copies: bool) -> tuple[str, str, str]:
        env = make(CHAIN, gym.Window("f", 1, 8), observe=["tcp.f.cwnd", RATE])
        env.reset(seed=1)
        env.step(8)
        seen = []
        with monkeypatch.context() as patch:
            if by_copies:
                patch.setattr(Steps, "_reached_again", pytest.fail)
            else:
                patch.setattr(Standing, "ask", lambda *_: None)
            first = env.branch()
            first.step(1)
            second = first.branch()
        seen.append(digest(first, 4))
        seen.append(digest(env, 8))
        seen.append(digest(second, 2))
        return seen[0], seen[1], seen[2]

    assert branched(True) == branched(False)


def digest(env: gym.ScenarioEnv, window: int) -> str:
    """The digest of a run that ends with this window."""
    cut = False
    while not cut:
        _, _, _, cut, info = env.step(window)
    env.close()
    return str(info["digest"])


def test_a_run_that_is_a_copy_is_as_one_that_booted(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make(CHAIN, gym.Window("f", 1, 8), observe=["tcp.f.cwnd", RATE])
    windows = [1, 2, 4, 8, 3, 6]
    copied = play(env, windows), play(env, windows, seed=5)
    monkeypatch.setattr(Originals, "_serves", lambda self, key, guest: False)
    assert (play(env, windows), play(env, windows, seed=5)) == copied


def test_a_run_made_ahead_is_as_one_that_booted(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the third reset on a copy waits. If somebody ends it, another is made."""
    env = make(CHAIN, gym.Window("f", 1, 8), observe=["tcp.f.cwnd", RATE])
    windows, ahead = [1, 2, 4, 8, 3, 6], []
    made_by = Originals._made_ahead

    def noted(self: Originals, key: Hashable, wish: Wish) -> Asked | None:
        made = made_by(self, key, wish)
        ahead.append(made is not None)
        return made

    monkeypatch.setattr(Originals, "_made_ahead", noted)
    copied, originals = [], env._family.originals
    for seed in (1, 2, 3, 4):
        copied.append(play(env, windows, seed=seed))
        originals._maker.submit(int).result()  # then it has made the next one
    assert originals._ahead is not None
    waiting = originals._ahead[1].made()
    assert waiting is not None
    os.kill(waiting.pid, signal.SIGKILL)
    processes.wait_for_end(waiting.pid, 10)
    copied.append(play(env, windows, seed=5))
    assert ahead == [False, False, True, True, False]
    monkeypatch.setattr(Originals, "_serves", lambda self, key, guest: False)
    assert [play(env, windows, seed=seed) for seed in (1, 2, 3, 4, 5)] == copied


def test_a_seed_that_comes_again_is_ready_and_gives_the_same_run(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the third time on a run is made ahead, which begins no guest of its own. Another seed
    begins anew."""
    fields = ["tcp.f.cwnd", "nodes.n1.queue_len", RATE]
    env = make(CHAIN, gym.Window("f", 1, 8), observe=fields)
    began: list[int] = []
    began_by = Originals.asked

    def counted(self: Originals, wish: Wish) -> AbstractContextManager[Asked | None]:
        began.append(1)
        return began_by(self, wish)

    monkeypatch.setattr(Originals, "asked", counted)
    windows, others = [1, 2, 4, 8, 3, 6], [1, 2, 4, 8, 3, 5]
    starts, runs = [], []
    for choice in (windows, windows, windows, others, windows):
        observation, info = env.reset(seed=7)
        starts.append(({name: float(value[0]) for name, value in observation.items()}, info))
        runs.append(goes_on(env, choice))
    assert all(start == starts[0] for start in starts)
    assert runs[0] == runs[1] == runs[2] == runs[4] != runs[3]
    assert len(began) == 2
    assert play(env, windows, seed=8) != runs[0]
    assert play(env, windows, seed=7) == runs[0]
    assert len(began) == 4


def test_a_seed_comes_again_where_nothing_was_made_ahead(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make(PAIR, gym.Window("f", 1, 8), set={"duration_s": 2})
    first = [play(env, [1, 2]) for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr(gym.ScenarioEnv, "branch", lambda self: failed())
        first += [play(env, [1, 2]) for _ in range(3)]
    assert first == first[:1] * 5


def failed() -> None:
    raise GuestFailed("guest kernel: no more of it")


def ended(env: gym.ScenarioEnv, decisions: Sequence[Any], seen: list[dict[str, float]]) -> str:
    """The digest of a run after its last decisions, each of which has been seen so."""
    for decision, values in zip(decisions, seen, strict=True):
        observation, _, _, cut, info = env.step(decision)
        assert {name: float(value[0]) for name, value in observation.items()} == values
    assert cut
    env.close()
    return str(info["digest"])


def numbers(*values: float) -> list[np.ndarray[Any, Any]]:
    return [np.array([value]) for value in values]


def test_a_flow_goes_when_the_agent_says_so(make: Make, tmp_path: Path) -> None:
    env = make(CHAIN, gym.Goes("f"), folder=tmp_path)
    seen, digest = play(env, [0, 1, 1, 0, 1, 1])
    assert [rate[RATE] > 0 for rate in seen] == [False, True, True, False, True, True]
    assert play(env, [0, 1, 1, 0, 1, 1], think_s=0.01)[1] == digest
    flows = list(reader.load(tmp_path / "0001").rows("flows"))
    assert [flow["flow"] for flow in flows] == ["f", "f-2"]
    assert (flows[0]["start_s"], flows[0]["stop_s"]) == (1.0, 3.0)
    assert flows[1]["start_s"] == pytest.approx(4.0, abs=0.05)  # its server has to listen first


@pytest.mark.parametrize(
    ("action", "decisions"),
    [
        (gym.Up("n1"), [1, 1, 0, 0, 1, 1]),
        (
            gym.Place("n3", (0.0, 0.0), (5000.0, 1.0)),
            [np.array([x, 0.0]) for x in (300.0, 300.0, 5000.0, 5000.0, 300.0, 300.0)],
        ),
        (gym.LossRate("n0", "n1"), numbers(0, 0, 1, 1, 0, 0)),
        (gym.TransmitPower("n0", -100, 30), numbers(24.5, 24.5, -100, -100, 24.5, 24.5)),
    ],
    ids=["up", "place", "loss", "power"],
)
def test_the_channel_obeys(
    make: Make, action: gym.Action, decisions: Sequence[Any], tmp_path: Path
) -> None:
    """From the second second on nothing comes through for two seconds; at the end of them, since
    relays still have packets at their beginning. TCP's timer, which has doubled, may run for two
    more seconds."""
    env = make({**CHAIN, "duration_s": 8}, action, folder=tmp_path)
    decisions = [*decisions, *decisions[-2:]]
    seen, digest = play(env, decisions)
    rates = [found[RATE] for found in seen]
    assert rates[1] > 50_000 < rates[7]
    assert rates[3] == 0
    assert play(env, decisions, think_s=0.01)[1] == digest
    manifest = reader.load(tmp_path / "0001").manifest
    assert manifest.medium is not None and manifest.medium["trustworthy"]


def test_a_next_hop_is_the_agents(make: Make) -> None:
    links = [f"link_samples.n0>{hop}.frames/s" for hop in ("n1", "n2")]
    env = make(CHAIN, gym.NextHop("n0", "n3", ("n1", "n2")), observe=links)
    decisions = [0, 0, 1, 1, 0, 0]
    seen, digest = play(env, decisions)
    assert [found[links[0]] > found[links[1]] for found in seen] == [hop == 0 for hop in decisions]
    assert play(env, decisions)[1] == digest


@pytest.mark.parametrize(
    ("radio", "action"),
    [
        ({"profile": "80211b", "rate_mbps": "auto"}, gym.Rate("n0", (1, 2, 5.5))),
        ({"profile": "80211n"}, gym.Mcs("n0", (0, 3, 7))),
    ],
    ids=["rate", "mcs"],
)
def test_data_go_at_the_agents_rate(make: Make, radio: dict[str, Any], action: gym.Action) -> None:
    """A transfer over one hop gets more than half of the rate, and never all of it. At 11 Mbit/s
    preambles and acknowledgements at 1 or 2 Mbit/s take more than half."""
    env = make({**PAIR, "radio": radio}, action)
    mbps = (1, 2, 5.5) if isinstance(action, gym.Rate) else (6.5, 26, 65)
    seen, digest = play(env, [0, 0, 1, 1, 2, 2])
    got = [seen[n][RATE] * 8e-6 for n in (1, 3, 5)]
    assert all(0.5 * rate < goodput < rate for goodput, rate in zip(got, mbps, strict=True)), got
    assert play(env, [0, 0, 1, 1, 2, 2])[1] == digest


def test_several_things_at_once(make: Make) -> None:
    actions = {"window": gym.Window("f", 1, 8), "up": gym.Up("n3")}
    env = make(CHAIN, actions, observe=["tcp.f.cwnd", RATE])
    seen, _ = play(env, [{"window": window, "up": 1} for window in (2, 2, 2, 4, 4, 4)])
    assert seen[2]["tcp.f.cwnd"] == 2
    assert seen[5]["tcp.f.cwnd"] == 4


def test_mistakes_are_told_in_a_line(make: Make) -> None:
    env = make(PAIR, gym.Window("f", 1, 8))
    with pytest.raises(HoplabError, match=r"^step: there is no run; call reset first$"):
        env.step(1)
    env.reset(seed=1)
    with pytest.raises(ScenarioError, match=r"^action: 9 is not in Discrete\(8, start=1\)$"):
        env.step(9)
    env.step(8)  # it goes on


def test_what_the_guest_refuses_is_told_and_the_run_goes_on(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make(CHAIN, gym.LossRate("n0", "n1"))
    env.reset(seed=1)
    decided = np.array([0.5])
    with monkeypatch.context() as patch:
        wrong = requests.Lose(src="n0", dst="n7", rate=0.5)
        patch.setattr(gym.LossRate, "request", lambda self, value: wrong)
        with pytest.raises(ScenarioError, match=r'^"n7": no station of this name has a radio$'):
            env.step(decided)
    assert env.step(decided)[4]["t_s"] == 1.0


def test_a_run_that_is_left_ends_and_one_of_an_agent_is_not_verified(
    make: Make, tmp_path: Path
) -> None:
    env = make(PAIR, gym.Window("f"), set={"duration_s": 2}, folder=tmp_path)
    env.reset(seed=1)
    env.step(1)
    play(env, [2, 3])
    left = reader.load(tmp_path / "0001").manifest
    assert left.verdict.error == "the agent left"
    (tmp_path / "0002" / "decisions.json").unlink()
    with pytest.raises(ResultsError, match=r"an agent took part in it, and no decisions.json says"):
        again.verify(tmp_path / "0002", print)


def test_a_run_of_an_agent_is_repeated_by_its_decisions(make: Make, tmp_path: Path) -> None:
    """Of several kinds, also one that branched with a seed of its own. Others give other runs."""
    actions = {"window": gym.Window("f", 1, 8), "up": gym.Up("n3"), "goes": gym.Goes("f")}
    env = make(CHAIN, actions, folder=tmp_path)
    env.reset(seed=1)
    for window in (8, 4, 2):
        env.step({"window": window, "up": 1, "goes": 1})
    other = env.branch(seed=2)
    for one in (env, other):
        for up in (0, 1, 1):
            done = one.step({"window": 8, "up": up, "goes": 1})
        assert again.verify(Path(done[4]["folder"]), print) == done[4]["digest"]
    other.close()
    pack, own = tmp_path / "run.tar.zst", reader.load(tmp_path / "0001").manifest
    artifact.write(tmp_path / "0001", pack)
    assert again.verify(pack, print, given=True) == own.digest
    path = tmp_path / "0001-branch1" / "decisions.json"
    path.write_text(path.read_text().replace('"seed": 2', '"seed": 3'))
    with pytest.raises(NotReproduced):
        again.verify(tmp_path / "0001-branch1", print)
