# SPDX-License-Identifier: Apache-2.0
"""Read a scenario from TOML, apply overrides, and report each mistake in one line."""

from __future__ import annotations

import difflib
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import NestedMistakes, Scenario
from hoplab.model.reading import MAX_BYTES, read_text
from hoplab.model.wording import worded

S = typing.TypeVar("S", bound=Scenario)

MOST_MISTAKES = 10
MOST_NAMES = 50
ELSEWHERE = {
    "power_save": "only clients of a [[cell]] doze; mac80211 saves no power in ad hoc networks "
    "(ATIM), and Hoplab none in meshes; remove it, or set cell.power_save",
}
"""What is said of a key that has no meaning where it stands."""
LONGEST_VALUE = 200
MOST_PARTS = 20
"""Parts of a key such as flow.0.window, and levels of nested tables."""
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}[ \t]*+\.[ \t]*+){{200}}")
"""A dotted key that would take TOML's reader far too long. No key, text or number of a scenario has
this form."""
SWEEPS_OWN = ("axis", "grid", "seeds", "leave_out", "stop_when", "scenario")
"""Keys that identify a sweep's file."""
UNWRAPPED = (tuple, list, typing.Union, types.UnionType, typing.Annotated)


def load(path: Path, overrides: typing.Sequence[str] = ()) -> Scenario:
    """Read and validate ``path``; ``overrides`` are ``path.to.key=value`` with TOML values.

    Raises `ScenarioError` with one line per mistake.
    """
    document = read(path)
    for one in overrides:
        override(document, one)
    return parse(document, str(path))


def read(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file, not validated. Raises `ScenarioError` if it is none."""
    text = read_text(path, MAX_BYTES, "a TOML file")
    return _toml(text, str(path))


def parse(document: dict[str, Any], source: str) -> Scenario:
    """Validate a document that was read before; errors name ``source``."""
    return _parsed(document, source, Scenario)


def parse_resolved(document: dict[str, Any], source: str) -> Resolved:
    """Validate a resolved scenario, as a run's `scenario.json` is; errors name ``source``."""
    return _parsed(document, source, Resolved)


def _parsed(document: dict[str, Any], source: str, table: type[S]) -> S:
    own = [key for key in SWEEPS_OWN if key in document]
    if own:
        raise ScenarioError(
            f"{source}: is a sweep, not a scenario: it has the key {own[0]!r}; "
            f"use 'hoplab sweep {source}'"
        )
    try:
        return table.model_validate(document)
    except ValidationError as error:
        raise ScenarioError(told(error, source, table)) from None


def told(error: ValidationError, source: str, root: type[BaseModel] = Scenario) -> str:
    """Return a line for each of the first mistakes in a ``root``, and the number of the others."""
    lines = []
    items = worded(error)
    for item in items:
        nested = item.get("ctx", {}).get("error")
        if isinstance(nested, NestedMistakes):
            above = (*item["loc"], nested.name)
            lines += [_describe(one, nested.table, above) for one in worded(nested.error)]
        else:
            lines.append(_describe(item, root))
        if len(lines) > MOST_MISTAKES:
            break
    lines = [f"{source}: {line}" for line in lines]
    return "\n".join(first(lines, max(len(items), len(lines)), source))


def first(lines: list[str], count: int, source: str) -> list[str]:
    """Return the first of the lines, and one with the number of the others of ``count``."""
    shown = lines[:MOST_MISTAKES]
    more = count - len(shown)
    return [*shown, f"{source}: and {more} more"] if more > 0 else shown


def _toml(text: str, source: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):
        raise ScenarioError(f"{source}: not valid TOML: a key of too many parts")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{source}: not valid TOML: {_short(str(error))}") from None
    except ValueError:
        raise ScenarioError(f"{source}: not valid TOML: a number of too many digits") from None
    except RecursionError:
        raise ScenarioError(f"{source}: not valid TOML: nested too deeply") from None
    if _is_deeper(document, 2 * MOST_PARTS):
        raise ScenarioError(f"{source}: is nested more than {2 * MOST_PARTS} deep; no scenario is")
    return document


def _is_deeper(value: Any, limit: int) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return limit == 0 or any(_is_deeper(part, limit - 1) for part in value)


def _short(text: str) -> str:
    """Return one line of the text, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else line[:LONGEST_VALUE] + "…"


def override(document: dict[str, Any], given: str, option: str = "--set") -> None:
    """Set one ``path.to.key=value``; list elements are named by index: ``flow.0.window=8``."""
    path, equals, text = given.partition("=")
    if not equals:
        raise ScenarioError(f"{option} {given}: expected path.to.key=value")
    try:
        value = _toml(f"value = {text}", f"{option} {path}")["value"]
    except ScenarioError:
        value = text  # a bare word: --set routing.protocol=dsr
    assign(document, path.strip(), value, f"{option} {given}")


def assign(document: dict[str, Any], path: str, value: Any, source: str) -> None:
    """Set the key at ``path.to.key`` of a document; errors name ``source``."""
    keys = path.split(".")
    if not all(keys):
        raise ScenarioError(f"{source}: expected path.to.key=value")
    if len(keys) > MOST_PARTS:
        raise ScenarioError(
            f"{_short(source)}: a key of {len(keys)} parts; expected at most {MOST_PARTS}, "
            "such as flow.0.window"
        )
    place: Any = document
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(place, list):
            if not (key.isascii() and key.isdigit()) or int(key) >= len(place):
                there = f"index 0 to {len(place) - 1}" if len(place) > 1 else "index 0 only"
                raise ScenarioError(
                    f"{source}: {'.'.join(keys[:depth])} has {there}; got {key!r}"
                    if place
                    else f"{source}: {'.'.join(keys[:depth])} has no entry; got {key!r}"
                )
            if last:
                place[int(key)] = value
            else:
                place = place[int(key)]
        elif isinstance(place, dict):
            if last:
                place[key] = value
            else:
                place = place.setdefault(key, {})
        else:
            raise ScenarioError(f"{source}: {'.'.join(keys[:depth])} is not a table")


def _describe(error: Any, root: type[BaseModel], above: tuple[str | int, ...] = ()) -> str:
    """Return one line for a pydantic error: key, value, allowed values, nearest spelling. The table
    ``root`` is ``above`` in the document."""
    location = error["loc"]
    key = _short(".".join(str(part) for part in (*above, *location))) or "scenario"
    value = error["input"]
    kind = error["type"]
    if kind == "extra_forbidden" and location[-1] in ELSEWHERE:
        return f"{key}: {ELSEWHERE[location[-1]]}"
    if kind == "extra_forbidden":
        fields = _table_at(root, location[:-1]).model_fields
        allowed = sorted(field.alias or name for name, field in fields.items())
        return f"{key}: unknown key{_nearest(str(location[-1]), allowed)}; allowed: " + ", ".join(
            allowed[:MOST_NAMES] + ["…"] * (len(allowed) > MOST_NAMES)
        )
    if kind == "literal_error":
        expected = error["ctx"]["expected"]
        options = [option.strip("' ") for option in expected.replace(" or ", ",").split(",")]
        return f"{key}: {_shown(value)} is not allowed{_nearest(str(value), options)}; one of: " + (
            ", ".join(option for option in options if option)
        )
    message = str(error["msg"])
    if kind in ("missing", "value_error"):
        return f"{key}: {message}"
    shown = "" if isinstance(value, dict | list | tuple) else f"{_shown(value)} "
    return f"{key}: {shown}{_short(message)}"


def _shown(value: object) -> str:
    """Return the value as the user wrote it. A number of thousands of digits cannot even be
    printed."""
    try:
        return _short(repr(value))
    except ValueError:
        return "a number of too many digits"


def _nearest(word: str, allowed: typing.Sequence[str]) -> str:
    match = difflib.get_close_matches(word[:LONGEST_VALUE], allowed, n=1)
    return f" (did you mean {match[0]!r}?)" if match else ""


def _table_at(root: type[BaseModel], location: typing.Sequence[str | int]) -> type[BaseModel]:
    """Return the model to which a location in the document belongs."""
    model = root
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in UNWRAPPED:
        for argument in typing.get_args(annotation):
            found = _model_in(argument)
            if found is not None:
                return found
    return None
