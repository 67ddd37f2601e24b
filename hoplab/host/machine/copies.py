# SPDX-License-Identifier: Apache-2.0
"""A guest that stands by, and copies of it (`kernel-modules/guest/c/copies.c`).

A copy is a run of its own. It starts in some 50 ms instead of a second, and keeps pages in the
original's memory until it writes to them. So its original never goes on. A whole copy shares no
page with the guest that it is a copy of. That one goes on, and may be a copy itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from hoplab.host.machine import confined, memory, private, processes
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Boot, Guest
from hoplab.host.machine.launcher import confine
from hoplab.host.machine.watch import kill

LONGEST_ANSWER = 64
GO, COPY, WHOLE, COPIED = b"go", b"copy", b"whole", b"copied"
CREDENTIALS = struct.Struct("3i")
"""``struct ucred`` of unix(7): process, user, group."""
END_S = 5.0
ANSWER_S = 60.0
"""Seconds after which an original that stands by has not made a copy, and never will."""


class Line:
    """A line between a guest and the host, with both its ends. It keeps the bounds of messages."""

    def __init__(self) -> None:
        self.own, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def go(self) -> None:
        """Let the guest go on itself when it stands by."""
        _go(self.own)

    def end(self) -> None:
        """Let the guest see the line's end, also if a child of this process has inherited it."""
        with contextlib.suppress(OSError):
            self.own.shutdown(socket.SHUT_RDWR)
        self.own.close()

    def close(self) -> None:
        """Close both ends."""
        self.own.close()
        self.other.close()


class Copy:
    """A running copy, with the part of `subprocess.Popen` that guests need."""

    def __init__(self, pid: int, stdout: IO[bytes] | None) -> None:
        self.pid = pid
        self.stdout = stdout

    def wait(self, timeout: float) -> int | None:
        """Wait for the end, and reap the process. Raises `subprocess.TimeoutExpired`."""
        return processes.reap(self.pid, timeout)


def end(process: subprocess.Popen[bytes] | Copy) -> None:
    """End and reap a guest with all its processes. It has not been reaped, so the signal meets
    nobody else. A copy that has just begun may have some that would outlive it otherwise: it does
    not trace them yet."""
    kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_S)


def copied(answer: bytes) -> int | None:
    """Return the process that is a copy, as the original says; None if it says no such thing."""
    word, _, number = answer.partition(b" ")
    return int(number) if word == COPY and number.isdigit() else None


@dataclass(frozen=True)
class Output:
    """Where a copy's output and errors go. None for output is a pipe to `Copy.stdout`."""

    stdout: int | None = None
    stderr: int | None = None


@dataclass(frozen=True)
class Wish:
    """What a copy is to be: ``guest`` that runs ``argv``, at a core, with outputs."""

    guest: Guest
    argv: Sequence[str]
    boot: Boot
    core: Core
    output: Output = Output()


class Asked:
    """A copy that has been asked for. Until it is `taken`, it ends when this is closed. So does its
    line to the host."""

    def __init__(self, original: Standing, wish: Wish, folder: Path) -> None:
        self.folder = folder
        """The copy's own."""
        self.line = Line()
        self.reader: IO[bytes] | None = None
        self.added: list[Path] = []
        """What its folder of results has of the original's."""
        self._original = original
        self._wish = wish
        self._made: Copy | None = None
        self.is_taken = False

    def taken(self) -> Copy | None:
        """Return the copy; None if there is none, and then there never will be one. Call it with
        signals held: from here on only the caller ends the copy."""
        made = self.made()
        self.is_taken = made is not None
        return made

    def made(self) -> Copy | None:
        """Return the copy as `taken` does, but do not take it."""
        if self._made is not None:
            return self._made
        said, speaker = self._said()
        pid = copied(self._original.answer())
        # The guest may be a stranger's, and say anything. The host's kernel knows who spoke.
        if pid is None or said != COPIED or speaker != pid or not self._original.has_made(pid):
            self._original.reap(pid, speaker)
            return None
        self.line.own.setblocking(True)
        self._made = self._original.copy(pid, self.reader)
        return self._made

    def fits(self, wish: Wish) -> bool:
        """Return whether it is a copy that was made ahead for this wish, and still waits."""
        if self._made is None or self._wish.guest != wish.guest or self._wish.output != wish.output:
            return False
        return not processes.has_ended(self._made.pid)

    def move(self, core: Core) -> None:
        """Have a copy that was made ahead run on another core."""
        assert self._made is not None
        core.take(process.pid for process in processes.of(self._made.pid))

    def fill(self) -> None:
        """Give its folder of results what the original's has. Raises `OSError` if that cannot
        be."""
        if self._original.results is not None and self._wish.guest.out is not None:
            _add(self._original.results, self._wish.guest.out, self.added)

    def standing(self, copy: Copy) -> Standing:
        """Return the copy as a guest that stands by, for the times when it does."""
        return self._original.copied(copy.pid, self.line.own, self._wish.guest.out)

    def close(self) -> None:
        """Forget the copy, unless it has been taken."""
        if not self.is_taken:
            if self._made is not None:
                end(self._made)
            self.line.close()
            if self.reader is not None:
                self.reader.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            for path in self.added:
                _remove(path)

    def _said(self) -> tuple[bytes, int | None]:
        """Return what the copy said, and which process that was."""
        try:
            room = socket.CMSG_SPACE(CREDENTIALS.size)
            said, about, _, _ = self.line.own.recvmsg(LONGEST_ANSWER, room)
        except OSError:
            return b"", None
        for level, kind, data in about:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return said, CREDENTIALS.unpack(data[: CREDENTIALS.size])[0]
        return said, None


class Standing:
    """A guest that stands by: its process, its line, its memory's folder and size. Copies have
    folders of their own in ``home``, and get what it has in its folder of ``results``. ``word`` is
    the kind of copies."""

    narrows = False
    """Whether its copies may write to less than it."""

    def __init__(
        self,
        pid: int,
        line: socket.socket,
        memory_at: str,
        memory_mb: int,
        home: Path,
        results: Path | None,
        word: bytes = COPY,
    ) -> None:
        self.pid = pid
        self.line = line
        self.memory_at = memory_at
        self._memory_mb = memory_mb
        self._home = home
        self.results = results
        self._word = word

    def copied(self, pid: int, line: socket.socket, results: Path | None) -> Standing:
        """Return a copy of it, once it stands by itself. It makes whole copies."""
        return Standing(pid, line, self.memory_at, self._memory_mb, self._home, results, WHOLE)

    def ask(self, wish: Wish, is_ahead: bool = False) -> Asked | None:
        """Ask for a copy, and wait until it has begun. Returns None if there is no memory for it.
        Raises `OSError` if it cannot have what this guest has written. One that ``is_ahead`` of its
        run gets that later, by `Asked.fill`."""
        guest = wish.guest
        if memory.refusal(self.memory_at, self._memory_mb) is not None:
            return None
        with contextlib.ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(dir=self._home))
            asked = Asked(self, wish, folder)
            stack.callback(asked.close)
            line = asked.line
            guest.lead(folder)
            if guest.has_branches:
                (folder / private.MEMORY).symlink_to(self.memory_at)
            if not is_ahead:
                asked.fill()
            line.own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            line.own.setblocking(False)
            with contextlib.ExitStack() as given:
                given.callback(line.other.close)
                descriptors = [line.other.fileno(), _opened(given, folder, os.O_PATH)]
                descriptors += self._outputs(given, asked, wish.output)
                # An original may write wherever a copy may. A copy's own copies have its bounds.
                if self.narrows and confined.confinement() == confine.LANDLOCK:
                    may_write = [str(folder), *guest.writable()]
                    if guest.has_branches:
                        may_write += [str(self._home), self.memory_at]
                    rules = confine.rules(may_write, guest.readable())
                    given.callback(os.close, rules)
                    descriptors.append(rules)
                with contextlib.suppress(OSError), self._at(wish.core):  # else its line will tell
                    socket.send_fds(self.line, [self._word], descriptors)
                    select.select([line.own], [], [], ANSWER_S)
            stack.pop_all()
        return asked

    @contextlib.contextmanager
    def _at(self, core: Core) -> Iterator[None]:
        """Have the guest at a core, which copies that it makes meanwhile keep."""
        before = os.sched_getaffinity(self.pid)
        os.sched_setaffinity(self.pid, {core.number})
        yield
        os.sched_setaffinity(self.pid, before)

    def has_made(self, pid: int) -> bool:
        """Return whether a process that calls itself a copy can be one."""
        return processes.is_child(pid)

    def copy(self, pid: int, stdout: IO[bytes] | None) -> Copy:
        """Return a copy, which is this process."""
        return Copy(pid, stdout)

    def go(self) -> None:
        """Let the guest go on, once whole copies have been taken."""
        _go(self.line)

    @staticmethod
    def _outputs(given: contextlib.ExitStack, asked: Asked, output: Output) -> list[int]:
        nothing = _opened(given, os.devnull, os.O_RDWR)
        stdout = output.stdout
        if stdout is None:
            reader, stdout = os.pipe2(os.O_CLOEXEC)
            given.callback(os.close, stdout)
            asked.reader = os.fdopen(reader, "rb")
        return [stdout, nothing if output.stderr is None else output.stderr]

    def answer(self) -> bytes:
        """Return the answer to the last request; nothing if the original has ended, or hangs."""
        if not select.select([self.line], [], [], ANSWER_S)[0]:
            return b""
        try:
            return self.line.recv(LONGEST_ANSWER)
        except OSError:
            return b""

    def reap(self, pid: int | None, speaker: int | None = None) -> None:
        """End and reap a copy that failed, ``speaker`` if it has spoken. Other processes are left
        alone, whatever the guest said: each guest has a session of its own."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if pid is None or not processes.is_child(pid):
                return
            if speaker == pid or os.getsid(pid) == self.pid:
                os.kill(pid, signal.SIGKILL)
            processes.reap(pid, END_S)


class Source(Protocol):
    """Guests of which others can be copies."""

    def asked(self, wish: Wish) -> AbstractContextManager[Asked | None]:
        """Return a context of a copy to take; of None if a guest has to boot."""


def _go(line: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended, which others report
        line.send(GO)


def _add(source: Path, target: Path, added: list[Path]) -> None:
    """Add to a folder what another one has beside it, and to ``added`` what that is. A guest made
    it, so it may be anything: links are copied as links, and special files raise `OSError`."""
    for entry in source.iterdir():
        made = target / entry.name
        if os.path.lexists(made):
            continue
        added.append(made)
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, made, symlinks=True)
        else:
            shutil.copy2(entry, made, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _opened(stack: contextlib.ExitStack, path: Path | str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor
