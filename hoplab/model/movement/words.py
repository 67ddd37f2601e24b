# SPDX-License-Identifier: Apache-2.0
"""Functions that the readers of movement files share."""

from __future__ import annotations

import math
import re

from hoplab.model.errors import ScenarioError

SHOWN = 60
"""Characters of a file's own text in a message."""
NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
"""A number as all tools write it. Python itself would also take 1_0 and the digits of other
scripts."""


def finite(word: str, where: str) -> float:
    """Return a finite number. Raises `ScenarioError` that names ``where`` and the word."""
    value = float(word) if NUMBER.fullmatch(word) else math.nan
    if not math.isfinite(value):
        raise ScenarioError(f"{where}: {word[:SHOWN]!r}; expected a number")
    return value
