# SPDX-License-Identifier: Apache-2.0
"""Agents that decide while a run goes on: ``hoplab.gym``, an environment of Gymnasium's.

    import gymnasium
    from hoplab import gym

    env = gymnasium.make("hoplab/Scenario-v0", scenario="demo.toml", action=gym.Window("flow0"))
    observation, info = env.reset(seed=1)

`pip install hoplab[gym]` installs Gymnasium, which nothing else of Hoplab imports. Importing this
package registers the environment's name.
"""

from __future__ import annotations

from hoplab.model.errors import MissingTool

try:
    import gymnasium
except ImportError:
    raise MissingTool(
        "hoplab.gym: gymnasium is missing; install it with 'pip install hoplab[gym]'"
    ) from None

from hoplab.front.agents.actions import (
    Action,
    Goes,
    LossRate,
    Mcs,
    NextHop,
    Place,
    Rate,
    TransmitPower,
    Up,
    Window,
)
from hoplab.front.agents.env import ScenarioEnv

__all__ = [
    "Action",
    "Goes",
    "LossRate",
    "Mcs",
    "NextHop",
    "Place",
    "Rate",
    "ScenarioEnv",
    "TransmitPower",
    "Up",
    "Window",
]

NAME = "hoplab/Scenario-v0"
if NAME not in gymnasium.registry:
    gymnasium.register(NAME, entry_point="hoplab.front.agents.env:ScenarioEnv")
