# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.prose [PAGE…]``: what is wrong with the prose of each page; all by default."""

from __future__ import annotations

import sys
from pathlib import Path

from hoplab.model.resources import PROJECT
from tests.prose.rules import findings
from tests.prose.text import length

MOST_WORDS = 46_000
"""Of all pages together: who adds a fact looks for one that is said twice."""


def pages() -> list[Path]:
    """README, CONTRIBUTING and every page of docs/; CHANGELOG.md is a list of what changed."""
    found = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md"]
    return found + sorted((PROJECT / "docs").rglob("*.md"))


def main(arguments: list[str]) -> int:
    """0 where nothing is wrong."""
    paths = [Path(name).resolve() for name in arguments] or pages()
    wrong, total = [], 0
    for path in paths:
        name = path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path
        page = path.read_text(encoding="utf-8")
        wrong += findings(name.as_posix(), page)
        total += length(page)
    if total > MOST_WORDS:
        wrong.append(f"all pages: {total} words, at most {MOST_WORDS}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
