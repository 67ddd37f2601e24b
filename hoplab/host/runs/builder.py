# SPDX-License-Identifier: Apache-2.0
"""The builder of a scenario's network in the lab's place, and its description for a lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hoplab.model.errors import MissingTool
from hoplab.model.keys.resolved import Resolved


@dataclass(frozen=True)
class Builder:
    """A program of others. ``environment`` says where it is. A guest needs ``folders`` beside its
    own. Empty if the lab itself builds."""

    environment: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.environment)


NOBODY = Builder()
Find = Callable[[Resolved], Builder]
"""Finds the builder that a scenario names."""


def none_here(scenario: Resolved) -> Builder:
    """Find no builder: raises `MissingTool`. The command line and the Python interface pass a
    function that finds one."""
    raise MissingTool(
        f'network.built_by: "{scenario.network.built_by}" is not looked for here; use "hoplab run"'
    )
