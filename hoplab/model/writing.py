# SPDX-License-Identifier: Apache-2.0
"""Write files into a folder of a run, which programs of others have written into too.

A pipe in a file's place would block its writer forever. A link would lead to another file of the
user's.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from hoplab.model.reading import descriptor

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def over(path: Path, more: int = 0) -> int:
    """Open a regular file for writing over its content, and return its descriptor. ``more`` flags
    are those of `os.open`. Raises `OSError`, also for a link and for other kinds of file."""
    return descriptor(path, FLAGS | more)


def new(path: Path) -> BinaryIO:
    """Open a regular file for a new content. Raises errors as `over` does."""
    return cast(BinaryIO, os.fdopen(over(path, os.O_TRUNC), "wb"))


def added(path: Path, buffer_bytes: int = io.DEFAULT_BUFFER_SIZE) -> TextIO:
    """Open a text for writing at its end. Raises errors as `over` does."""
    opened = over(path, os.O_APPEND)
    return cast(TextIO, os.fdopen(opened, "a", buffer_bytes, encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Make ``text`` the content of a regular file. Raises errors as `over` does."""
    with new(path) as file:
        file.write(text.encode())
