# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a command to end, as an exception that clears up on its way."""

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
        """As a shell has it."""
        return 128 + self.number

    @property
    def word(self) -> str:
        return WORDS[signal.Signals(self.number)]


class _State:
    """Of this process: whether a signal may end what is going on."""

    told = False
    postponing = False
    waiting: int | None = None


def raise_on_signals(numbers: Sequence[signal.Signals] = ENDING) -> None:
    """From now on the first signal of ``numbers`` raises `Stopped`; further ones change nothing,
    so that they cannot end the clearing up half-way."""
    for number in numbers:
        # Who starts a command with nohup wants it to go on.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def end() -> None:
    """All is done: a signal changes nothing any more, while the interpreter clears up either."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def say(stopped: Stopped) -> None:
    """One line on standard error, if there still is one."""
    with suppress(OSError):
        os.write(2, f"hoplab: {stopped.word}\n".encode())


@contextmanager
def postponed() -> Iterator[None]:
    """A signal that comes inside is raised at the end: results first, then exit."""
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
