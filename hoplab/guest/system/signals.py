# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a command to end, as an exception that clears up as it passes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Stopped(BaseException):
    """A signal asked the command to end; not KeyboardInterrupt, which Typer takes for itself."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_status(self) -> int:
        """The exit status that a shell gives it."""
        return 128 + self.number

    @property
    def word(self) -> str:
        return WORDS[signal.Signals(self.number)]


class _State:
    """State of this process: whether a signal may end what it does."""

    told = False
    postponing = False
    waiting: int | None = None


def raise_on_signals(numbers: Sequence[signal.Signals] = ENDING) -> None:
    """Make the first signal of ``numbers`` raise `Stopped` from now on. Further signals change
    nothing, so they cannot interrupt the clearing up."""
    for number in numbers:
        # A user who starts a command with nohup wants it to go on.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def end() -> None:
    """Ignore signals from now on: all is done, and the interpreter clears up."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def say(stopped: Stopped) -> None:
    """Write one line to standard error, if that still exists."""
    with suppress(OSError):
        os.write(2, f"hoplab: {stopped.word}\n".encode())


@contextmanager
def postponed() -> Iterator[None]:
    """Raise a signal that comes inside only at the end: results first, then exit."""
    _State.postponing = True
    try:
        yield
    finally:
        _State.postponing = False
    if _State.waiting is not None:
        raise Stopped(_State.waiting)


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _State.told:
        return
    _State.told = True
    if _State.postponing:
        _State.waiting = number
        return
    raise Stopped(number)
