# SPDX-License-Identifier: Apache-2.0
"""Guests that stand by at times of a run, for commands that show other futures of it
(`hoplab.host.machine.saved`).

Each repeats the run up to its time, beside the run itself, and to the same bytes. So the run is as
if nobody had saved anything. They end with this command, and so do the copies that others use.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from hoplab.host.machine import confined, private, processes, saved
from hoplab.host.machine.copies import COPY, END_S, LONGEST_ANSWER, Wish, copied
from hoplab.host.machine.cores import Core
from hoplab.host.machine.launcher import confine
from hoplab.host.machine.originals import Original
from hoplab.host.machine.saved import Point
from hoplab.model.errors import HoplabError, MissingTool

SHARE = 0.5
"""The most that saved networks hold of the memory that would be free without them."""
KIBIBYTES, MEGABYTE = 1024, 1 << 20
MOST_AT_ONCE = 32
"""Connections to one guest. Each is a run, or about to be one."""
DESCRIPTORS = (4, 5)
"""How many come with a request: without and with rules of Landlock."""


def require() -> None:
    """Raise `MissingTool` where no guest can be copied."""
    if confined.confinement() == confine.NAMESPACE:
        raise MissingTool(
            "--save-at: needs Landlock (Linux 6.2 or newer), without which no guest is copied; "
            "leave it out: 'hoplab branch' then repeats the past"
        )


class Saving:
    """Saves ``points`` one after the other, and lets others have copies until `close`. ``room`` is
    the folder below which their runs are. ``tell`` receives a line for each point."""

    def __init__(self, points: Sequence[Point], room: Path, tell: Callable[[str], None]) -> None:
        self._room = room.resolve()
        self._tell = tell
        self._kept: list[_Served] = []
        self._lock = threading.Lock()
        self._original: Original | None = None
        """The one that is on its way to its time."""
        self._is_closed = threading.Event()
        self._is_ready = threading.Event()
        # The host ends a guest with the thread that started it.
        self._thread = threading.Thread(
            target=self._work, args=(points,), name="saving", daemon=True
        )
        self._thread.start()

    def wait(self) -> list[float]:
        """Wait until all points have been saved. Returns the times of those that are kept."""
        self._is_ready.wait()
        with self._lock:
            return [served.at_s for served in self._kept]

    def close(self) -> None:
        """End all guests, and the runs that are copies of them."""
        self._is_closed.set()
        with self._lock:
            if self._original is not None:
                self._original.close()
        self._thread.join()

    def _work(self, points: Sequence[Point]) -> None:
        # Copies have their folders in it, also those of a guest that has been dropped.
        with private.guest_folder() as home:
            try:
                for point in points:
                    if not self._is_closed.is_set():
                        self._save(point, home)
                self._is_ready.set()
                self._is_closed.wait()
            finally:
                self._is_ready.set()
                with self._lock:
                    while self._kept:
                        self._kept.pop().close()

    def _save(self, point: Point, home: Path) -> None:
        try:
            served = self._served(point, home)
        except (HoplabError, OSError) as error:
            if not self._is_closed.is_set():
                self._tell(f"--save-at {point.at_s:g}: is not saved: {error}")
            return
        with self._lock:
            self._kept.append(served)
        self._tell(f"saved: the network at {point.at_s:g} s, which holds {served.held_mb():.0f} MB")
        self._drop()

    def _served(self, point: Point, home: Path) -> _Served:
        """Return the guest of a point, once it stands there."""
        with contextlib.ExitStack() as stack:
            core = stack.enter_context(contextlib.closing(Core()))
            wish = Wish(point.guest.as_original(), point.argv, point.boot, core)
            with self._lock:
                if self._is_closed.is_set():
                    raise InterruptedError
                original = self._original = Original(wish, home, self._room)
            with contextlib.ExitStack() as made:
                made.callback(original.close)
                try:
                    original.stand(core)
                finally:
                    with self._lock:
                        self._original = None
                place = saved.Place(
                    original.pid,
                    original.memory_at,
                    str(home),
                    str(original.results),
                    str(self._room),
                )
                served = _Served(point, original, place, made)
                made.callback(served.leave)
                served.stack = made.pop_all()
                return served

    def _drop(self) -> None:
        """End the oldest ones until the others hold no more than `SHARE`."""
        with self._lock:
            while self._kept:
                held_mb = sum(served.held_mb() for served in self._kept)
                most_mb = SHARE * (available_mb() + held_mb)
                if held_mb <= most_mb:
                    return
                oldest = self._kept.pop(0)
                oldest.close()
                self._tell(
                    f"--save-at {oldest.at_s:g}: dropped, since saved networks hold {held_mb:.0f} "
                    f"MB, and {SHARE:.0%} of the free memory is {most_mb:.0f} MB"
                )


class _Served:
    """A guest that stands by, and the socket at which it makes copies."""

    def __init__(
        self,
        point: Point,
        original: Original,
        place: saved.Place,
        stack: contextlib.ExitStack,
    ) -> None:
        self.at_s = point.at_s
        self.stack = stack
        """What its end needs."""
        self._original = original
        self._place = place
        self._asking = threading.Lock()
        self._room = threading.Semaphore(MOST_AT_ONCE)
        # No guest may write to this folder.
        folder = stack.enter_context(private.guest_folder())
        self._listener = stack.enter_context(socket.socket(*saved.KIND))
        number = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._listener.bind(saved.address(number, point.name))
        finally:
            os.close(number)
        self._listener.listen(MOST_AT_ONCE)
        self._thread = threading.Thread(target=self._accept, name="saved", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the guest. Its copies go on."""
        with self._asking:
            self.stack.close()

    def leave(self) -> None:
        """Accept no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def held_mb(self) -> float:
        """Return the memory of the guest's processes. Pages of files count by their shares."""
        return sum(map(_pss_mb, processes.of(self._original.pid)))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # it has been closed
                return
            if saved.peer(connection) != os.getuid() or not self._room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(
                target=self._attend, args=(connection,), name="copy", daemon=True
            ).start()

    def _attend(self, connection: socket.socket) -> None:
        pid = None
        with connection:
            with contextlib.suppress(OSError):
                with self._asking:
                    pid = self._asked(connection)
                if pid is not None:
                    # The other side says nothing more. It closes the connection, or has gone.
                    connection.settimeout(None)
                    connection.recv(1)
            if pid is not None:
                _end(pid)
            self._room.release()

    def _asked(self, connection: socket.socket) -> int | None:
        """Pass a request on to the guest, and its answer back. Returns the process of the copy."""
        connection.settimeout(END_S)
        connection.send(self._place.message())
        word, given, _, _ = socket.recv_fds(
            connection, LONGEST_ANSWER, max(DESCRIPTORS), socket.MSG_CMSG_CLOEXEC
        )
        try:
            if word != COPY or len(given) not in DESCRIPTORS:
                return None
            socket.send_fds(self._original.line, [word], given)
        finally:
            for descriptor in given:
                os.close(descriptor)
        answer = self._original.answer()
        pid = copied(answer)
        if pid is not None and not processes.is_child(pid):
            return None
        with contextlib.suppress(OSError):
            connection.send(answer or b"refused: it has ended")
        return pid


def _end(pid: int) -> None:
    """End and reap a copy, which leads a session of its own."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            end(pid, signal.SIGKILL)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        processes.reap(pid, END_S)


def available_mb() -> float:
    """Return the memory that the host could still give, as proc(5) estimates it."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * KIBIBYTES / MEGABYTE
    return 0.0


def _pss_mb(process: processes.Process) -> float:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        for line in text.splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * KIBIBYTES / MEGABYTE
    return 0.0
