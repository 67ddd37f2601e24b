# SPDX-License-Identifier: Apache-2.0
"""Guests that stand by, booted and with the lab loaded, as originals of copies.

A copy is a run of its own. It starts in some 50 ms instead of a second, and keeps pages in the
original's memory until it writes to them (`kernel-modules/guest/c/copies.c`). Its results are those
of a guest that booted, to the byte. Whatever keeps a copy from being made, a guest boots instead.

An original is started when the same guest is asked for a second time. It ends with the process that
started it, which keeps `MOST` of them.
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
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO

from hoplab.host.machine import confined, memory, private, processes
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Boot, SealedGuest
from hoplab.host.machine.launcher import confine
from hoplab.host.machine.watch import Limits, Watch, kill
from hoplab.model.errors import HoplabError

MOST = 2
"""Originals that a process keeps, of some 140 MB each."""
LONGEST_ANSWER = 64
GO, COPY, COPIED = b"go", b"copy", b"copied"
CREDENTIALS = struct.Struct("3i")
"""``struct ucred`` of unix(7): process, user, group."""
END_S = 5.0
ANSWER_S = 60.0
"""Seconds after which an original that stands by has not made a copy, and never will."""


def line() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a guest's line, the host's first. It keeps the bounds of messages."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def going_on() -> socket.socket:
    """Return the end of a line for a guest that goes on itself when it stands by. It has one, as a
    guest with copies does, so that both are alike."""
    own, other = line()
    with own:
        own.send(GO)
    return other


class Copy:
    """A running copy, with the part of `subprocess.Popen` that guests need."""

    def __init__(self, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout = stdout

    def wait(self, timeout: float) -> int:
        """Wait for the end, and reap the process. Raises `subprocess.TimeoutExpired`."""
        return processes.reap(self.pid, timeout)


def _copied(answer: bytes) -> int | None:
    """Return the process that is a copy, as the original says; None if it says no such thing."""
    word, _, number = answer.partition(b" ")
    return int(number) if word == COPY and number.isdigit() else None


class Asked:
    """A copy that has been asked for. Until it is `taken`, it ends when this is closed."""

    def __init__(self, original: Original, own: socket.socket, folder: Path, reader: int) -> None:
        self.folder = folder
        """The copy's own."""
        self._original = original
        self._own = own
        self._reader = os.fdopen(reader, "rb")
        self.is_taken = False

    def taken(self) -> Copy | None:
        """Return the copy; None if there is none, and then there never will be one. Call it with
        signals held: from here on only the caller ends the copy."""
        said, speaker = self._said()
        pid = _copied(self._original.answer())
        # The guest may be a stranger's, and say anything. The host's kernel knows who spoke.
        if pid is None or said != COPIED or speaker != pid or not processes.is_child(pid):
            self._original.reap(pid, speaker)
            return None
        self.is_taken = True
        return Copy(pid, self._reader)

    def close(self) -> None:
        """Forget the copy, unless it has been taken."""
        self._own.close()
        if not self.is_taken:
            self._reader.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _said(self) -> tuple[bytes, int | None]:
        """Return what the copy said, and which process that was."""
        try:
            room = socket.CMSG_SPACE(CREDENTIALS.size)
            said, about, _, _ = self._own.recvmsg(LONGEST_ANSWER, room)
        except OSError:
            return b"", None
        for level, kind, data in about:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return said, CREDENTIALS.unpack(data[: CREDENTIALS.size])[0]
        return said, None


class Original:
    """A guest that stands by, or is about to. It may write to the folders ``writable`` beside its
    own."""

    def __init__(
        self,
        guest: SealedGuest,
        argv: Sequence[str],
        boot: Boot,
        writable: Sequence[Path],
        core: int,
    ) -> None:
        self._boot = boot
        self._stands = False
        with contextlib.ExitStack() as stack:
            self._folder = stack.enter_context(private.guest_folder())
            memory.attach(self._folder, boot.memory_mb)
            self._memory = os.path.realpath(self._folder / private.MEMORY)
            guest.prepare(self._folder, argv, boot, "")
            command = guest.command(boot)
            self._binary = Path(command[0])
            self._line, other = line()
            self._line.settimeout(ANSWER_S)
            stack.callback(self._line.close)
            may_write = [str(self._folder), self._memory, *(str(p.resolve()) for p in writable)]
            number = other.fileno()
            with other:
                self._process = subprocess.Popen(
                    confined.launched(core, may_write, command, guest.readable(), number),
                    pass_fds=(number,),
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    # As a run's: how the kernel treats it depends on what it is.
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            stack.callback(self._end)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End the original. Its copies go on."""
        self._stack.close()

    def _end(self) -> None:
        kill(self._process)
        while answer := self.answer():
            self.reap(_copied(answer))  # nobody has taken it
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, guest: SealedGuest, home: Path, core: Core) -> Asked | None:
        """Ask for a copy that is ``guest``, with a folder of its own in ``home``, and wait until it
        has begun. Returns None if there is no memory for it."""
        if memory.refusal(self._memory, self._boot.memory_mb) is not None:
            return None
        with contextlib.ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(dir=home))
            own, other = line()
            reader, writer = os.pipe2(os.O_CLOEXEC)
            asked = Asked(self, own, folder, reader)
            stack.callback(asked.close)
            guest.lead(folder)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            own.setblocking(False)
            with contextlib.ExitStack() as given:
                given.callback(other.close)
                given.callback(os.close, writer)
                descriptors = [other.fileno(), self._opened(given, folder, os.O_PATH), writer]
                descriptors.append(self._opened(given, os.devnull, os.O_RDWR))
                if confined.confinement() == confine.LANDLOCK:
                    # The original may write wherever one of its copies may.
                    rules = confine.rules([str(folder), *guest.writable()], guest.readable())
                    given.callback(os.close, rules)
                    descriptors.append(rules)
                with contextlib.suppress(OSError):  # it has ended, which `own` will tell
                    os.sched_setaffinity(self._process.pid, {core.number})
                    socket.send_fds(self._line, [COPY], descriptors)
            self._wait(own, core)
            stack.pop_all()
        return asked

    @staticmethod
    def _opened(stack: contextlib.ExitStack, path: Path | str, flags: int) -> int:
        descriptor = os.open(path, flags | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        return descriptor

    def _wait(self, own: socket.socket, core: Core) -> None:
        """Wait until a copy has said something, or has gone. Until the first one has, the original
        boots, and is watched as any guest."""
        with contextlib.ExitStack() as stack:
            if not self._stands:
                limits = Limits(progress=True)
                watch = Watch(self._process, self._binary, self._folder, core, limits)
                stack.callback(watch.close)
            select.select([own], [], [], ANSWER_S if self._stands else None)
            self._stands = True

    def answer(self) -> bytes:
        """Return the answer to the last request; nothing if the original has ended, or hangs."""
        try:
            return self._line.recv(LONGEST_ANSWER)
        except OSError:
            return b""

    def reap(self, pid: int | None, speaker: int | None = None) -> None:
        """End and reap a copy that failed, ``speaker`` if it has spoken. Other processes are left
        alone, whatever the guest said: each guest has a session of its own."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if pid is None or not processes.is_child(pid):
                return
            if speaker == pid or os.getsid(pid) == self._process.pid:
                os.kill(pid, signal.SIGKILL)
            processes.reap(pid, END_S)


class Originals:
    """The originals of a process, for runs whose results lie below the folder ``room``."""

    def __init__(self, room: Path) -> None:
        self._room = room.resolve()
        self._asked: set[Hashable] = set()
        self._refused: set[Hashable] = set()
        self._originals: OrderedDict[Hashable, Original] = OrderedDict()
        self._stack = contextlib.ExitStack()
        self._home: Path | None = None
        self._lock = threading.Lock()
        # The host ends a guest with the thread that started it.
        self._thread = ThreadPoolExecutor(1, "originals")

    def close(self) -> None:
        """End the originals, and copies that still run."""
        with self._lock:
            while self._originals:
                self._originals.popitem()[1].close()
            self._stack.close()
            self._home = None
        self._thread.shutdown()

    @contextlib.contextmanager
    def asked(
        self, guest: SealedGuest, argv: Sequence[str], boot: Boot, core: Core
    ) -> Iterator[Asked | None]:
        """Yield a copy to take, as ``guest`` that runs ``argv``; None if a guest has to boot."""
        key = (*guest.alike(), *argv, boot)
        with self._lock:
            asked = None
            if self._serves(key, guest):
                with contextlib.suppress(OSError, HoplabError):
                    asked = self._ask(key, guest, argv, boot, core)
                if asked is None:
                    self._forget(key)
            try:
                yield asked
            finally:
                if asked is not None:
                    asked.close()
                    if not asked.is_taken:
                        self._forget(key)

    def _serves(self, key: Hashable, guest: SealedGuest) -> bool:
        """Return whether there is to be a copy. The first run of its kind may stay the only one."""
        if not guest.can_be_copied or confined.confinement() == confine.NAMESPACE:
            return False
        out = Path(os.path.realpath(guest.out or "/"))
        if key in self._refused or not out.is_relative_to(self._room):
            return False
        if key in self._asked:
            return True
        self._asked.add(key)
        return False

    def _ask(
        self, key: Hashable, guest: SealedGuest, argv: Sequence[str], boot: Boot, core: Core
    ) -> Asked | None:
        if self._home is None:
            self._home = self._stack.enter_context(private.guest_folder())
        if key not in self._originals:
            while len(self._originals) >= MOST:
                self._originals.popitem(last=False)[1].close()
            places = (self._home, self._room)
            self._originals[key] = self._thread.submit(
                Original, replace(guest, out=None), argv, boot, places, core.number
            ).result()
        self._originals.move_to_end(key)
        return self._originals[key].ask(guest, self._home, core)

    def _forget(self, key: Hashable) -> None:
        """Boot such guests from now on."""
        self._refused.add(key)
        if key in self._originals:
            self._originals.pop(key).close()
