# SPDX-License-Identifier: Apache-2.0
"""A search in a growing file that looks at each octet once or twice, and at few octets at a time.

An expression may take a time with the square of a text's length. Computing takes no virtual time,
so no clock of a guest could limit the search.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hoplab.model import reading

MOST_AT_ONCE = 1 << 20
"""Octets that one look searches: the last ones."""
PIECE = 4096
"""The longest match, in octets."""


class Output:
    """What a program writes to a file, searched for an expression as the file grows."""

    def __init__(self, file: Path, expression: str) -> None:
        self._file = file
        self._expression = re.compile(expression.encode(), re.MULTILINE)
        self._seen = 0
        """Octets that have been looked at, or passed over."""
        self._before = b""
        """The last of them: in front one that tells whether a line begins, then those with which a
        match may begin."""
        self.has_matched = False

    def look(self) -> bool:
        """Return whether the expression has matched so far."""
        with reading.opened(self._file) as file:
            size = file.seek(0, os.SEEK_END)
            begin = max(self._seen, size - MOST_AT_ONCE)
            if begin > self._seen:
                file.seek(begin - 1)
                self._before = file.read(1)
            file.seek(begin)
            fresh = file.read(size - begin)
        self._seen = begin + len(fresh)
        for at in range(0, len(fresh), PIECE):
            if self.has_matched:
                break
            text = self._before + fresh[at : at + PIECE]
            self.has_matched = self._expression.search(text, 1 if self._before else 0) is not None
            self._before = text[-PIECE - 1 :]
        return self.has_matched
