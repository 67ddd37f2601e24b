# SPDX-License-Identifier: Apache-2.0
"""Completion after ``--set``: the scenario's keys, and the values of keys with a list of values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hoplab.front.pages.keys import REFERENCE, SCHEMA


def overrides(incomplete: str) -> list[tuple[str, str]]:
    """Return ``path.to.key=`` and ``path.to.key=value`` that begin with ``incomplete``, each with
    the key's sentence. A shell does not know the length of lists. They get entry 0 and the entry
    being typed."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return [found for found in _keys(schema, schema, "", incomplete) if _fits(found, incomplete)]


def _fits(found: tuple[str, str], incomplete: str) -> bool:
    return found[0].startswith(incomplete)


def _keys(
    schema: dict[str, Any], table: dict[str, Any], before: str, incomplete: str
) -> Iterator[tuple[str, str]]:
    for name, declared in table.get("properties", {}).items():
        path = f"{before}{name}"
        inner = _table(schema, declared)
        entries = _table(schema, declared.get("items", {}))
        if inner is not None:
            yield from _keys(schema, inner, f"{path}.", incomplete)
        elif entries is not None:
            yield from _keys(schema, entries, f"{path}.{_index(path, incomplete)}.", incomplete)
        else:
            yield from _values(path, declared)


def _values(path: str, declared: dict[str, Any]) -> Iterator[tuple[str, str]]:
    values = declared.get("enum", [True, False] if declared.get("type") == "boolean" else [])
    told = str(declared.get("description", ""))
    yield f"{path}=", told
    for value in values:
        yield f"{path}={value if isinstance(value, str) else json.dumps(value)}", told


def _table(schema: dict[str, Any], declared: dict[str, Any]) -> dict[str, Any] | None:
    """Return the table that a key holds, or None for a plain value."""
    if "$ref" in declared:
        found: dict[str, Any] = schema["$defs"][declared["$ref"].removeprefix(REFERENCE)]
        return found if "properties" in found else None
    return declared if "properties" in declared else None


def _index(path: str, incomplete: str) -> str:
    typed = incomplete.removeprefix(f"{path}.").partition(".")[0]
    return typed if incomplete.startswith(f"{path}.") and typed.isdigit() else "0"
