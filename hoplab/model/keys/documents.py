# SPDX-License-Identifier: Apache-2.0
"""Documents of final values for the daemons (`daemons/document`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

SECONDS, NANOSECONDS = "_s", "_ns"


def nanoseconds(seconds: float) -> int:
    """Return the nearest whole number of nanoseconds."""
    return int(seconds * 1e9 + 0.5)


def final(value: Any) -> Any:
    """Return ``value`` as JSON has it. Keys of a table in seconds become keys in nanoseconds."""
    if isinstance(value, BaseModel):
        return dict(_entry(name, entry) for name, entry in value)
    if isinstance(value, tuple):
        return [final(entry) for entry in value]
    return value


def _entry(name: str, value: Any) -> tuple[str, Any]:
    if not name.endswith(SECONDS):
        return name, final(value)
    in_ns = None if value is None else nanoseconds(value)
    return name.removesuffix(SECONDS) + NANOSECONDS, in_ns


def text(document: dict[str, Any]) -> str:
    """Return ``document`` as text."""
    return json.dumps(document, indent=1) + "\n"


def write(path: Path, document: dict[str, Any]) -> Path:
    """Write ``document`` to ``path`` and return the path."""
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    return path
