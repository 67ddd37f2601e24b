# SPDX-License-Identifier: Apache-2.0
"""All mistakes of a scenario at once, where a check alone would end with the first."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resolve.file import MOST_MISTAKES, first, parse
from hoplab.model.resolve.resolve import Walk, no_walk, resolve

ENTRIES = ("flow", "event", "loss", "program")
"""Lists of tables on whose entries no other table depends."""
DECISIVE = ("protocol", "kind")
"""Keys of an entry that decide which others it may have."""
SHOWN = re.compile(rf"({'|'.join(ENTRIES)}|measure)\.")
ENTRY = re.compile(rf"({'|'.join(ENTRIES)})\.(\d+)\b")


def load(
    document: dict[str, Any], source: str, folder: Path = Path(), walk: Walk = no_walk
) -> Resolved:
    """Validate and resolve a document. Raises `ScenarioError` with a line for each mistake, also
    for those between tables beside invalid keys."""
    try:
        scenario = parse(document, source)
    except ScenarioError as error:
        told = str(error).splitlines()
        cause = error.__context__
        if isinstance(cause, ValidationError) and len(told) <= MOST_MISTAKES:
            told += _beside(document, cause, lambda one: resolve(parse(one, ""), folder, walk))
            told = list(dict.fromkeys(told))
            told = first(told, len(told), source)
        raise ScenarioError("\n".join(told)) from None
    return resolve(scenario, folder, walk)


def _beside(
    document: dict[str, Any], error: ValidationError, check: Callable[[dict[str, Any]], object]
) -> list[str]:
    """Return the mistakes of a document without its invalid keys, if these are of `ENTRIES`."""
    places = [item["loc"] for item in error.errors(include_url=False)]
    if any(len(place) < 2 or place[0] not in ENTRIES for place in places):
        return []
    missing = {item["loc"][:2] for item in error.errors() if item["type"] == "missing"}
    keys = {place[:3] for place in places if len(place) > 2 and place[2] not in DECISIVE}
    whole = {place[:2] for place in places if place[:3] not in keys} | missing
    for dropped in (whole, {place[:2] for place in places}):
        rest, numbers = _without(document, keys, dropped)
        try:
            check(rest)
        except ScenarioError as other:
            if isinstance(other.__context__, ValidationError):
                continue  # a key that is valid beside the one which was left out
            lines = str(other).splitlines()
            return [_renumbered(line, numbers) for line in lines if SHOWN.match(line)]
        break
    return []


def _without(
    document: dict[str, Any], keys: set[Any], entries: set[Any]
) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Return a document without keys and entries, and the entries' numbers in the whole one."""
    rest, numbers = dict(document), {}
    for name in ENTRIES:
        tables = document.get(name, [])
        numbers[name] = [i for i in range(len(tables)) if (name, i) not in entries]
        rest[name] = [copy.deepcopy(tables[i]) for i in numbers[name]]
        for i, table in zip(numbers[name], rest[name], strict=True):
            for key in [key for key in table if (name, i, key) in keys]:
                del table[key]
    return rest, numbers


def _renumbered(line: str, numbers: dict[str, list[int]]) -> str:
    return ENTRY.sub(lambda m: f"{m[1]}.{numbers[m[1]][int(m[2])]}", line, count=1)
