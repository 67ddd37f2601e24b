# SPDX-License-Identifier: Apache-2.0
"""The check of prose finds what it is for, and nothing in prose that is right."""

import json
from pathlib import Path

import pytest

from tests.prose import comments, text
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


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.py", '"""{}"""\n', True),
        ("x.py", 'LIMIT = 5\n"""{}"""\n', True),
        ("x.py", "a = 1  # {}\n", True),
        ("x.py", 'a = "{}"\n', False),
        ("x.rs", "//! {}\n", True),
        ("x.rs", "fn a() {{\n    // {}\n}}\n", True),
        ("x.rs", 'let a = "{}";\n', False),
        ("x.c", "/*\n * {}\n */\n", True),
        ("x.toml", "# {}\na = 1\n", True),
        ("x.rs", "/// ```\n/// {}\n/// ```\n", False),
        ("x.toml", "#     {}\n", False),
    ],
)
def test_comments_of_every_language_are_read(
    name: str,
    content: str,
    sentence: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comments, "PROJECT", tmp_path)
    (tmp_path / name).write_text(content.format(LONG.strip()))
    found = comments.findings(name)
    assert [line.startswith(f"{name}: 27 words") for line in found] == [True] * sentence


def test_a_sentence_of_a_comment_goes_over_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments, "PROJECT", tmp_path)
    lines = LONG.strip().replace(" and", "\n# and")
    (tmp_path / "x.toml").write_text(f"# {lines}\n")
    assert len(comments.findings("x.toml")) == 1


def test_a_folder_has_no_more_findings_than_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = tmp_path / "limits.json"
    limits.write_text('{"a/b": 2, "c": 1}')
    monkeypatch.setattr(comments, "LIMITS", limits)
    found = {"a/b/c/x.py": ["one", "two"], "a/b/y.py": [], "c/x.py": []}
    assert comments.wrong(found) == []
    comments.record(found)
    assert json.loads(limits.read_text()) == {"a/b": 2}
    assert comments.wrong({**found, "c/x.py": ["new"]}) == [
        "comments of c: 1 findings, at most 0:",
        "new",
    ]
    comments.record({**found, "a/b/y.py": ["three"]})
    assert json.loads(limits.read_text()) == {"a/b": 2}, "a limit never rises"
