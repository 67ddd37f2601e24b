# SPDX-License-Identifier: Apache-2.0
"""Learn two windows at hidden terminals: ``python experiments/agent/window.py [PICTURE]``.

Stations a and c send to b and do not hear each other, so their frames collide there. With windows
of 8 segments one flow takes the channel and the other one's timer grows. With windows of 1 both
send, at a third of the rate. Here an agent learns, by Q-learning (Watkins 1989) with a table, which
flow may have how much when. Its reward is the sum of the logarithms of both rates, smoothed
(proportional fairness, Kelly 1997). docs/howto/agent.md explains it.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib
import numpy as np

from hoplab import gym

matplotlib.use("svg")
import matplotlib.pyplot as plt

SCENARIO = Path(__file__).parents[1] / "lessons" / "hidden-terminals.toml"
FLOWS = ("from-a", "from-c")
RATES = [f"tcp.{flow}.delivered_bytes/s" for flow in FLOWS]
CHOICES = ((1, 1), (8, 1), (1, 8), (8, 8))
"""Segments of the two windows."""
EPISODES, EPISODE_S, STEP_S = 24, 200, 2.0
SMOOTHED = 0.1
"""Share of a step in the smoothed rate."""
BINS = np.array([0.25, 0.4, 0.6, 0.75])
STATES = ("a far behind", "a behind", "even", "c behind", "c far behind")
"""By the first flow's share of both rates."""
LEARN, DISCOUNT = 0.2, 0.9
TEST_SEEDS = range(5000, 5005)
EXPLORE_FIRST, EXPLORE_LAST = 0.5, 0.02
LEAST_KBPS = 1.0

Figures = np.ndarray[Any, np.dtype[np.float64]]
Policy = Callable[[int], int]
Learner = Callable[[int, int, float, int], None]


class Windows(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Observes which flow is ahead; an action is one of `CHOICES`; rewards fairness."""

    def __init__(self) -> None:
        flows = {flow: gym.Window(flow, 1, 8) for flow in FLOWS}
        super().__init__(
            gymnasium.make(
                "hoplab/Scenario-v0",
                scenario=SCENARIO,
                set={"duration_s": EPISODE_S},
                step_s=STEP_S,
                action=flows,
                observe=RATES,
            )
        )
        self.observation_space = gymnasium.spaces.Discrete(len(BINS) + 1)
        self.action_space = gymnasium.spaces.Discrete(len(CHOICES))
        self.smoothed = np.full(2, LEAST_KBPS)

    def reset(self, **options: object) -> tuple[int, dict[str, object]]:
        _, info = self.env.reset(**options)  # type: ignore[arg-type]
        self.smoothed = np.full(2, LEAST_KBPS)
        return self._state(), info

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
        chosen = dict(zip(FLOWS, CHOICES[action], strict=True))
        seen, _, over, cut, info = self.env.step(chosen)
        kbps = np.array([float(seen[rate][0]) * 8e-3 for rate in RATES])
        self.smoothed = (1 - SMOOTHED) * self.smoothed + SMOOTHED * kbps
        reward = float(np.log(np.maximum(self.smoothed, LEAST_KBPS)).sum())
        return self._state(), reward, over, cut, info | {"kbps": kbps}

    def branch(self) -> Windows:
        """Return an environment that goes on from here by itself, to look ahead."""
        scenario = self.unwrapped
        assert isinstance(scenario, gym.ScenarioEnv)
        made = copy.copy(self)
        made.env, made.smoothed = scenario.branch(), self.smoothed.copy()
        return made

    def _state(self) -> int:
        return int(np.digitize(self.smoothed[0] / self.smoothed.sum(), BINS))


def played(env: Windows, seed: int, policy: Policy, learn: Learner | None = None) -> Figures:
    """One episode: its mean reward, both flows' rates in kbit/s, and the lower one."""
    state, _ = env.reset(seed=seed)
    rewards, rates, cut = [], [], False
    while not cut:
        action = policy(state)
        after, reward, _, cut, info = env.step(action)
        if learn is not None:
            learn(state, action, reward, after)
        state = after
        rewards.append(reward)
        rates.append(info["kbps"])
    kbps = np.mean(np.array(rates), axis=0)
    return np.array([np.mean(rewards), *kbps, kbps.min()])


def trained(env: Windows, seed: int) -> tuple[Figures, Figures]:
    """What every episode came to, and the table of values."""
    chance = np.random.default_rng(seed)
    values = np.zeros((len(BINS) + 1, len(CHOICES)))
    found = []

    def learn(state: int, action: int, reward: float, after: int) -> None:
        aim = reward + DISCOUNT * values[after].max()
        values[state, action] += LEARN * (aim - values[state, action])

    for episode in range(EPISODES):
        done = episode / (EPISODES - 1)
        explore = EXPLORE_FIRST + (EXPLORE_LAST - EXPLORE_FIRST) * done

        def policy(state: int, explore: float = explore) -> int:
            if chance.random() < explore:
                return int(chance.integers(len(CHOICES)))
            return int(values[state].argmax())

        found.append(played(env, 1000 * seed + episode, policy, learn))
        print(f"episode {episode + 1}: {told(found[-1])}", flush=True)
    return np.array(found), values


def always(choice: int) -> Policy:
    """One of `CHOICES`, whatever is seen."""
    return lambda state: choice


def judged(env: Windows, policy: Policy) -> Figures:
    """What a policy comes to over seeds that nobody has learned from."""
    found: Figures = np.array([played(env, seed, policy) for seed in TEST_SEEDS])
    return np.asarray(found.mean(axis=0))


def told(found: Figures) -> str:
    """What an episode came to, in words."""
    reward, a, c, lower = found
    return f"reward {reward:.2f}, {a:.0f} and {c:.0f} kbit/s, the lower one {lower:.0f}"


def draw(curve: Figures, fixed: dict[str, Figures], picture: Path) -> None:
    """The curve of learning beside what windows that stay come to."""
    plt.rcParams["svg.hashsalt"] = "hoplab"
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 6))
    episodes = np.arange(1, len(curve) + 1)
    above.plot(episodes, curve[:, 0], marker="o", label="the agent")
    below.plot(episodes, curve[:, 1], marker="o", label="a, the agent")
    below.plot(episodes, curve[:, 2], marker="s", label="c, the agent")
    for (name, found), style in zip(fixed.items(), ("--", ":"), strict=True):
        above.axhline(found[0], color="black", linestyle=style, label=name)
        below.axhline(found[3], color="black", linestyle=style, label=f"the lower one, {name}")
    above.set_ylabel("mean reward")
    below.set_ylabel("kbit/s")
    below.set_xlabel(f"episode of {EPISODE_S} s")
    for axes in (above, below):
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    """Learn, compare with windows that stay, and draw."""
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "window-learned.svg")
    env = Windows()
    begun = time.monotonic()
    curve, values = trained(env, seed=1)
    print(f"trained in {time.monotonic() - begun:.0f} s")
    best = [int(row.argmax()) for row in values]
    for state, choice in zip(STATES, best, strict=True):
        print(f"{state}: windows {CHOICES[choice]}")
    fixed = {
        "windows 1": judged(env, always(CHOICES.index((1, 1)))),
        "windows 8": judged(env, always(CHOICES.index((8, 8)))),
    }
    learned = judged(env, best.__getitem__)
    for name, found in (*fixed.items(), ("learned", learned)):
        print(f"{name}: {told(found)}")
    env.close()
    draw(curve, fixed, picture)


if __name__ == "__main__":
    main()
