# SPDX-License-Identifier: Apache-2.0
"""Run a command as root in a fresh User-Mode Linux guest, unprivileged, in virtual time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from hoplab.host.machine import confined, images, memory, private, processes
from hoplab.host.machine.copies import Copy, Line, Output, Source, Standing, Wish, end
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Boot, Guest
from hoplab.host.machine.launcher.descriptors import LINE_FD
from hoplab.host.machine.pace import Pace, Pacer
from hoplab.host.machine.watch import Limits, Watch, last_message
from hoplab.model.errors import GuestFailed, ScenarioError
from hoplab.model.reading import content

LINE = "/dev/tty3"
"""That line in the guest, in real time."""
HELD_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@dataclass(frozen=True)
class Streams:
    """Input and output of a guest.

    ``on_line`` receives each line of standard output as it comes, after a call of
    ``while_booting``. With ``terminal`` the command has
    the caller's terminal: job control, Ctrl-C, its size. A ``line`` is a socket that the command
    has as `LINE`, a terminal in real time.

    In virtual time a command that ``stands_by`` has /dev/hoplab-host, where a read holds the whole
    guest until something comes. There it asks once whether to go on, and may do so as a copy of
    another guest, one of the ``originals``. Unless it ``is_cold``, it may start from an image. Then
    ``attend`` receives the host's end, to keep and to close, and the guest to be copied further if
    it is a copy. ``on_hold`` receives the function to call when a wait there begins and ends.
    """

    stdin: int | IO[bytes] = subprocess.DEVNULL
    stdout: int | IO[bytes] | None = None
    stderr: int | IO[bytes] | None = None
    on_line: Callable[[str], None] | None = None
    while_booting: Callable[[], None] | None = None
    terminal: bool = False
    line: int | None = None
    on_hold: Callable[[Callable[[bool], None]], None] | None = None
    stands_by: bool = False
    originals: Source | None = None
    is_cold: bool = False
    attend: Callable[[socket.socket, Standing | None], None] | None = None

    def attended(self, line: Line, standing: Standing | None) -> None:
        """Hand the host's end of a guest's line to the one that attends it."""
        if self.attend is None:
            line.end()
        else:
            self.attend(line.own, standing)


@dataclass(frozen=True)
class GuestResult:
    """Result of a guest's command: exit status as a shell gives it, wall time in s."""

    exit_status: int
    wall_s: float


def run_guest(
    guest: Guest,
    argv: Sequence[str],
    boot: Boot | None = None,
    streams: Streams | None = None,
    limits: Limits | None = None,
    pace: Pace | None = None,
) -> GuestResult:
    """Run ``argv`` in a guest and wait for it. With ``pace`` virtual time keeps to a multiple of
    real time. Raises `GuestFailed` when the kernel panics, hangs or exceeds the ``limits``."""
    boot, streams = boot or Boot(), streams or Streams()
    binary = guest.kernel
    if pace is not None and streams.while_booting is not None:
        # What it imports would hold up the pacer's thread, and the guest would run away.
        streams.while_booting()
        streams = replace(streams, while_booting=None)
    with contextlib.ExitStack() as stack:
        core = stack.enter_context(contextlib.closing(Core()))
        started = time.monotonic()
        process, folder = _copied(stack, guest, argv, boot, streams, core) or _booted(
            stack, guest, argv, boot, streams, core
        )
        watch = stack.enter_context(
            contextlib.closing(Watch(process, binary, folder, core, limits or Limits()))
        )
        hold = partial(setattr, watch, "held")
        if streams.on_hold is not None:
            streams.on_hold(hold)
        if pace is not None:
            stack.enter_context(contextlib.closing(Pacer(process, binary, pace, hold)))
        if streams.while_booting is not None:
            watch.busy_with_output = True  # nobody takes it meanwhile
            streams.while_booting()
            watch.busy_with_output = False
        _follow(process, streams.on_line, watch)
        watch.close()
        wall_s = time.monotonic() - started
        status = _status(folder)
        if status is None and watch.verdict is not None:
            raise GuestFailed(f"guest kernel: {watch.verdict}")
        if status is None:
            raise GuestFailed(
                f"guest kernel: ended without a verdict after {wall_s:.1f} s: "
                + (last_message(folder) or "it was killed from outside")
            )
        return GuestResult(status, wall_s)


def _copied(
    stack: contextlib.ExitStack,
    guest: Guest,
    argv: Sequence[str],
    boot: Boot,
    streams: Streams,
    core: Core,
) -> tuple[Copy, Path] | None:
    """Begin as a copy that ``stack`` ends. Returns it with its folder; None if one has to boot."""
    if streams.originals is None:
        return None
    wish = Wish(guest, argv, boot, core, _output(streams))
    with streams.originals.asked(wish) as asked, _held_signals():
        process = None if asked is None else asked.taken()
        if asked is None or process is None:
            return None
        stack.callback(shutil.rmtree, asked.folder, ignore_errors=True)
        stack.callback(_end, process)
    streams.attended(asked.line, asked.standing(process))
    return process, asked.folder


def _output(streams: Streams) -> Output:
    """Return where a copy's output goes, as `subprocess.Popen` would have it."""
    stdout = None if streams.on_line is not None else _number(streams.stdout, 1)
    stderr = None if streams.stderr == subprocess.DEVNULL else _number(streams.stderr, 2)
    return Output(stdout, stderr)


def _number(file: int | IO[bytes] | None, usual: int) -> int:
    if file is None:
        return usual
    return file if isinstance(file, int) else file.fileno()


def _booted(
    stack: contextlib.ExitStack,
    guest: Guest,
    argv: Sequence[str],
    boot: Boot,
    streams: Streams,
    core: Core,
) -> tuple[subprocess.Popen[bytes], Path]:
    """Boot a guest that ``stack`` ends. Returns its process and its folder."""
    command = guest.command(boot)
    folder = stack.enter_context(private.guest_folder())
    memory.attach(folder, boot.memory_mb)
    size = stack.enter_context(_lent_terminal()) if streams.terminal else ""
    guest.prepare(folder, argv, boot, size)
    may_write = [str(folder), os.path.realpath(folder / private.MEMORY), *guest.writable()]
    if streams.line is not None and not boot.virtual:
        command.append(f"con3=fd:{LINE_FD},fd:{LINE_FD}")
    files = streams.stdin, _stdout(streams), streams.stderr
    begun = confined.Start(command, core.number, folder, may_write, guest.readable(), *files)
    talk = Line() if streams.stands_by else None
    if talk is not None:
        stack.callback(talk.other.close)
    line = streams.line if talk is None else talk.other.fileno()
    # It ends after the guest, which it may wait for.
    writer = stack.enter_context(ThreadPoolExecutor(1, "image"))

    def launch(stack: contextlib.ExitStack, image: int | None) -> subprocess.Popen[bytes]:
        with _held_signals():
            process = begun.process(line, image)
            stack.callback(_end, process)
        return process

    if talk is None:
        return launch(stack, None), folder
    place = images.place(guest, argv, boot) if _may_have_image(streams) else None
    process, is_from_image = images.start(stack, launch, talk.own, place)
    if place is not None and not is_from_image:
        # Meanwhile the guest boots, and others have things to do.
        writer.submit(_let_go, guest, talk, streams, (process.pid, place))
    else:
        _let_go(guest, talk, streams)
    return process, folder


def _stdout(streams: Streams) -> int | IO[bytes] | None:
    return subprocess.PIPE if streams.on_line is not None else streams.stdout


def _may_have_image(streams: Streams) -> bool:
    """Return whether nobody wants a guest that boots, or has its line from the start. A new process
    tells the files of an image apart where its output is a pipe of its own."""
    is_wanted = not streams.is_cold and streams.attend is None
    return is_wanted and streams.on_line is not None and streams.stdin == subprocess.DEVNULL


def _let_go(
    guest: Guest, talk: Line, streams: Streams, image: tuple[int, Path] | None = None
) -> None:
    """Let a guest go on when it stands by, after its ``image`` has been written: its process, and
    the image's place."""
    if image is not None:
        images.keep(image[0], talk.own, image[1])
    if guest.can_be_copied:
        talk.go()
    streams.attended(talk, None)


def _status(folder: Path) -> int | None:
    """Return the command's status from the guest's first process; None if it wrote none."""
    try:
        return int(content(folder / "status"))
    except (OSError, ValueError):
        return None


def refuse_input() -> None:
    """Raise `ScenarioError` if standard input has something to read.

    In virtual time a guest does not wait for its host, so the input would have no effect. A program
    that reads would sleep forever. A program that polls (as Mininet's prompt does) would compute
    forever.
    """
    with contextlib.suppress(OSError):  # closed
        if _hands_over(0):
            raise ScenarioError(
                "standard input: is a pipe or a file, which a guest in virtual time cannot read; "
                "use </dev/null, give the command a file by its name, or use --realtime"
            )


def require_commands() -> None:
    """Raise `ScenarioError` if standard input has no commands for a prompt. It is then closed, or
    is neither a terminal nor a pipe or a file."""
    if sys.stdin is None or not (sys.stdin.isatty() or _hands_over(sys.stdin.fileno())):
        raise ScenarioError(
            "standard input: has no commands for a prompt; start this in a terminal, give it a "
            "pipe or a file of commands, or use --live for a page"
        )


def _hands_over(descriptor: int) -> bool:
    return not stat.S_ISCHR(os.fstat(descriptor).st_mode)


@contextlib.contextmanager
def _held_signals() -> Iterator[None]:
    """Block signals inside, where an interruption would leave a guest without an owner."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _lent_terminal() -> Iterator[str]:
    """Yield the terminal's size as ``rows columns``. Afterwards restore its settings, which the
    guest changes."""
    size = os.get_terminal_size(sys.stdin.fileno())
    settings = termios.tcgetattr(sys.stdin)
    try:
        yield f"{size.lines} {size.columns}"
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)


def _follow(
    process: subprocess.Popen[bytes] | Copy, on_line: Callable[[str], None] | None, watch: Watch
) -> None:
    """Follow the guest to its end. It is reaped by `_end`, when nobody asks for it any more."""
    if on_line is not None:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            watch.heard(line)
            watch.busy_with_output = True
            on_line(line)
            watch.busy_with_output = False
    processes.wait_for_end(process.pid)


def _end(process: subprocess.Popen[bytes] | Copy) -> None:
    end(process)
    if process.stdout is not None:
        process.stdout.close()
