# SPDX-License-Identifier: Apache-2.0
"""Read a scenario from TOML, apply overrides, and say what is wrong in one line each."""

from __future__ import annotations

import difflib
import tomllib
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from hoplab.errors import ScenarioError
from hoplab.scenario.model import Scenario


def load(path: Path, overrides: typing.Sequence[str] = ()) -> Scenario:
    """Read and validate ``path``; ``overrides`` are ``path.to.key=value`` with TOML values.

    Raises `ScenarioError` with one line per mistake.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}; name a TOML file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; a scenario is a TOML file") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: not valid TOML: {error}") from None
    for override in overrides:
        _apply(document, override)
    return parse(document, str(path))


def parse(document: dict[str, Any], source: str) -> Scenario:
    """Validate a document that has been read already; ``source`` is named in errors."""
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        lines = [f"{source}: {_describe(item)}" for item in error.errors()]
        raise ScenarioError("\n".join(lines)) from None


def _apply(document: dict[str, Any], override: str) -> None:
    """Set one ``path.to.key=value``; list elements are named by index: ``flow.0.window=8``."""
    path, equals, text = override.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ScenarioError(f"--set {override}: expected path.to.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word: --set routing.protocol=dsr
    place: Any = document
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(place, list):
            if not key.isdigit() or int(key) >= len(place):
                raise ScenarioError(
                    f"--set {override}: {'.'.join(keys[:depth])} has {len(place)} entries, "
                    f"so the index must be 0 to {len(place) - 1}; got {key!r}"
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
            raise ScenarioError(f"--set {override}: {'.'.join(keys[:depth])} is not a table")


def _describe(error: Any) -> str:
    """One line for a pydantic error: key, value, what is allowed, nearest spelling."""
    location = [part for part in error["loc"] if part != "[key]"]
    key = ".".join(str(part) for part in location) or "scenario"
    value = error["input"]
    kind = error["type"]
    if kind == "extra_forbidden":
        allowed = sorted(_table_at(location[:-1]).model_fields)
        return f"{key}: unknown key{_nearest(str(location[-1]), allowed)}; allowed: " + ", ".join(
            allowed
        )
    if kind == "literal_error":
        expected = error["ctx"]["expected"]
        options = [option.strip("' ") for option in expected.replace(" or ", ",").split(",")]
        return f"{key}: {value!r} is not allowed{_nearest(str(value), options)}; one of: " + (
            ", ".join(option for option in options if option)
        )
    if kind == "missing":
        return f"{key}: missing; every such table needs it"
    if kind == "value_error":
        return f"{key}: {error['ctx']['error']}"
    message = error["msg"].replace("Input should", "should")
    shown = "" if isinstance(value, dict | list) else f"{value!r} "
    return f"{key}: {shown}{message}"


def _nearest(word: str, allowed: typing.Sequence[str]) -> str:
    match = difflib.get_close_matches(word, allowed, n=1)
    return f" (did you mean {match[0]!r}?)" if match else ""


def _table_at(location: typing.Sequence[str | int]) -> type[BaseModel]:
    """The model that a location in the document belongs to."""
    model: type[BaseModel] = Scenario
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (tuple, typing.Union, types.UnionType, list):
        for argument in typing.get_args(annotation):
            found = _model_in(argument)
            if found is not None:
                return found
    return None
