# SPDX-License-Identifier: Apache-2.0
"""Hoplab: how real TCP behaves over wireless multi-hop networks, repeatable to the byte.

In Python: `hoplab.front.api`, whose names are this package's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hoplab.front.api import (
        DaemonDied,
        GuestFailed,
        HoplabError,
        MissingTool,
        NotReproduced,
        ResultsError,
        Run,
        Scenario,
        ScenarioError,
        load,
        run,
    )

__all__ = [
    "DaemonDied",
    "GuestFailed",
    "HoplabError",
    "MissingTool",
    "NotReproduced",
    "ResultsError",
    "Run",
    "Scenario",
    "ScenarioError",
    "load",
    "run",
]


def __getattr__(name: str) -> Any:
    """Names of the API, when one is asked for: the lab in a guest does without them."""
    if name in __all__:
        # By name: what a module imports goes into the guest.
        return getattr(importlib.import_module("hoplab.front.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
