# SPDX-License-Identifier: Apache-2.0
"""What the readers of movement files share."""

from __future__ import annotations

import math

from hoplab.errors import ScenarioError

SHOWN = 60
"""Characters of a file's own words in a message."""


def finite(word: str, where: str) -> float:
    """A finite number; raises `ScenarioError` that names ``where`` and the word."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ScenarioError(f"{where}: {word[:SHOWN]!r}; expected a number") from None
    return value
