# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the prose of pages, and of comments and docstrings.

    python -m tests.prose              all pages, and folders whose comments have more than they may
    python -m tests.prose PAGE…        these pages
    python -m tests.prose FILE.py…     the comments of these files, all that is found
    python -m tests.prose --record     lower the limits of folders whose comments got better

With 0 wrong the exit status is 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hoplab.model.resources import PROJECT
from tests.prose import comments
from tests.prose.rules import findings
from tests.prose.text import length

MOST_WORDS = 63_350
"""Of all pages together. A writer who adds a fact looks for one that is said twice."""


def pages() -> list[Path]:
    """README, CONTRIBUTING and every page of docs/; CHANGELOG.md is a list of what changed."""
    found = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md"]
    return found + sorted((PROJECT / "docs").rglob("*.md"))


def main(arguments: list[str]) -> int:
    """0 where nothing is wrong."""
    if arguments == ["--record"]:
        comments.record({name: comments.findings(name) for name in comments.files()})
        return 0
    paths = [Path(name).resolve() for name in arguments] or pages()
    code = [path for path in paths if path.suffix != ".md"]
    wrong = [f for path in code for f in comments.findings(path.relative_to(PROJECT).as_posix())]
    if not arguments:
        wrong = comments.wrong({name: comments.findings(name) for name in comments.files()})
    total = 0
    for path in (path for path in paths if path not in code):
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
