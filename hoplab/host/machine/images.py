# SPDX-License-Identifier: Apache-2.0
"""Guests that start from an image: the memory of one that booted and stood by
(`hoplab.host.machine.dumped`).

Such a guest begins where the other one stood, as a copy of it would, and its results are the same
to the byte. An image serves guests that boot alike, on this computer until that starts anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import select
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from hoplab.host.machine import confined, dumped, private, store
from hoplab.host.machine.copies import ANSWER_S, COPIED, LONGEST_ANSWER
from hoplab.host.machine.guests import CPUINFO, Boot, Guest, SealedGuest
from hoplab.host.machine.processes import Leader

IMAGE, WRITTEN = b"image", b"."
MOST = 8
"""Images that stay, of some 150 MB each."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NEW = "new-"
Started = TypeVar("Started", bound=Leader)


def folder() -> Path:
    """Return where this user's images are."""
    return store.cache() / "images"


def place(guest: Guest, argv: Sequence[str], boot: Boot) -> Path | None:
    """Return the file of the image from which this guest can start; None if there can be none."""
    if not isinstance(guest, SealedGuest) or not guest.may_be_copied or not boot.virtual:
        return None
    if guest.scenario is not None:
        return None
    about = (
        *(*guest.alike(), *argv, *guest.command(boot)),
        sorted(confined.environment().items()),
        # What a process's memory depends on beside its program.
        *(platform.release(), _processor(), BOOT_ID.read_text("ascii")),
        dumped.NAME,
    )
    return folder() / hashlib.sha256(repr(about).encode()).hexdigest()[:32]


def _processor() -> str:
    """Return what the host says of its first processor, but for what changes."""
    lines = Path(CPUINFO).read_text("ascii", "replace").split("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if "MHz" not in line)


def start(
    stack: contextlib.ExitStack,
    launch: Callable[[contextlib.ExitStack, int | None], Started],
    line: socket.socket,
    place: Path | None,
) -> tuple[Started, bool]:
    """Start a guest by ``launch``, which lets a stack end it. Returns it, and whether that was from
    the image at a place, as it says at its ``line``. An image that does not serve is removed."""
    with _opened(place) as image:
        if image is not None and place is not None:
            with contextlib.ExitStack() as trial:
                process = launch(trial, image)
                if _answer(process.pid, line) == COPIED:
                    stack.push(trial.pop_all())
                    return process, True
            place.unlink(missing_ok=True)
    return launch(stack, None), False


@contextlib.contextmanager
def _opened(place: Path | None) -> Iterator[int | None]:
    """Yield a descriptor of an image; None if it is not there."""
    with contextlib.ExitStack() as stack:
        descriptor = None
        if place is not None:
            with contextlib.suppress(OSError):
                # Anyone who writes an image says what its guest does.
                private.require_own(place.parent)
                descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
                stack.callback(os.close, descriptor)
                os.utime(descriptor)  # it was used lately
        yield descriptor


def keep(pid: int, line: socket.socket, place: Path) -> None:
    """Wait until a guest stands by, and write its image. What keeps that from being written is no
    failure of the guest's."""
    with contextlib.suppress(OSError, ValueError):
        line.send(IMAGE)
        word, _, memory = _answer(pid, line).partition(b" ")
        if word == IMAGE:
            try:
                _write(pid, int(memory), place)
            finally:
                line.send(WRITTEN)


def _answer(pid: int, line: socket.socket) -> bytes:
    """Return what a guest says; nothing if its process ends before, or hangs."""
    end = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([line.fileno(), end], [], [], ANSWER_S)
        return line.recv(LONGEST_ANSWER) if line.fileno() in ready else b""
    finally:
        os.close(end)


def _write(pid: int, memory: int, place: Path) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    private.require_own(place.parent)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=NEW)
    made = Path(name)
    try:
        with os.fdopen(descriptor, "wb"):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            dumped.write(pid, memory, descriptor)
        made.replace(place)
    except BaseException:
        made.unlink()
        raise
    _prune(place.parent)


def _prune(folder: Path) -> None:
    """Remove what was not used lately, and what a killed command has left."""
    for path in folder.glob(f"{NEW}*"):
        if (own := private.lock(path)) is not None:
            path.unlink(missing_ok=True)
            os.close(own)
    found = sorted(folder.iterdir(), key=_used, reverse=True)
    for path in found[MOST:]:
        path.unlink(missing_ok=True)


def _used(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # another command has removed it
        return 0
