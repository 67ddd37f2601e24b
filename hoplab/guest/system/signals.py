# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a command to end, as an exception that clears up as it passes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
IMPORTS = "<frozen importlib"
"""How the files of Python's own imports begin."""
AGAIN_S = 0.001


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
    """State of this process: which signal has come, and whether it may end what goes on."""

    number: int | None = None
    postponing = False
    is_due = False


def raise_on_signals(numbers: Sequence[signal.Signals] = ENDING) -> None:
    """Make the first signal of ``numbers`` raise `Stopped` from now on. Further signals change
    nothing, so they cannot interrupt the clearing up."""
    for number in numbers:
        # A user who starts a command with nohup wants it to go on.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    sys.unraisablehook = _on_unraisable


def end() -> None:
    """Ignore signals from now on: all is done, and the interpreter clears up."""
    for number in (*ENDING, signal.SIGALRM):
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
    if _State.is_due and _State.number is not None:
        raise Stopped(_State.number)


def came() -> Stopped | None:
    """The signal that has come, if one has. A library in which `Stopped` was raised may have made
    an error of its own of it."""
    return None if _State.number is None else Stopped(_State.number)


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _State.number is not None:
        return
    if frame is not None and frame.f_code.co_filename.startswith(IMPORTS):
        # An import may lose the exception: it gives its locks back in a callback.
        _come_again(number)
        return
    _State.number = number
    if _State.postponing:
        _State.is_due = True
        return
    raise Stopped(number)


def _on_unraisable(ignored: sys.UnraisableHookArgs) -> None:
    """Python had to ignore an exception, as in a destructor: a signal's comes again."""
    if isinstance(ignored.exc_value, Stopped):
        _State.number = None
        _come_again(ignored.exc_value.number)
    else:
        sys.__unraisablehook__(ignored)


def _come_again(number: int) -> None:
    signal.signal(signal.SIGALRM, lambda _, frame: _on_signal(number, frame))
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
