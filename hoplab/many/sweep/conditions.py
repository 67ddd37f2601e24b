# SPDX-License-Identifier: Apache-2.0
"""Conditions on parameters: ``hops > 4 and variant == "vegas"``.

The grammar is Python's for comparisons, ``and``, ``or``, ``not``, ``in`` and arithmetic over
parameters, numbers and strings. A condition is parsed into a tree of the node types listed here.
Nothing of it is ever executed as Python.
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hoplab.model.errors import ScenarioError

COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
LONGEST = 1000
SHOWN = 200
DEEPEST = 50
MOST = 1000
"""Conditions that a sweep may have."""
WORDS = {"true": True, "false": False}
"""Names of TOML's truth values."""


class Condition:
    """A condition on the parameters of a combination."""

    def __init__(self, text: str, names: Collection[str], source: str) -> None:
        """If the text is no condition on ``names``, raises `ScenarioError`, which names
        ``source``."""
        self._text, self._source = text, source
        self._names = names
        try:
            if len(text) > LONGEST:
                raise SyntaxError(f"longer than {LONGEST} characters")
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise self._wrong(f"is no condition ({reason}); e.g. hops > 4") from None
        self._check(self._tree)

    def names(self) -> list[str]:
        """Return the parameters that it names, in their order."""
        found = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        return list(dict.fromkeys(name for name in found if name in self._names))

    def holds(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether it holds. A comparison with a parameter that the combination lacks is
        false."""
        try:
            return bool(self._value(self._tree, parameters))
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            if any(value is None for value in parameters.values()):
                return False
            raise self._wrong(f"cannot be decided: {error}") from None

    def _wrong(self, why: str) -> ScenarioError:
        text = self._text if len(self._text) <= SHOWN else self._text[:SHOWN] + "…"
        return ScenarioError(f"{self._source}: {text!r} {why}")

    def _check(self, node: ast.AST, depth: int = 1) -> None:
        if depth > DEEPEST:
            raise self._wrong(f"is nested more than {DEEPEST} deep; simplify it")
        if isinstance(node, ast.Name):
            if node.id not in self._names and node.id not in WORDS:
                near = difflib.get_close_matches(node.id, self._names, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise self._wrong(
                    f"names {node.id!r}, which is no parameter{hint}; "
                    f"there are: {', '.join(sorted(self._names)) or 'none'}"
                )
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
            return
        if isinstance(node, ast.BoolOp):
            parts: list[ast.AST] = list(node.values)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            parts = [node.operand]
        elif isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            parts = [node.left, node.right]
        elif isinstance(node, ast.List | ast.Tuple):
            parts = list(node.elts)
        else:
            raise self._wrong("may compare parameters, numbers and strings, join by and, or, not")
        for part in parts:
            self._check(part, depth + 1)

    def _value(self, node: ast.AST, of: Mapping[str, Any]) -> Any:
        match node:
            case ast.Name():
                return of.get(node.id) if node.id in self._names else WORDS[node.id]
            case ast.Constant():
                return node.value
            case ast.BoolOp(op=ast.And()):
                return all(self._value(part, of) for part in node.values)
            case ast.BoolOp():
                return any(self._value(part, of) for part in node.values)
            case ast.UnaryOp(op=ast.Not()):
                return not self._value(node.operand, of)
            case ast.UnaryOp():
                return -self._value(node.operand, of)
            case ast.BinOp():
                left, right = self._value(node.left, of), self._value(node.right, of)
                for one in (left, right):
                    if not isinstance(one, int | float):
                        raise TypeError(f"{_kind(one)} is no number")
                return ARITHMETIC[type(node.op)](left, right)
            case ast.Compare():
                left = self._value(node.left, of)
                for op, part in zip(node.ops, node.comparators, strict=True):
                    right = self._value(part, of)
                    if not COMPARISONS[type(op)](left, right):
                        return False
                    left = right
                return True
            case ast.List() | ast.Tuple():
                return [self._value(part, of) for part in node.elts]
        raise AssertionError(node)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a value that is not there"
