# SPDX-License-Identifier: GPL-2.0-only
"""What a build's log says of its failure."""

from __future__ import annotations

import re
from pathlib import Path

MAKE_ERROR = re.compile(r"(error|undefined reference|multiple definition)[: ]|\*\*\* ")
COMPILER_ERROR = re.compile(r"^\S+?:\d+(:\d+)?: (fatal )?error: .*", re.MULTILINE)


def first_error(log: Path) -> str:
    """Return the compiler's first error in a log, else make's or the last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if found := COMPILER_ERROR.search(text):
        return found[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if MAKE_ERROR.search(line)), (lines or ["no output"])[-1])
