# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON, as both ends of a line to a running network write and read them."""

from __future__ import annotations

import json
from typing import Any


class Lines:
    """Cuts what comes, in whatever pieces, into lines."""

    def __init__(self, longest: int) -> None:
        """``longest`` is the limit of a line that is not complete yet, in octets."""
        self._longest = longest
        self._rest = b""

    def cut(self, came: bytes) -> list[bytes]:
        """Return the lines that are complete now. Raises ValueError for one that is too long,
        whose beginning is dropped."""
        *lines, self._rest = (self._rest + came).split(b"\n")
        if len(self._rest) > self._longest:
            self._rest = b""
            raise ValueError("is too long")
        return lines


def value(line: bytes) -> dict[str, Any]:
    """Return the object of JSON in a line. Raises ValueError for anything else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("is no object")
    return found


def line(what: dict[str, Any]) -> bytes:
    """Return an object as a line."""
    return json.dumps(what, separators=(",", ":")).encode() + b"\n"
