# SPDX-License-Identifier: Apache-2.0
"""Movement by the mobility models of Mininet-WiFi, which its own code computes."""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any

from hoplab.front.mininet.found import find
from hoplab.guest.mininet.surroundings import INSIDE, surroundings
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.keys.stations import Topology
from hoplab.model.movement.trace import Trace, Waypoint

STEP_S = 1.0
"""Time step in s of all its models."""
SPEED_UNIT_MPS = 0.1
"""Unit of its speeds (mn_wifi/mobility.py: `max_v / 10`)."""
LARGEST_SEED = 2**32 - 1
"""Largest seed of numpy.random.seed."""
LIMIT_S = 120.0


def walk(topology: Topology, duration_s: float, seed: int) -> dict[str, Trace]:
    """Return straight lines between the places of each second, of the stations n0, n1 and so on.

    Raises `MissingTool` without Mininet-WiFi, and `ScenarioError` if the model fails.
    """
    found = find()
    asked = {
        "model": topology.model,
        "stations": topology.stations,
        "steps": math.ceil(duration_s / STEP_S) + 1,
        "seed": seed % (LARGEST_SEED + 1),
        "limits": {
            "min_x": 0,
            "min_y": 0,
            "max_x": topology.width_m,
            "max_y": topology.height_m,
            "min_v": topology.min_speed_mps / SPEED_UNIT_MPS,
            "max_v": topology.max_speed_mps / SPEED_UNIT_MPS,
        },
    }
    try:
        done = subprocess.run(
            [found.python, str(INSIDE / "walk.py")],
            input=json.dumps(asked) + "\n",
            capture_output=True,
            text=True,
            env=surroundings(None if found.tree is None else str(found.tree)),
            timeout=LIMIT_S,
            check=True,
        )
        steps: list[list[list[float]]] = json.loads(done.stdout)
    except OSError as error:
        raise MissingTool(f"{found.python}: {error.strerror}") from None
    except (subprocess.SubprocessError, ValueError) as error:
        raise ScenarioError(
            f"topology.model: {topology.model}: Mininet-WiFi fails: {_last(error)}; choose another"
        ) from None
    return {
        f"n{i}": Trace(tuple(Waypoint(k * STEP_S, *step[i]) for k, step in enumerate(steps)))
        for i in range(topology.stations)
    }


def _last(error: Any) -> str:
    lines = str(getattr(error, "stderr", None) or error).strip().splitlines()
    return lines[-1] if lines else "it said nothing"
