# SPDX-License-Identifier: Apache-2.0
"""Read files that a user or another file names: only regular files, up to a number of octets.

A device or a pipe in a file's place may have no end, and may block its reader forever.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.wording import worded

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_BYTES = 64 << 20
"""Limit for a text that a person writes, and for a run's account of itself."""
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without these flags, opening a pipe would block, and opening a terminal could take it over."""
OTHER_KINDS = (
    *(errno.EINVAL, errno.EISDIR, errno.ELOOP),
    *(errno.EAGAIN, errno.ENXIO, errno.ENODEV),
)
"""Errors of something else than a regular file in a file's place."""
IRREGULAR = "is no regular file"
PIPE = "is no regular file but a pipe"
READ_PIPE = f"{PIPE} (write what it gives to a file first)"


def opened(path: Path) -> io.BufferedReader:
    """Open a regular file for reading. Raises `OSError`, also for other kinds of file."""
    return io.BufferedReader(_Regular(descriptor(path), "rb"))


def descriptor(path: Path, flags: int = FLAGS, mode: int = 0o666) -> int:
    """Open a regular file and return its descriptor. ``flags`` hold O_NONBLOCK, ``mode`` is that of
    a new file. Raises `OSError` as `opened` does."""
    try:
        found = os.open(path, flags, mode)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
            raise OSError(error.errno, IRREGULAR, str(path)) from None
        raise
    except ValueError:  # a zero octet in its name
        raise OSError(errno.EINVAL, "is no name of a file", str(path)) from None
    kind = os.fstat(found).st_mode
    if stat.S_ISREG(kind):
        return found
    os.close(found)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    pipe = PIPE if flags & os.O_ACCMODE else READ_PIPE
    raise OSError(errno.EINVAL, pipe if stat.S_ISFIFO(kind) else IRREGULAR, str(path))


class _Regular(io.FileIO):
    """Some files of ``/proc`` call themselves regular, and have their reader wait."""

    def readinto(self, buffer: Any) -> int:
        found = super().readinto(buffer)
        if found is None:
            raise OSError(errno.EAGAIN, IRREGULAR)
        return found

    def readall(self) -> bytes:
        found = super().readall()
        if found is None:
            raise OSError(errno.EAGAIN, IRREGULAR)
        return found


def content(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return all of a regular file. Raises `OSError`, also for one of more than ``limit``
    octets."""
    with opened(path) as file:
        found = file.read(limit + 1)
    if len(found) > limit:
        size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} octets"
        raise OSError(errno.EFBIG, f"is larger than {size}")
    return found


def value(path: Path) -> Any:
    """Return the JSON value in a file of a run; None if it is missing, or not whole."""
    try:
        return json.loads(content(path))
    except (OSError, ValueError, RecursionError):
        return None


def mistake(error: ValidationError) -> str:
    """Return the first mistake of a document in a line: where, and what."""
    first = worded(error)[0]
    where, what = ".".join(map(str, first["loc"]))[:80], first["msg"]
    return f"{where!r}: {what}" if where else str(what)


def read_bytes(
    path: Path, limit: int, what: str, error: type[HoplabError] = ScenarioError
) -> bytes:
    """Read a file as `content` does. Raises ``error`` with one line, which asks for ``what``, say
    "a TOML file"."""
    try:
        return content(path, limit)
    except OSError as failed:
        raise error(f"{path}: cannot be read: {failed.strerror}; name {what}") from None


def read_text(path: Path, limit: int, what: str, error: type[HoplabError] = ScenarioError) -> str:
    """Read a file as `read_bytes` does, as UTF-8 text without its byte order mark."""
    try:
        return read_bytes(path, limit, what, error).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path}: is not UTF-8 text; name {what}") from None
