# SPDX-License-Identifier: Apache-2.0
"""Refuse a name that nothing has, and one that two stations have."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable

from hoplab.model.errors import ScenarioError


def known(name: str | None, key: str, names: Iterable[str], what: str = "station") -> None:
    """Raise `ScenarioError` if ``name``, the value of ``key``, is none of ``names``."""
    names = list(names)
    if name is None or name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "none"
    raise ScenarioError(f"{key}: no {what} {name!r}{hint}; there are: {shown}")


def named_once(names: list[str]) -> None:
    """Raise `ScenarioError` if two stations have one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise ScenarioError(f"station: the name {name!r} is given twice")
