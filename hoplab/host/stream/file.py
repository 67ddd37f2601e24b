# SPDX-License-Identifier: Apache-2.0
"""A sink that writes Influx line protocol to a file or a pipe."""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Sequence
from pathlib import Path

from hoplab.host.stream.line import Encoder
from hoplab.host.stream.sink import Batch, Course, Sink, Unavailable

WAIT_S = 2.0
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class File(Sink):
    """Appends to a file, or writes to a pipe as fast as it is read."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._descriptor: int | None = None
        self._encoder: Encoder | None = None
        self._of: Sequence[Batch] = ()
        self._text = b""
        self._written = 0

    def begin(self, course: Course) -> None:
        self._encoder = Encoder(course)

    def take(self, batches: Sequence[Batch]) -> None:
        if self._of is not batches:  # otherwise they come again, and some may have been taken
            assert self._encoder is not None
            self._of, self._text, self._written = batches, self._encoder.text(batches), 0
        self._go_on()

    def write(self, text: bytes) -> None:
        """Write lines. Raises `Unavailable`."""
        self._text, self._written = text, 0
        self._go_on()

    def _go_on(self) -> None:
        """Write the rest of the text."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, FLAGS, 0o666)
            self._write(self._descriptor)
        except OSError as error:
            self._close()
            # The next reader starts with a whole line.
            self._written = self._text.rfind(b"\n", 0, self._written) + 1
            nobody = error.errno in (errno.ENXIO, errno.EPIPE)
            reason = "nobody reads it" if nobody else error.strerror
            raise Unavailable(str(reason)) from None

    def end(self) -> None:
        self._close()

    def _write(self, descriptor: int) -> None:
        while self._written < len(self._text):
            try:
                self._written += os.write(descriptor, self._text[self._written :])
            except BlockingIOError:
                if not select.select([], [descriptor], [], WAIT_S)[1]:
                    raise Unavailable("its reader is slow") from None

    def _close(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None
