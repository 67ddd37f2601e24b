# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of a scenario: those whose search may take endless time are refused.

`re` tries one way after the other to divide a text among repetitions. A repetition of what itself
has several ways has exponentially many ways: ``(a+)+b`` needs 2**n steps for n times ``a``. An
atomic group ``(?>…)`` keeps the first way, so it may be repeated.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

FEW, FEW_WAYS = 8, 4
"""A repetition of at most so many times may hold repetitions with so many further ways."""
REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
CLOSED = ("ATOMIC_GROUP", "POSSESSIVE_REPEAT", "ASSERT", "ASSERT_NOT")
"""What is inside keeps its first way."""

parser: Any = importlib.import_module("re._parser")
"""The standard library's own, which has no documented way in."""


def fault(expression: str) -> str | None:
    """Return why it cannot be searched for, or None if it can."""
    try:
        re.compile(expression)
        tree = parser.parse(expression)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    if _explodes(tree, 1):
        return (
            "repeats what has several ways to match, so a search may take endless time; "
            "make what it repeats atomic, as in '(?>a+)+b' for '(a+)+b'"
        )
    return None


def _explodes(tree: Any, times: int) -> bool:
    """Whether a part that is repeated up to ``times`` has several ways."""
    return any(_has_ways(str(kind), found, times) for kind, found in tree)


def _has_ways(kind: str, found: Any, times: int) -> bool:
    if kind in REPEATS:
        least, most, inner = found
        if times > 1 and most - least > (FEW_WAYS if times <= FEW else 0):
            return True
        return _explodes(inner, times * most)
    if kind == "BRANCH":
        choices = found[1]
        beginnings = [_first(choice) for choice in choices]
        distinct = None not in beginnings and len({*beginnings}) == len(choices)
        return (times > 1 and not distinct) or any(_explodes(c, times) for c in choices)
    if kind in CLOSED:
        return _explodes(found if kind == "ATOMIC_GROUP" else found[-1], 1)
    if kind == "SUBPATTERN":
        return _explodes(found[-1], times)
    if kind == "GROUPREF_EXISTS":
        return any(_explodes(choice, times) for choice in found[1:] if choice is not None)
    return False


def _first(choice: Any) -> int | None:
    """Return the letter with which a choice begins, if it can begin with no other."""
    kind, found = choice[0] if len(choice) else ("", None)
    return found if str(kind) == "LITERAL" else None
