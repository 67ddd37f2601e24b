# SPDX-License-Identifier: Apache-2.0
"""What is asked of a page: sentences, words, readability, and what proselint finds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from proselint.checks import __register__
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

from tests.prose import text

MOST_WORDS = 25
"""In a sentence; Microsoft's guide and Google's ask for less."""
EASY, HARD = 10.0, 12.0
"""Highest grade of a tutorial or a how-to, and of any other page."""
EASY_PAGES = ("README.md", "docs/index.md", "docs/tutorial.md", "docs/howto/")
QUOTING = "CONTRIBUTING.md"
"""Its table shows sentences as they must not be."""
FEWEST_WORDS = 100
"""A grade of less text says nothing."""

AVOIDED = {
    "told": "reported, named, or the active voice",
    "whoever": "anyone who, you",
    "whosoever": "anyone who",
    "shall": "must, will",
    "amiss": "wrong",
    "whereby": "by which",
    "thereby": "so",
    "hence": "so",
    "therein": "in it",
    "thereof": "of it",
    "herein": "here",
    "whilst": "while",
    "amongst": "among",
    "upon": "on",
    "of one's own": "your own, its own",
    "draws lots": "draws random numbers",
    "other lots": "other random numbers",
    "for ever": "forever",
    "in order to": "to",
    "utilize": "use",
    "leverage": "use",
    "is there already": "exists",
    "as they stand": "unchanged",
    "to be had": "available",
}
"""Words not to use, and what to write."""
_AVOIDED = re.compile(rf"\b({'|'.join(map(re.escape, AVOIDED))})\b", re.IGNORECASE)

# Text is plain ASCII punctuation here, and tables repeat figures.
NOT_CHECKED = {"typography": False, "lexical_illusions": False, "annotations": False}


def _proselint(name: str, running: str) -> list[str]:
    if not running:  # which it would take from a file
        return []
    if not CheckRegistry().checks:
        CheckRegistry().register_many(__register__)
    config = {**DEFAULT, "checks": {**DEFAULT["checks"], **NOT_CHECKED}}
    lint = LintFile(name, running).lint(config)
    return [
        f"{name}: {result.check_result.message} ({result.check_result.check_path})"
        for result in lint
    ]


def highest_grade(name: str) -> float:
    """Of a page, by its path in the project."""
    return EASY if name.startswith(EASY_PAGES) else HARD


def sentences_and_words(name: str, running: Sequence[str], cells: Sequence[str] = ()) -> list[str]:
    """Long sentences of running text, and words to avoid in it and in the cells of tables."""
    found = []
    for sentence in text.sentences(running):
        count = len(text.words(sentence))
        if count > MOST_WORDS:
            found.append(f"{name}: {count} words, at most {MOST_WORDS}: {sentence}")
    for block in (*running, *cells):
        for word in _AVOIDED.findall(block):
            found.append(f"{name}: '{word}': write {AVOIDED[word.lower()]}: {block[:60]}")
    return found


def findings(name: str, page: str) -> list[str]:
    """What is wrong with a page, a line each; ``name`` is its path in the project."""
    running, cells = text.blocks(page)
    sentences = text.sentences(running)
    found = sentences_and_words(name, running, () if name == QUOTING else cells)
    if sum(len(text.words(sentence)) for sentence in sentences) >= FEWEST_WORDS:
        grade, highest = text.grade(sentences), highest_grade(name)
        if grade > highest:
            found.append(f"{name}: Flesch-Kincaid grade {grade:.1f}, at most {highest:.0f}")
    return found + _proselint(name, "\n\n".join(running))
