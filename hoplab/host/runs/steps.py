# SPDX-License-Identifier: Apache-2.0
"""The host's end of a run that asks at each step how to go on (`hoplab.guest.lab.stepped`).

The guest may be a stranger's machine. If its line is not one of the expected ones, the run has
failed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hoplab.model.errors import GuestFailed, ScenarioError

LONGEST_LINE = 1 << 16


@dataclass(frozen=True)
class Wanted:
    """Settings of a run before it begins. They are the time between steps, the flows whose windows
    change and those that the host starts and ends, and whether the medium takes changes."""

    step_s: float
    windows: Sequence[str] = ()
    flows: Sequence[str] = ()
    medium: bool = False


class Steps:
    """A line to the guest, for one run. The guest stands still between `reached` and `go_on`."""

    def __init__(self, wanted: Wanted) -> None:
        self._own, self.other = socket.socketpair()
        self._rest = b""
        self._closing = threading.Lock()
        self._hold: Callable[[bool], None] = lambda held: None
        self._say(asdict(wanted))

    def held_by(self, hold: Callable[[bool], None]) -> None:
        """Call ``hold`` when the guest begins to wait for an answer, and when it has one. The watch
        for hanging guests then ignores the wait."""
        self._hold = hold

    def reached(self) -> float | None:
        """Wait for the next step. Returns its time in s, or None if the run has ended. Raises
        `ScenarioError` for a refused act; the guest then waits for others."""
        said = self._hear()
        if said is None:
            return None
        self._hold(True)
        if "refused" in said:
            raise ScenarioError(str(said["refused"]))
        at = said.get("at")
        if not isinstance(at, int | float):
            raise GuestFailed(f"guest: said {said!r:.60} where it had to name a step")
        return float(at)

    def go_on(self, acts: Sequence[dict[str, Any]]) -> None:
        """Have ``acts`` carried out, and let the run go on to its next step."""
        self._hold(False)
        self._say({"acts": list(acts)})

    def close(self) -> None:
        """End the answers. A run that goes on fails at its next step."""
        with self._closing:
            for end in (self._own, self.other):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _say(self, what: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the run has ended, which `reached` will report
            self._own.sendall(json.dumps(what, separators=(",", ":")).encode() + b"\n")

    def _hear(self) -> dict[str, Any] | None:
        while b"\n" not in self._rest:
            try:
                came = self._own.recv(LONGEST_LINE)
            except OSError:
                return None
            if not came:
                return None
            self._rest += came
            if len(self._rest) > LONGEST_LINE:
                raise GuestFailed("guest: said a line that is longer than any of its own")
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise GuestFailed(f"guest: said {line[:60]!r}, which is no line of its own")
        return said
