# SPDX-License-Identifier: Apache-2.0
"""Commands for a prompt from a pipe or a file: one at a time, when the prompt asks.

A guest's terminal holds some thousand octets and drops the rest. A reader of the caller's standard
input there never learns of its end. The prompt therefore asks on a separate line (with an empty
line). The answer is a command as JSON, in parts: ``+`` begins those with a successor, ``.`` the
last. ``null`` says that there are no more commands.
"""

from __future__ import annotations

import json
import socket
import threading
from typing import IO

PART = 1500
"""Characters of a part, well below the terminal's limit (N_TTY_BUF_SIZE: 4096)."""


class Piped:
    """Sends the lines of ``stream``, from a thread, until `close`."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._own, self.other = socket.socketpair()
        threading.Thread(target=self._serve, name="commands", daemon=True).start()

    def close(self) -> None:
        """End the answers. A read that waits for a pipe ends with the process."""
        self._own.close()
        self.other.close()

    def _serve(self) -> None:
        try:
            while self._asked():
                for part in parts(self._stream.readline()):
                    self._own.sendall(part)
                    if part.startswith(b"+") and not self._asked():
                        return
        except OSError:  # closed
            return

    def _asked(self) -> bool:
        return bool(self._own.recv(1))


def parts(line: bytes) -> list[bytes]:
    """Return the answer for a line; an empty line is the input's end."""
    # Octets that are not UTF-8 reach the command unchanged.
    text = json.dumps(line.decode("utf-8", "surrogateescape") if line else None)
    pieces = [text[at : at + PART] for at in range(0, len(text), PART)]
    marks = [*("+" for _ in pieces[1:]), "."]
    return [f"{mark}{piece}\n".encode() for mark, piece in zip(marks, pieces, strict=True)]
