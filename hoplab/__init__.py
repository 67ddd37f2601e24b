# SPDX-License-Identifier: Apache-2.0
"""Hoplab: how real TCP behaves over wireless multi-hop networks, repeatable to the byte.

What programs use is here, wherever it lives: runs and scenarios (`hoplab.front.api`), tables
(``hoplab.results``), many runs (``hoplab.sweep``) and agents (``hoplab.gym``, with Gymnasium).
``hoplab.assert_faster`` judges in tests, and ``hoplab.record`` is for scripts of Mininet-WiFi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hoplab.front import agents as gym
    from hoplab.front import sweeps as sweep
    from hoplab.front.api import Run, load, run
    from hoplab.front.mininet import record
    from hoplab.front.testing.judge import assert_faster, assert_within
    from hoplab.host import results
    from hoplab.model.errors import (
        DaemonDied,
        Damaged,
        GuestFailed,
        HoplabError,
        MissingTool,
        NotReproduced,
        ResultsError,
        ScenarioError,
    )
    from hoplab.model.keys.scenario import Scenario

__all__ = [
    "DaemonDied",
    "Damaged",
    "GuestFailed",
    "HoplabError",
    "MissingTool",
    "NotReproduced",
    "ResultsError",
    "Run",
    "Scenario",
    "ScenarioError",
    "assert_faster",
    "assert_within",
    "gym",
    "load",
    "record",
    "results",
    "run",
    "sweep",
]

_MODULES = {
    "gym": "hoplab.front.agents",
    "results": "hoplab.host.results",
    "sweep": "hoplab.front.sweeps",
}
_HOMES = {
    **dict.fromkeys(("Run", "load", "run"), "hoplab.front.api"),
    **dict.fromkeys(("assert_faster", "assert_within"), "hoplab.front.testing.judge"),
    "Scenario": "hoplab.model.keys.scenario",
    "record": "hoplab.front.mininet",
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use (PEP 562). Arrow and Plotly take half a second to
    import, which a command such as ``hoplab --version`` does not need."""
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in __all__:
        return getattr(importlib.import_module(_HOMES.get(name, "hoplab.model.errors")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
