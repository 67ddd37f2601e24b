# SPDX-License-Identifier: Apache-2.0
"""Where commands print: results to standard output, what is said beside them to standard error.

Both are without colour and of a fixed width where they go to a file or a pipe. Names, messages of
servers and other words from outside may hold control characters, which could move the cursor,
colour or clear the terminal: they are shown as escapes (``\\x1b``), not obeyed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

PLAIN_WIDTH = 120
"""Columns of what goes to a file or a pipe."""
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]"
)
"""Control characters but for tab and new line, those that turn the direction of what follows, and
octets that were no UTF-8 and that a terminal could take for control characters."""


def visible(text: str) -> str:
    """The text with escapes in place of what a terminal would obey."""
    return OBEYED.sub(lambda found: _escape(ord(found[0])), text)


def visible_toml(text: str) -> str:
    """The same for TOML's own strings, which mean the same afterwards."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDC9F:  # how Python keeps such an octet
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class SafeConsole(Console):
    """Shows control characters that are in what it prints; its own it still sends."""

    def render(self, *args: Any, **options: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **options):
            if segment.control or not OBEYED.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


output = SafeConsole(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
messages = SafeConsole(stderr=True)
