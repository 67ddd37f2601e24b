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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hoplab.host.machine.copies import Asked, Standing, Wish
from hoplab.model.errors import GuestFailed, HoplabError, ScenarioError

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
    """A line to the guest, for one run. The guest stands still between `reached` and `go_on`.

    With a ``past`` it is a run that branches off another one at its present step: from a copy of
    that guest; or from its start, where all is repeated up to there.
    """

    def __init__(self, wanted: Wanted, past: Steps | None = None) -> None:
        self._wanted = wanted
        self._past = past
        self._told: list[Sequence[dict[str, Any]]] = [] if past is None else list(past._told)
        """All answers to the guest so far."""
        self._repeats = False
        """Whether it has to get them again."""
        self._guest: Standing | None = None
        self._stands = False
        """Whether the guest waits for a word before its answer (`HostLine.stand_by`)."""
        self._rest = b""
        self._held = False
        self._closing = threading.Lock()
        self._closed = False
        self._attended = threading.Event()
        self._hold: Callable[[bool], None] = lambda held: None

    def branch(self) -> Steps:
        """Return the steps of a run that branches off here. Call it between `reached` and `go_on`,
        and then `come_here` before `go_on`."""
        return Steps(self._wanted, self)

    def attend(self, guest: Standing, copied: bool) -> None:
        """Talk with a guest that has begun, or with a copy of the past's."""
        with self._closing:
            if self._closed:
                guest.line.close()
                return
            self._guest = guest
            branches = self._past is not None and copied
            if branches:
                self._hold_now(True)
            else:
                self._repeats = bool(self._told) or self._past is not None
                self._say({**asdict(self._wanted), "stands_by": self._can_stand})
            self._past = None
        self._attended.set()

    @contextlib.contextmanager
    def asked(self, wish: Wish) -> Iterator[Asked | None]:
        """Yield a copy of the past's guest; see `hoplab.host.machine.copies.Source`."""
        asked = None
        if self._past is not None and self._past._guest is not None and self._past._stands:
            with contextlib.suppress(OSError, HoplabError):
                asked = self._past._guest.ask(wish)
        try:
            yield asked
        finally:
            if asked is not None:
                asked.close()

    def come_here(self) -> None:
        """Wait until the guest is where the past's is, or until its run has ended."""
        self._attended.wait()
        if not self._repeats:
            return
        for again in self._told:
            self._reached_again()
            self._answer(again)
        self._reached_again()

    def _reached_again(self) -> None:
        with contextlib.suppress(ScenarioError):  # it was told before
            self._reached()

    @property
    def _can_stand(self) -> bool:
        return self._guest is not None and self._guest.place.home is not None

    def held_by(self, hold: Callable[[bool], None]) -> None:
        """Call ``hold`` when the guest begins to wait for an answer, and when it has one. The watch
        for hanging guests then ignores the wait."""
        self._hold = hold
        hold(self._held)

    def reached(self) -> float | None:
        """Wait for the next step. Returns its time in s, or None if the run has ended. Raises
        `ScenarioError` for a refused act; the guest then waits for others."""
        self._attended.wait()
        return self._reached()

    def _reached(self) -> float | None:
        said = self._hear()
        if said is None:
            return None
        self._hold_now(True)
        if "refused" in said:
            raise ScenarioError(str(said["refused"]))
        at = said.get("at")
        if not isinstance(at, int | float):
            raise GuestFailed(f"guest: said {said!r:.60} where it had to name a step")
        self._stands = self._can_stand
        return float(at)

    def go_on(self, acts: Sequence[dict[str, Any]]) -> None:
        """Have ``acts`` carried out, and let the run go on to its next step."""
        self._told.append(acts)
        self._answer(acts)

    def _answer(self, acts: Sequence[dict[str, Any]]) -> None:
        self._hold_now(False)
        if self._stands and self._guest is not None:
            self._stands = False
            self._guest.go()
        self._say({"acts": list(acts)})

    def _hold_now(self, held: bool) -> None:
        self._held = held
        self._hold(held)

    def close(self) -> None:
        """End the answers. A run that goes on fails at its next step."""
        with self._closing:
            self._closed = True
            if self._guest is not None:
                with contextlib.suppress(OSError):
                    self._guest.line.shutdown(socket.SHUT_RDWR)
                self._guest.line.close()
        self._attended.set()

    def _say(self, what: dict[str, Any]) -> None:
        assert self._guest is not None
        with contextlib.suppress(OSError):  # the run has ended, which `reached` will report
            self._guest.line.sendall(json.dumps(what, separators=(",", ":")).encode() + b"\n")

    def _hear(self) -> dict[str, Any] | None:
        if self._guest is None:
            return None
        while b"\n" not in self._rest:
            try:
                came = self._guest.line.recv(LONGEST_LINE)
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
