# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows: commands, and the files that they need.

A page's steps are, in its order,

- the lines of fenced blocks of ``sh``, to be run unchanged;
- fenced blocks of any language with a ``title``: files of that name;
- indented blocks that begin with a program's name: commands too, with an explanation after two
  blanks or ``#``. Where one has a word in capitals, ``…``, ``[`` or ``|`` it is a form, not a
  command.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.resources import PROJECT

PROGRAMS = (
    *("hoplab", "hoplab-dsr", "hoplab-medium", "hoplab-split", "make", "python", "pytest", "pip"),
    *("cargo", "docker", "apt", "apt-get", "sudo", "cp", "printf", "systemctl", "git"),
    *("victoria-metrics", "wmediumd", "packaging/ci/install", "kernel-modules/guest/build"),
)
FORM = re.compile(r"…|[\[\]|]|(?<![\w=$/{.-])[A-Z]{2,}\b(?![=\w.])|(?<=[ /=])[NX]\b")
ASSIGNMENTS = re.compile(r"^(?:[A-Z_]+=\S+ +)+")
INLINE = re.compile(r"`(hoplab(?: [^`]+)?)`")


@dataclass(frozen=True)
class Command:
    """A line of a page, as one would type it."""

    page: str
    line: int
    text: str
    fenced: bool = False

    @property
    def is_form(self) -> bool:
        return not self.fenced and FORM.search(self.text) is not None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Shown:
    """A file that a page shows whole."""

    name: str
    text: str


def pages() -> list[Path]:
    """README, CONTRIBUTING, everything in docs/."""
    found = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md"]
    return found + sorted((PROJECT / "docs").rglob("*.md"))


def steps(page: Path) -> list[Command | Shown]:
    """What a page has one type and write, in its order."""
    name = page.relative_to(PROJECT).as_posix()
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Command | Shown] = []
    number = 0
    while number < len(lines):
        if fence := re.match(r"( *)```(\w*)(?: title=\"(.*)\")?$", lines[number]):
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == "```")
            body = [line.removeprefix(fence[1]) for line in lines[number + 1 : end]]
            if fence[3]:
                found.append(Shown(fence[3], "\n".join(body) + "\n"))
            elif fence[2] == "sh":
                found += _commands(name, number + 2, body, fenced=True)
            number = end + 1
        elif lines[number].startswith("    ") and (number == 0 or not lines[number - 1]):
            end = number
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            body = [line.removeprefix("    ") for line in lines[number:end]]
            begun = [_program(line) for line in body]
            first = next((n for n, program in enumerate(begun) if program), None)
            if first is not None and (first == 0 or not body[first - 1]):
                found += [
                    Command(name, command.line, re.split(r" {2,}", command.text)[0])
                    for command in _commands(name, number + 1 + first, body[first:])
                    if _program(command.text)
                ]
            elif first is not None:  # keys of a scenario, then a command
                found += [
                    Command(name, number + 1 + n, re.split(r" {2,}", line)[0])
                    for n, line in enumerate(body)
                    if begun[n]
                ]
            number = end
        else:
            number += 1
    return found


def inline(page: Path) -> list[Command]:
    """Commands of hoplab in running text."""
    name = page.relative_to(PROJECT).as_posix()
    text = page.read_text(encoding="utf-8")
    return [
        Command(name, text.count("\n", 0, found.start()) + 1, " ".join(found[1].split()))
        for found in INLINE.finditer(text)
    ]


def _is_open(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:  # no closing quotation
        return True
    return False


def _program(line: str) -> bool:
    word = ASSIGNMENTS.sub("", line).split(" ")[0].removeprefix(".venv/bin/")
    return word in PROGRAMS


def _commands(page: str, number: int, lines: list[str], fenced: bool = False) -> list[Command]:
    """Lines that go on, after a backslash or within quotes, are one command."""
    found: list[Command] = []
    text = ""
    for line in lines:
        text += line.lstrip() if text and not text.endswith("\n") else line
        if text.endswith("\\"):
            text = text[:-1]
        elif fenced and _is_open(text):
            text += "\n"
        else:
            if text.strip() and not text.startswith("#"):
                found.append(Command(page, number, text.strip(), fenced))
            text = ""
        number += 1
    return found
