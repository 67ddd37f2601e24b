# SPDX-License-Identifier: Apache-2.0
"""The two lines of a lab: to the host, which sends requests, and to the medium, which obeys."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from pathlib import Path
from typing import Any

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.model import lines
from hoplab.model.errors import ScenarioError
from hoplab.model.keys import requests
from hoplab.model.lines import Lines

LONGEST_LINE = 1 << 16
LONGEST_ANSWER = 4096
"""Limits in octets: of a line from the host, and of the medium's answer."""
ANSWER_S = 6.0
"""Seconds that the medium has to answer, on a slow host too. Less than
`hoplab.host.runs.session.ANSWER_S`."""


class Channel:
    """Lines from and to the host, at a terminal in raw mode, a socket or a device."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = Lines(LONGEST_LINE)

    def requests(self, wait_s: float) -> list[dict[str, Any]]:
        """Return the requests that came within ``wait_s``. Lines that are too long or are no
        objects are dropped."""
        readable, _, _ = select.select([self._descriptor], [], [], max(0.0, wait_s))
        if not readable:
            return []
        found = self.come()
        return [{"do": requests.End.do}] if found is None else found

    def come(self) -> list[dict[str, Any]] | None:
        """Wait for what comes and return its objects; None if nothing will come any more."""
        came = os.read(self._descriptor, LONGEST_LINE)
        if not came:
            return None
        found = []
        with contextlib.suppress(ValueError):
            for line in self._lines.cut(came):
                with contextlib.suppress(ValueError):
                    found.append(lines.value(line))
        return found

    def say(self, **what: Any) -> None:
        """Send a line to the host."""
        data = lines.line(what)
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
            answer = self._socket.recv(LONGEST_ANSWER).decode("utf-8", "replace")
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
                self._socket.recv(LONGEST_ANSWER)
        self._socket.settimeout(ANSWER_S)
