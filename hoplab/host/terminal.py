# SPDX-License-Identifier: Apache-2.0
"""Output of commands: results to standard output, messages beside them to standard error.

Both are without colour and of a fixed width if they go to a file or a pipe. Names, messages of
servers and other foreign text may hold control characters. These could move the cursor, colour or
clear the terminal. They are shown as escapes (``\\x1b``), not obeyed.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console
from rich.segment import Segment

from hoplab.model.errors import ResultsError

PLAIN_WIDTH = 120
"""Columns of output to a file or a pipe."""
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udc9f]"
)
"""Control characters except tab and new line, and characters that turn the direction of the
following text. Also octets that were not UTF-8 and that a terminal could take for control
characters."""


def visible(text: str) -> str:
    """Return the text with escapes for characters that a terminal would obey."""
    return OBEYED.sub(lambda found: _escape(ord(found[0])), text)


def visible_toml(text: str) -> str:
    """Do the same for TOML's strings, which keep their meaning."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDC9F:  # Python's form of such an octet
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class SafeConsole(Console):
    """Escapes control characters in its input, and still sends its own."""

    def render(self, *args: Any, **options: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **options):
            if segment.control or not OBEYED.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


class _Output(io.FileIO):
    _has_failed = False

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        if self._has_failed:  # Python would tell of the rest once more, at its end
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._has_failed = True
            raise ResultsError(
                f"standard output: cannot be written: {error.strerror}; send it elsewhere"
            ) from None


def told(stream: TextIO) -> TextIO:
    """Return standard output with a `ResultsError` for what cannot be written. Other errors of the
    system do not say whose they are."""
    if not isinstance(stream, io.TextIOWrapper) or stream is not sys.__stdout__:
        return stream  # another's, as in a notebook
    raw = io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, line_buffering=stream.line_buffering)


output = SafeConsole(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
messages = SafeConsole(stderr=True)
