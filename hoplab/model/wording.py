# SPDX-License-Identifier: Apache-2.0
"""Pydantic's errors in the words of a scenario: tables, lists, whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

UNION = "~"
"""Begins a name that distinguishes members of a union. It is no part of a key's path."""
EXPECTED = {
    "string": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "deque": "a list",
    "iterable": "a list",
    "dict": "a table",
    "mapping": "a table",
    "model": "a table",
    "model_attributes": "a table",
    "dataclass": "a table",
}
"""What a kind of error that ends with ``_type`` expects."""
WORDS = {
    "missing": "missing; every such table needs it",
    "extra_forbidden": "unknown key",
    "greater_than": "should be greater than {gt}",
    "greater_than_equal": "should be greater than or equal to {ge}",
    "less_than": "should be less than {lt}",
    "less_than_equal": "should be less than or equal to {le}",
    "multiple_of": "should be a multiple of {multiple_of}",
    "finite_number": "should be a finite number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_parsing_size": "should be a whole number of fewer digits",
    "float_parsing": "should be a number",
    "bool_parsing": "should be true or false",
    "too_short": "should have at least {min_length} entries, not {actual_length}",
    "too_long": "should have at most {max_length} entries, not {actual_length}",
    "string_too_short": "should have at least {min_length} characters",
    "string_too_long": "should have at most {max_length} characters",
    "string_pattern_mismatch": "should have the form {pattern} (a regular expression)",
    "string_unicode": "should be UTF-8 text",
    "string_not_ascii": "should be of ASCII characters",
    "literal_error": "should be {expected}",
    "enum": "should be {expected}",
    "none_required": "should be left out",
    "invalid_key": "should have a text as its key",
    "json_invalid": "is not JSON: {error}",
    "json_type": "is not JSON",
    "recursion_loop": "is nested without end",
    "recursion_depth_exceeded": "is nested too deeply",
    "value_error": "{error}",
    "assertion_error": "{error}",
}
"""What is said of an error, by its kind."""
OTHERWISE = "is not of the form that this key takes"
TAG = re.compile(
    rf"{UNION}|(function|constrained|lax|json|nullable|is)-|[a-z]+[\[(]"
    r"|(int|float|str|bool|none|tuple|list|dict)$"
)
"""A part of an error's place that is no key: a form of a value that has several."""
CHOICE = "choice"
"""The kind of an error that a model of ours raises in its own words."""
KEY = "[key]"
"""A part of an error's place that says that the key itself is wrong."""


def worded(error: ValidationError) -> list[dict[str, Any]]:
    """Return the mistakes of a document. Each has its place ``loc``, which holds keys and numbers
    only, ``msg`` in our words, ``input``, ``type`` and ``ctx``.

    Of a value that has none of its forms there is one, with all forms.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    models = _models()
    for item in error.errors(include_url=False):
        loc = item["loc"]
        tags = [i for i, part in enumerate(loc) if _is_tag(part, models)]
        of = ("union", *loc[: tags[0]]) if tags else ("alone", *loc, len(groups))
        one = {
            **item,
            "loc": tuple(part for part in loc if part != KEY and not _is_tag(part, models)),
            "msg": item["msg"] if item["type"] == CHOICE else _said(item),
        }
        groups.setdefault(of, []).append(one)
    found = [one for group in groups.values() for one in _joined(group)]
    # A list whose entries are wrong counts as shorter.
    inner = {one["loc"][:-1] for one in found}
    return [one for one in found if one["type"] != "too_short" or one["loc"] not in inner]


def _is_tag(part: Any, models: set[str]) -> bool:
    return isinstance(part, str) and (TAG.match(part) is not None or part in models)


def _models() -> set[str]:
    """Return the names of all models, which stand for a table among other forms."""
    from pydantic import BaseModel  # which has raised the error

    found, left = set(), [BaseModel]
    while left:
        of = left.pop().__subclasses__()
        found |= {one.__name__ for one in of}
        left += of
    return found


def _said(item: Mapping[str, Any]) -> str:
    if item["type"] == "missing" and isinstance(item["loc"][-1], int):
        return "missing; the list is too short"
    return said(str(item["type"]), item.get("ctx", {}))


def said(kind: str, context: Mapping[str, Any]) -> str:
    """Return what is said of an error of Pydantic's of this kind."""
    expected = EXPECTED.get(kind.removesuffix("_type")) if kind.endswith("_type") else None
    if expected is not None:
        return f"should be {expected}"
    # A limit is written as a person does: 0, not 0.0.
    plain = {
        k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in context.items()
    }
    told = WORDS.get(kind, OTHERWISE).format(**plain)
    return re.sub(r"\b1 entries\b", "1 entry", re.sub(r"\b1 characters\b", "1 character", told))


def _joined(group: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Return a mistake for the forms that a value does not have. If it has one of them, the
    mistakes inside this form tell more."""
    forms = [one for one in group if one["type"].endswith("_type")]
    inside = [one for one in group if one not in forms or len(one["loc"]) > _least(group)]
    if inside:
        return inside
    names = list(dict.fromkeys(one["msg"].removeprefix("should be ") for one in forms))
    return [{**forms[0], "msg": "should be " + " or ".join(names)}]


def _least(group: list[dict[str, Any]]) -> int:
    return min(len(one["loc"]) for one in group)
