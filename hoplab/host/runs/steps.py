# SPDX-License-Identifier: Apache-2.0
"""The host's end of a run that asks at each step how to go on (`hoplab.guest.lab.stepped`).

What the guest says comes from a stranger's machine, maybe: a line is one of those that it has to
say, or the run has failed.
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
    """What a run is told before it begins: the time between steps, the flows whose windows are to
    change, those that it starts and ends, whether the medium is to take changes."""

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
        """``hold`` is told when the guest begins to wait for an answer, and that it has one: who
        looks for guests that hang then lets it be."""
        self._hold = hold

    def reached(self) -> float | None:
        """Wait for the next step; its time in s, None where the run has ended. Raises
        `ScenarioError` for an act that was refused: the guest then waits for others."""
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
        """Have ``acts`` done, and the run go on to its next step."""
        self._hold(False)
        self._say({"acts": list(acts)})

    def close(self) -> None:
        """Nobody answers any more; a run that goes on fails at its next step."""
        with self._closing:
            for end in (self._own, self.other):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _say(self, what: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the run has ended, as `reached` will tell
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
