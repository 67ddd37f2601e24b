# SPDX-License-Identifier: Apache-2.0
"""Guests that another command keeps standing by (`hoplab.host.machine.saving`). A run finds the one
that stands where its own future begins, and goes on as a copy of it.

The other command's sockets are in this user's private folder, and both ends ask the host's kernel
who the other is. A copy is a child of the other command, which ends it when this one has gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from hoplab.host.machine import private, processes
from hoplab.host.machine.copies import ANSWER_S, CREDENTIALS, Asked, Copy, Standing, Wish
from hoplab.host.machine.guests import Boot, Guest
from hoplab.model import lines

SOCKET = "saved-{}"
LONGEST = 1 << 17
"""Octets of a message about a guest. It has four paths of at most 4096, each octet of which may be
six in JSON."""


@dataclass(frozen=True)
class Place:
    """A guest that stands by: its process, the folders of its memory, of its copies and results.
    Runs that are copies write below ``room``."""

    pid: int
    memory: str
    home: str
    results: str
    room: str

    def message(self) -> bytes:
        """Return it as what `read` reads."""
        return lines.line(asdict(self))

    @classmethod
    def read(cls, message: bytes) -> Place:
        """Return what a message says. Raises ValueError for anything else than such a message."""
        found = lines.value(message)
        if found.keys() != {field.name for field in fields(cls)}:
            raise ValueError("is of another version")
        pid, paths = found["pid"], [found[name] for name in found if name != "pid"]
        if type(pid) is not int or not 0 < pid < 1 << 22:
            raise ValueError("has no process")
        if not all(isinstance(p, str) and p.startswith("/") and "\0" not in p for p in paths):
            raise ValueError("has no paths")
        return cls(**found)


@dataclass(frozen=True)
class Point:
    """A guest to keep at a time in s: it stands by there when its command ``argv`` has run so
    far."""

    at_s: float
    guest: Guest
    argv: Sequence[str]
    boot: Boot

    @property
    def name(self) -> str:
        """The name of its socket."""
        return name(self.guest, self.argv, self.boot)


def name(guest: Guest, argv: Sequence[str], boot: Boot) -> str:
    """Return the name of the socket of guests of which this one can be a copy: they boot alike,
    and begin the same scenario."""
    about = repr((*guest.alike(), *argv, boot)).encode()
    return SOCKET.format(hashlib.sha256(about).hexdigest()[:32])


def peer(connection: socket.socket) -> int:
    """Return the user at the other end of a socket."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return int(CREDENTIALS.unpack(told)[1])


class _Borrowed(Copy):
    """A copy that is another command's child. Once its connection is closed, that one reaps it."""

    def __init__(self, pid: int, stdout: IO[bytes] | None, connection: socket.socket) -> None:
        super().__init__(pid, stdout)
        self._connection = connection

    def wait(self, timeout: float) -> None:
        """Wait for the end. Raises `subprocess.TimeoutExpired`."""
        with contextlib.closing(self._connection):
            processes.wait_for_end(self.pid, timeout)


class _Kept(Standing):
    """The other command's guest, at the end of a ``connection``."""

    narrows = True

    def __init__(self, place: Place, connection: socket.socket, memory_mb: int) -> None:
        home, results = Path(place.home), Path(place.results)
        super().__init__(place.pid, connection, place.memory, memory_mb, home, results)
        self._connection = connection

    def has_made(self, pid: int) -> bool:
        """Return True: the other command has said so, and the copy spoke for itself."""
        return True

    def copy(self, pid: int, stdout: IO[bytes] | None) -> Copy:
        return _Borrowed(pid, stdout, self._connection)

    def reap(self, pid: int | None, speaker: int | None = None) -> None:
        """Leave it to the other command."""


class Saved:
    """Source of copies of guests that other commands keep. ``tell`` receives a line about the one
    that is used, or cannot be."""

    def __init__(self, tell: Callable[[str], None] = lambda line: None) -> None:
        self._tell = tell

    @contextlib.contextmanager
    def asked(self, wish: Wish) -> Iterator[Asked | None]:
        """Yield a copy to take; None if nobody keeps such a guest."""
        with contextlib.ExitStack() as stack:
            kept = self._kept(wish)
            asked = None
            if kept is not None:
                stack.callback(kept.line.close)
                with contextlib.suppress(OSError):
                    asked = kept.ask(wish)
            if asked is not None:
                stack.callback(asked.close)
            yield asked
            if asked is not None and asked.is_taken:
                stack.pop_all()
                self._tell("goes on from the network that another command has saved")

    def _kept(self, wish: Wish) -> _Kept | None:
        if not wish.guest.may_be_copied:
            return None
        wanted = name(wish.guest, wish.argv, wish.boot)
        for path in sorted((private.folder() / private.GUESTS).glob(f"*/{wanted}")):
            if (found := _greeted(path)) is None:
                continue
            place, connection = found
            if (why := _obstacle(place, wish)) is None:
                return _Kept(place, connection, wish.boot.memory_mb)
            connection.close()
            self._tell(f"{why}; this run repeats its past")
        return None


KIND = (socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)


def address(folder: int, name: str) -> str:
    """Return the address of a socket in an open folder, however long that one's path is."""
    return f"/proc/self/fd/{folder}/{name}"


def _greeted(path: Path) -> tuple[Place, socket.socket] | None:
    """Connect, and return what the other side says first, and the connection. Returns None where
    there is no command of this user's, or none that says such a thing."""
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError, ValueError):
        connection = stack.enter_context(socket.socket(*KIND))
        connection.settimeout(ANSWER_S)
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connection.connect(address(folder, path.name))
        finally:
            os.close(folder)
        if peer(connection) == os.getuid():
            place = Place.read(connection.recv(LONGEST))
            stack.pop_all()
            return place, connection
    return None


def _obstacle(place: Place, wish: Wish) -> str | None:
    """Return why this run cannot be a copy of a guest that it could be a copy of."""
    out = Path(os.path.realpath(wish.guest.out or "/"))
    if not out.is_relative_to(place.room):
        return f"the saved network writes to folders in {place.room} only, so give --out one there"
    try:
        os.close(os.open(f"/proc/{place.pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError:
        return "this system lets no command watch another one's guest (kernel.yama.ptrace_scope)"
    return None
