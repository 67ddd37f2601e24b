# SPDX-License-Identifier: Apache-2.0
"""The check of prose finds what it is for, and nothing in prose that is right."""

from pathlib import Path

import pytest

from tests.prose import text
from tests.prose.__main__ import main, pages
from tests.prose.rules import findings

RIGHT = "A station hears its neighbour. It waits until the channel is idle.\n"
LONG = "The station sends " + "and sends " * 12 + ".\n"
HARD = "Organizational reconfiguration necessitates interdepartmental communication. " * 20


def test_right_prose_has_no_findings() -> None:
    assert findings("docs/x.md", RIGHT) == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (LONG, "27 words, at most 25"),
        ("The failure is told at once.\n", "'told'"),
        ("| a |\n|---|\n| it is told |\n", "'told'"),
        (HARD, "Flesch-Kincaid grade"),
        ("The route is very unique.\n", "uncomparables"),
        ("- First.\n- " + LONG, "27 words"),
        ('!!! note "A title"\n    ' + LONG, "27 words"),
    ],
)
def test_what_is_wrong_is_found(page: str, found: str) -> None:
    assert found in "\n".join(findings("docs/x.md", page))


@pytest.mark.parametrize(
    "page",
    [
        "# " + LONG,
        "```sh\n" + LONG + "```\n",
        "    hoplab run told " + "word " * 30 + "\n",
        "Run `told shall whoever`.\n",
        "<!-- keys of X -->\n| told |\n|---|\n<!-- end of keys -->\n",
        "See Fall et al. 1996 and K. Fall.\n",
    ],
)
def test_code_and_headings_are_not_prose(page: str) -> None:
    assert findings("docs/x.md", page) == []


def test_sentences_end_where_they_do() -> None:
    running, cells = text.blocks("It runs. `hoplab` ends at 2.5 s. Fall et al. 1996 agree.\n")
    assert text.sentences(running) == ["It runs", "Code ends at 2.5 s", "Fall et al. 1996 agree."]
    assert cells == []


@pytest.mark.parametrize(
    ("word", "count"), [("router", 2), ("network", 2), ("3.5", 1), ("m²", 1), ("mac80211", 1)]
)
def test_syllables(word: str, count: int) -> None:
    assert text.syllables(word) == count


def test_the_grade_is_that_of_the_formula() -> None:
    """Six words of one syllable in one sentence: 0.39 * 6 + 11.8 - 15.59."""
    assert text.grade(["The cat sat on the mat"]) == pytest.approx(-1.45)


def test_a_page_that_is_named_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, page in (("right", RIGHT), ("long", LONG)):
        (tmp_path / f"{name}.md").write_text(page)
    assert main([str(tmp_path / "right.md")]) == 0
    assert main([str(tmp_path / "long.md")]) == 1
    assert "long.md: 27 words, at most 25" in capsys.readouterr().out


def test_every_page_is_checked() -> None:
    names = {page.name for page in pages()}
    assert {"README.md", "CONTRIBUTING.md", "medium.md", "mobile.md"} <= names


def test_words_are_counted_without_code() -> None:
    page = "# A title\n\nRun `hoplab run` 3 times ([see](a.md)).\n\n    code here\n\n"
    page += "| a key | 5 m |\n|---|---|\n"
    assert text.length(page) == 8  # A title, Run times, see, a key, m
