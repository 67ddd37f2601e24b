# SPDX-License-Identifier: Apache-2.0
"""Comments and docstrings of all languages, as blocks of running text.

Long sentences and words to avoid in them are counted by folder. `comments.json` has the most that
each folder may have; a folder that it does not name may have none.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from hoplab.model.resources import PROJECT
from tests.prose import text
from tests.prose.rules import sentences_and_words

LIMITS = Path(__file__).with_name("comments.json")
NOT_OURS = ("hoplab/guest/mininet/inside/site/", "locks/")
CODE = re.compile(r"``[^`]*``|\[?`[^`]*`\]?(?:\([^)]*\))?")
PRAGMA = re.compile(r"SPDX-License-Identifier|^(type: ignore|noqa|shellcheck |fmt: |!)")
EXAMPLE = re.compile(r"^(?:\s{4}|\s*(?:```|\||>>> |# ))|\S {3,}\S|^make \w")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")

Reader = Callable[[str], Iterator[str]]


def files() -> list[str]:
    """Tracked files that have comments, by their paths in the project."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    names = (name for name in listed.stdout.split("\0") if name)
    return [name for name in names if not name.startswith(NOT_OURS) and reader(name) is not None]


def reader(name: str) -> Reader | None:
    """What reads the comments of a file of this name, if it may have some."""
    path = PROJECT / name
    if path.is_symlink() or not path.is_file():
        return None
    if path.suffix == "" and path.name != "Makefile":
        with path.open("rb") as file:
            first = file.readline(100)
        return _hashes if re.match(rb"#!.*\b(ba)?sh$", first) else None
    return READERS.get(path.suffix or path.name)


def findings(name: str) -> list[str]:
    """What is wrong with a file's comments, a line each."""
    read = reader(name)
    if read is None:
        return []
    content = (PROJECT / name).read_text(encoding="utf-8")
    running = [block for comment in read(content) for block in _blocks(comment)]
    return sentences_and_words(name, running)


def folder_of(name: str) -> str:
    """The folder by which a file's findings are counted, two deep at most."""
    return "/".join(Path(name).parent.parts[:2]) or "."


def wrong(found: dict[str, list[str]]) -> list[str]:
    """A line for each folder with more ``found`` by file than it may have, before what is found."""
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    lines = []
    for folder, count in counted(found).items():
        most = limits.get(folder, 0)
        if count > most:
            lines.append(f"comments of {folder}: {count} findings, at most {most}:")
            lines += [line for name in found if folder_of(name) == folder for line in found[name]]
    return lines


def counted(found: dict[str, list[str]]) -> dict[str, int]:
    """The number of findings by folder."""
    counts = Counter[str]()
    for name, lines in found.items():
        counts[folder_of(name)] += len(lines)
    return {folder: count for folder, count in sorted(counts.items()) if count}


def record(found: dict[str, list[str]]) -> None:
    """Lower each folder's limit to what is ``found``. No limit rises."""
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    counts = counted(found)
    lower = {folder: min(most, counts.get(folder, 0)) for folder, most in limits.items()}
    kept = {folder: most for folder, most in sorted(lower.items()) if most}
    LIMITS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _blocks(comment: str) -> Iterator[str]:
    """Paragraphs and items; no examples, tables or directives."""
    block: list[str] = []
    fenced = False
    for line in [*comment.splitlines(), ""]:
        if line.strip().startswith("```"):
            fenced = not fenced
        ends = fenced or not line.strip() or EXAMPLE.match(line) or PRAGMA.search(line)
        if (ends or ITEM.match(line)) and block:
            yield CODE.sub(text.CODE, " ".join(block))
            block = []
        if not ends:
            block.append(ITEM.sub("", line).strip())


def _python(content: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(content)):
        # A docstring, or the text after an assignment, is a statement of its own.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                yield _dedented(value)
    lines: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0]] = token.string.removeprefix("#").removeprefix(" ")
    yield from _runs(lines)


def _dedented(docstring: str) -> str:
    first, _, rest = docstring.partition("\n")
    margins = [len(line) - len(line.lstrip()) for line in rest.splitlines() if line.strip()]
    margin = min(margins, default=0)
    return "\n".join([first, *(line[margin:] for line in rest.splitlines())])


def _hashes(content: str) -> Iterator[str]:
    yield from _runs(
        {
            number: line.strip()[1:].removeprefix(" ")
            for number, line in enumerate(content.splitlines())
            if line.lstrip().startswith("#")
        }
    )


def _rust(content: str) -> Iterator[str]:
    found = {}
    for number, line in enumerate(content.splitlines()):
        if comment := re.match(r"\s*//[/!]? ?(.*)", line):
            found[number] = comment[1]
    yield from _runs(found)


def _c(content: str) -> Iterator[str]:
    for comment in re.findall(r"/\*(.*?)\*/", content, re.DOTALL):
        yield "\n".join(re.sub(r"^\s*\* ?", "", line) for line in comment.splitlines()).strip()
    yield from _rust(content)


def _runs(lines: dict[int, str]) -> Iterator[str]:
    """Comments on lines that follow each other, as one."""
    run: list[str] = []
    last = None
    for number, line in sorted(lines.items()):
        if last is not None and number != last + 1:
            yield "\n".join(run)
            run = []
        run.append(line)
        last = number
    if run:
        yield "\n".join(run)


READERS: dict[str, Reader] = {
    ".py": _python,
    ".rs": _rust,
    **dict.fromkeys((".c", ".h", ".lds"), _c),
    **dict.fromkeys((".toml", ".yml", ".config", "Makefile"), _hashes),
}
