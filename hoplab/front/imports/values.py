# SPDX-License-Identifier: Apache-2.0
"""Values out of files of others: each of the kind that is wanted, or one line that says where."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hoplab.front.imports.network import plain
from hoplab.model.errors import ScenarioError
from hoplab.model.movement.words import finite
from hoplab.model.reading import read_text

MAX_BYTES = 16 << 20


def json_of(path: Path) -> Any:
    """Return a file's JSON value. Raises `ScenarioError` for what is none."""
    text = read_text(path, MAX_BYTES, "a JSON file")
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ScenarioError(f"{path}: is nested too deeply; expected a network") from None
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}; expected JSON") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def table(value: object, where: str) -> dict[str, Any]:
    """Return ``value`` if it is an object, or raise `ScenarioError`."""
    if isinstance(value, dict):
        return value
    raise ScenarioError(f"{where}: {_told(value)}; expected an object")


def entries(value: object, where: str) -> list[Any]:
    """Return ``value`` if it is a list, or raise `ScenarioError`."""
    if isinstance(value, list):
        return value
    raise ScenarioError(f"{where}: {_told(value)}; expected a list")


def number(value: object, where: str) -> float:
    """Return a finite number, also of a text that is one, or raise `ScenarioError`."""
    if isinstance(value, str):
        return finite(value, where)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
        try:
            return float(value)
        except OverflowError:
            pass
    raise ScenarioError(f"{where}: {_told(value)}; expected a number")


def text(value: object, where: str) -> str:
    """Return a text, or a whole number as one, or raise `ScenarioError`."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return plain(value)
    raise ScenarioError(f"{where}: {_told(value)}; expected a text")


def _told(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return repr(plain(value))
