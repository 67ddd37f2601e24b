# SPDX-License-Identifier: Apache-2.0
"""A stream reader of XML in movement files: elements with their attributes and lines.

A document type is refused, and with it every entity that a file could declare. The unpacked text is
therefore never larger than the file.
"""

from __future__ import annotations

from xml.parsers import expat

from hoplab.model.errors import ScenarioError
from hoplab.model.movement.words import SHOWN, finite


class Reader:
    """Walks through a document and calls methods of subclasses for its elements.

    Names are without their namespace's prefix. ``where`` is file and line.
    """

    def __init__(self, source: str, root: str) -> None:
        self.source = source
        self.root = root
        self.depth = 0
        self.words: list[str] | None = None
        """Collects text once it is a list."""
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.CommentHandler = self.comment
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.buffer_text = True

    @property
    def where(self) -> str:
        return f"{self.source}:{self._parser.CurrentLineNumber}"

    def read(self, text: str) -> None:
        """Read a document. Raises `ScenarioError` that names file, line and what was expected."""
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise ScenarioError(
                f"{self.source}:{error.lineno}: {expat.ErrorString(error.code)}; "
                f"expected XML with the element <{self.root}>"
            ) from None

    def begin(self, name: str, values: dict[str, str]) -> None:
        """Called at the start of an element."""

    def end(self, name: str) -> None:
        """Called at the end of an element."""

    def comment(self, text: str) -> None:
        """Called for a comment."""

    def number(self, name: str, values: dict[str, str], key: str) -> float:
        """Return the number in attribute ``key``. Raises `ScenarioError` if there is none."""
        if key not in values:
            raise ScenarioError(f"{self.where}: <{name}> has no {key}; expected a number")
        return finite(values[key], f"{self.where}: {key}")

    def _begin(self, name: str, values: dict[str, str]) -> None:
        plain = name.rpartition(":")[2]
        if self.depth == 0 and plain != self.root:
            raise ScenarioError(
                f"{self.where}: begins with <{plain[:SHOWN]}>; expected <{self.root}>"
            )
        self.depth += 1
        self.begin(plain, values)

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.end(name.rpartition(":")[2])

    def _text(self, text: str) -> None:
        if self.words is not None:
            self.words.append(text)

    def _refuse_doctype(self, *_: object) -> None:
        raise ScenarioError(f"{self.where}: has a DOCTYPE; expected XML without one")
