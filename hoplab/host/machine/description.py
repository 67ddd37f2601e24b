# SPDX-License-Identifier: Apache-2.0
"""The allowed contents of a ``machine.json``. It may come from a stranger, so it is validated
before use."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from hoplab.model.errors import Damaged, MissingTool
from hoplab.model.reading import mistake

FORMAT = 1
ARCHITECTURE = "x86_64"
DESCRIPTION = "machine.json"
KERNEL = "linux"
ROOT = "root.cpio"
NAME = re.compile(r"(?!\.)[A-Za-z0-9._+-]+(/(?!\.)[A-Za-z0-9._+-]+)*")
"""Names of a machine's files, which never lead out of its folder."""
LONGEST_NAME = 255
LARGEST_BYTES = 1 << 30
MOST_FILES = 10_000

Word = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
"""Printable and without spaces, so that a terminal can show it and a line can be split."""
Line = Annotated[str, StringConstraints(pattern=r"^[ -~]{1,200}$")]
Size = Annotated[int, Field(ge=0, le=LARGEST_BYTES)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _File(_Part):
    size: Size
    sha256: Word


class _Layer(_Part):
    name: Word
    offset: Size
    size: Size
    sha256: Word


class _Package(_Part):
    kind: Word
    name: Word
    version: Line
    sha256: Word


class _Kernel(_Part):
    """The kernel: its version, its source by hash, the tiers of Hoplab's patches, and a user's own
    patches and options."""

    version: Word
    source: Annotated[dict[str, Word], Field(max_length=20)]
    tiers: Annotated[list[Word], Field(max_length=100)]
    without: Annotated[dict[str, Line], Field(max_length=100)] = {}
    own: Annotated[list[Line], Field(max_length=100)] = []


class _Description(_Part):
    """The types of a ``machine.json``. Unknown keys belong to the identity too."""

    hoplab: Word
    files: Annotated[dict[str, _File], Field(max_length=MOST_FILES)]
    layers: Annotated[list[_Layer], Field(max_length=MOST_FILES)]
    packages: Annotated[list[_Package], Field(max_length=MOST_FILES)]
    inputs: dict[str, Word] = {}
    kernel: _Kernel | None = None

    @model_validator(mode="after")
    def _complete(self) -> _Description:
        if not {KERNEL, ROOT} <= self.files.keys():
            raise ValueError(f"files: {KERNEL} and {ROOT} are expected")
        for name in self.files:
            if not NAME.fullmatch(name) or len(name) > LONGEST_NAME or name == DESCRIPTION:
                raise ValueError(f"files: {name[:80]!r} is no name of a machine's file")
        if sum(facts.size for facts in self.files.values()) > LARGEST_BYTES:
            raise ValueError(f"files: they have more than {LARGEST_BYTES >> 30} GiB")
        for layer in self.layers:
            if layer.offset + layer.size > self.files[ROOT].size:
                raise ValueError(f"layers: {layer.name} ends beyond {ROOT}")
        return self


def parse(text: bytes, source: object) -> dict[str, Any]:
    """Return the description in ``text``. Raises `MissingTool` unless this host can run such a
    machine, and `Damaged` if it is no description."""
    try:
        found = json.loads(text)
        form, architecture = found["format"], found["architecture"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged(f"{source}: is damaged: {DESCRIPTION} is no machine's description") from None
    if form != FORMAT:
        raise MissingTool(
            f"{source}: is a machine of format {str(form)[:20]}, this hoplab knows {FORMAT}"
        )
    if architecture != ARCHITECTURE:
        raise MissingTool(
            f"{source}: is a machine for {str(architecture)[:20]!r}, not for {ARCHITECTURE}"
        )
    try:
        _Description.model_validate(found)
    except ValidationError as error:
        raise Damaged(
            f"{source}: is damaged: {DESCRIPTION} is no machine's description: {mistake(error)}"
        ) from None
    assert isinstance(found, dict)
    return found
