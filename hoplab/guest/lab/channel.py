# SPDX-License-Identifier: Apache-2.0
"""The two lines of a session: to the host, which sends requests, and to the medium, which obeys."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from pathlib import Path
from typing import Any

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.model.errors import ScenarioError

LONGEST_REQUEST = 4096
ANSWER_S = 6.0
"""Seconds that the medium has to answer, on a slow host too. Less than
`hoplab.host.runs.session.ANSWER_S`."""


class Channel:
    """Lines from and to the host; ``descriptor`` is a terminal in raw mode, or a socket."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def requests(self, wait_s: float) -> list[dict[str, Any]]:
        """Return the requests that came within ``wait_s``. Lines that are too long or are no
        objects are dropped."""
        readable, _, _ = select.select([self._descriptor], [], [], max(0.0, wait_s))
        if not readable:
            return []
        came = os.read(self._descriptor, LONGEST_REQUEST)
        if not came:
            return [{"do": "end"}]
        *lines, self._rest = (self._rest + came).split(b"\n")
        if len(self._rest) > LONGEST_REQUEST:
            self._rest = b""
        found = []
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(line)
                if isinstance(value, dict):
                    found.append(value)
        return found

    def say(self, **what: Any) -> None:
        """Send a line to the host."""
        data = (json.dumps(what, separators=(",", ":")) + "\n").encode()
        while data:
            data = data[os.write(self._descriptor, data) :]


class MediumClient:
    """Asks the medium for changes, at its control socket; ``undo`` closes it."""

    def __init__(self, control: Path, undo: CleanUp) -> None:
        self._control = control
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        undo.later(self._socket.close)
        self._socket.bind("")  # an address of the kernel's choice, for the answer

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request. Raises `ScenarioError` with the medium's reason if it refuses."""
        try:
            self._forget_late_answers()
            self._socket.sendto(json.dumps(request).encode(), str(self._control))
            answer = self._socket.recv(LONGEST_REQUEST).decode("utf-8", "replace")
        except OSError as error:
            raise ScenarioError(f"medium: does not answer: {error}") from None
        if answer != "ok":
            raise ScenarioError(answer)

    def _forget_late_answers(self) -> None:
        """Discard late answers to earlier requests, so that none is taken for the next answer."""
        # MSG_DONTWAIT would not do: with a timeout Python waits before it calls recv.
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(LONGEST_REQUEST)
        self._socket.settimeout(ANSWER_S)
