# SPDX-License-Identifier: Apache-2.0
"""The documentation's examples, as their page lists them: what each shows, and by what setting."""

from __future__ import annotations

import difflib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.errors import ScenarioError
from hoplab.model.reading import MAX_BYTES, read_text
from hoplab.model.resources import EXAMPLES

PAGE = EXAMPLES / "README.md"
ROW = re.compile(
    r"^\| \[(?P<name>[\w-]+)\]\((?P=name)\.toml\) \| (?P<shows>.+?) \| `(?P<set>.+?)` \|"
)


@dataclass(frozen=True)
class Example:
    """A scenario of the catalogue. ``overrides`` is the change that shows its effect."""

    name: str
    shows: str
    overrides: tuple[str, ...]

    @property
    def file(self) -> Path:
        return EXAMPLES / f"{self.name}.toml"

    @property
    def words(self) -> str:
        """The change as the command line takes it."""
        return " ".join(f"--set {shlex.quote(one)}" for one in self.overrides)


def examples() -> dict[str, Example]:
    """Return the examples by their names, in the order of their page."""
    rows = map(ROW.match, read_text(PAGE, MAX_BYTES, "the documentation").splitlines())
    return {
        row["name"]: Example(row["name"], row["shows"].replace("`", ""), _overrides(row["set"]))
        for row in rows
        if row is not None
    }


def named(name: str) -> Example:
    """Return an example. Raises `ScenarioError` with the nearest name if there is no such."""
    found = examples()
    if name in found:
        return found[name]
    near = difflib.get_close_matches(name, found, 1, 0.4)
    meant = f"; did you mean {near[0]!r}?" if near else "; 'hoplab examples' lists them"
    raise ScenarioError(f"{name!r}: is no example{meant}")


def _overrides(change: str) -> tuple[str, ...]:
    """Return the values of ``--set`` in a cell of the page, which leaves out the first one's."""
    return tuple(word for word in shlex.split(change) if word != "--set")
