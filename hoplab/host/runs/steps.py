# SPDX-License-Identifier: Apache-2.0
"""The host's end of a run that asks at each step how to go on (`hoplab.guest.lab.stepped`).

The guest may be a stranger's machine. If its line is not one of the expected ones, the run has
failed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hoplab.host.machine.copies import Asked, Standing, Wish
from hoplab.model import lines
from hoplab.model.errors import GuestFailed, ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.requests import Request
from hoplab.model.lines import Lines

LONGEST_LINE = 1 << 16
SEEDED = (requests.Reseed,)


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

    With answers ``told`` it is a run that branches off another one, after these answers. Its guest
    is a whole copy of that one's (`asked`), or repeats its past.
    """

    def __init__(
        self,
        wanted: Wanted,
        told: Sequence[Sequence[Request]] | None = None,
        first: Sequence[Request] = (),
        begun_s: float | None = None,
    ) -> None:
        """``first`` is what the next answer begins with, and ``begun_s`` when a branch did."""
        self.begun_s = begun_s
        self.wanted = wanted
        self._first = list(first)
        self._at_s = 0.0
        self._is_branch = told is not None
        self.told = list(told or ())
        """All answers to the guest so far."""
        self._own: socket.socket | None = None
        self._standing: Standing | None = None
        self._handle: int | None = None
        """Of the process of a guest that is a copy."""
        self._waits = False
        self._lines = Lines(LONGEST_LINE)
        self._heard: list[dict[str, Any]] = []
        self._closing = threading.Lock()
        self.is_unwanted = False
        """Whether nobody wants results any more."""
        self._closed = False
        self._attended = threading.Event()
        self._hold: Callable[[bool], None] = lambda held: None

    def branch(self, seed: int | None = None) -> Steps:
        """Return the steps of a run that branches off here. It has to `repeat` the past first. What
        it draws from here on follows from ``seed``. Raises `ScenarioError` for none."""
        more = [] if seed is None else [requests.read({"do": "reseed", "seed": seed}, SEEDED)]
        return Steps(self.wanted, self.told, [*self._first, *more], self._at_s)

    @property
    def seed(self) -> int | None:
        """The seed of a branch from its beginning on, if it has one of its own."""
        seeds = [one.seed for one in self._first if isinstance(one, requests.Reseed)]
        return seeds[-1] if seeds else None

    @contextlib.contextmanager
    def asked(self, wish: Wish) -> Iterator[Asked | None]:
        """Yield a whole copy of the guest, which waits at a step; None if it cannot be copied."""
        if self._standing is None:
            yield None
            return
        self._say({"branch": True})
        asked = None
        try:
            with contextlib.suppress(OSError):
                asked = self._standing.ask(wish)
            yield asked
        finally:
            if asked is not None:
                asked.close()
            self._standing.go()

    def attend(self, own: socket.socket, standing: Standing | None) -> None:
        """Talk with a guest that has begun, at the host's end of its line. If it is a copy, copies
        of it can be made while it waits."""
        with self._closing:
            if self._closed:
                own.close()
                return
            self._own, self._standing = own, standing
            if standing is not None:
                self._handle = os.pidfd_open(standing.pid)
            if not self._is_there:
                self._say(asdict(self.wanted))
        self._attended.set()

    @property
    def _is_there(self) -> bool:
        """Whether the guest is at the step where its run branches off, as a copy."""
        return self._is_branch and self._standing is not None

    def repeat(self) -> None:
        """Bring the guest to the step at which its run branches off."""
        self._attended.wait()
        if self._is_there:
            self._wait(True)
            return
        for again in self.told:
            self._reached_again()
            self._answer(again)
        self._reached_again()

    def _reached_again(self) -> None:
        with contextlib.suppress(ScenarioError):  # it was reported before
            self._reached()

    def held_by(self, hold: Callable[[bool], None]) -> None:
        """Call ``hold`` when the guest begins to wait for an answer, and when it has one. The watch
        for hanging guests then ignores the wait."""
        with self._closing:
            self._hold = hold
            if self._waits:
                hold(True)

    def _wait(self, waits: bool) -> None:
        with self._closing:
            self._waits = waits
            self._hold(waits)

    def reached(self) -> float | None:
        """Wait for the next step. Returns its time in s, or None if the run has ended. Raises
        `ScenarioError` for a refused act; the guest then waits for others."""
        self._attended.wait()
        return self._reached()

    def _reached(self) -> float | None:
        said = self._hear()
        if said is None:
            return None
        self._wait(True)
        if "refused" in said:
            raise ScenarioError(str(said["refused"]))
        at = said.get("at")
        if not isinstance(at, int | float):
            raise GuestFailed(f"guest: said {said!r:.60} where it had to name a step")
        self._at_s = float(at)
        return self._at_s

    def go_on(self, acts: Sequence[Request]) -> None:
        """Have ``acts`` carried out, and let the run go on to its next step."""
        acts, self._first = [*self._first, *acts], []
        self.told.append(acts)
        self._answer(acts)

    def _answer(self, acts: Sequence[Request]) -> None:
        self._wait(False)
        self._say({"acts": [act.document() for act in acts]})

    @property
    def can_branch(self) -> bool:
        """Whether copies of the guest can be made where it waits, once it has begun."""
        return self._standing is not None

    def close(self, at_once: bool = False) -> None:
        """End the answers. A run that goes on fails at its next step. With ``at_once`` its guest
        ends now, if it is a copy: nobody wants its results, so it takes nothing down."""
        with self._closing:
            self._closed = True
            self.is_unwanted = self.is_unwanted or at_once
            if self._handle is not None:
                if at_once:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(self._handle, signal.SIGKILL)
                os.close(self._handle)
                self._handle = None
            if self._own is not None:
                with contextlib.suppress(OSError):
                    self._own.shutdown(socket.SHUT_RDWR)
                self._own.close()
        self._attended.set()

    def _say(self, what: dict[str, Any]) -> None:
        assert self._own is not None
        with contextlib.suppress(OSError):  # the run has ended, which `reached` will report
            self._own.sendall(lines.line(what))

    def _hear(self) -> dict[str, Any] | None:
        if self._own is None:
            return None
        while not self._heard:
            try:
                came = self._own.recv(LONGEST_LINE)
            except OSError:
                return None
            if not came:
                return None
            try:
                self._heard += map(lines.value, self._lines.cut(came))
            except ValueError as error:
                raise GuestFailed(f"guest: said {came[:60]!r}, which {error}") from None
        return self._heard.pop(0)
