# SPDX-License-Identifier: Apache-2.0
"""Guests that stand by, booted and with the lab loaded, as originals of copies
(`hoplab.host.machine.copies`).

A copy's results are those of a guest that booted, to the byte. Whatever keeps a copy from being
made, a guest boots instead. An original is started when the same guest is asked for a second time,
or at once. It ends with the process that started it, which keeps `MOST` of them.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from hoplab.host.machine import confined, images, memory, private
from hoplab.host.machine.copies import COPY, END_S, WHOLE, Asked, Line, Standing, Wish, copied, end
from hoplab.host.machine.cores import Core
from hoplab.host.machine.guests import Guest
from hoplab.host.machine.watch import Limits, Watch
from hoplab.model.errors import GuestFailed, HoplabError

NO_REQUEST = b"?"
MOST = 2
"""Originals that a process keeps unless it asks for more, of some 140 MB each."""


class Original(Standing):
    """A guest that stands by, or is about to. Its copies have their folders in ``home``, and their
    results in ``room``."""

    narrows = True

    def __init__(self, wish: Wish, home: Path, room: Path) -> None:
        self._stands = False
        self._reader: threading.Thread | None = None
        guest, boot = wish.guest, wish.boot
        with contextlib.ExitStack() as stack:
            self._folder = stack.enter_context(private.guest_folder())
            memory.attach(self._folder, boot.memory_mb)
            memory_at = os.path.realpath(self._folder / private.MEMORY)
            guest.prepare(self._folder, wish.argv, boot, "")
            command = guest.command(boot)
            self._binary = Path(command[0])
            line = Line()
            stack.callback(line.close)
            may_write = [str(self._folder), memory_at, str(home.resolve()), str(room)]
            # Its output is as a run's: how the kernel treats it depends on what it is.
            begun = confined.Start(
                command, wish.core.number, self._folder, may_write, guest.readable()
            )

            def launch(stack: contextlib.ExitStack, image: int | None) -> subprocess.Popen[bytes]:
                process = begun.process(line.other.fileno(), image)
                stack.callback(end, process)
                return process

            place = images.place(guest, wish.argv, boot)
            stack.callback(self._forget_copies)
            with line.other:
                self._process, is_from_image = images.start(stack, launch, line.own, place)
            self._place = None if is_from_image else place
            """Where its image is to be written."""
            results = guest.template(self._folder)
            pid, size_mb = self._process.pid, boot.memory_mb
            # What a copy keeps in another's memory is in the image already.
            word = WHOLE if is_from_image else COPY
            super().__init__(pid, line.own, memory_at, size_mb, home, results, word)
            if guest.is_copied_later:
                line.go()
            # It says how far it is, and would wait for somebody to read that.
            self._reader = threading.Thread(target=self._read, name="original", daemon=True)
            self._reader.start()
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End the original. Its copies go on."""
        self._stack.close()

    def _forget_copies(self) -> None:
        """When it has ended: end copies that nobody has taken."""
        if self._reader is not None:
            while answer := self.answer():
                self.reap(copied(answer))
            self._reader.join(END_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout:
            for _ in self._process.stdout:
                pass

    def ask(self, wish: Wish, is_ahead: bool = False) -> Asked | None:
        self.stand(wish.core)
        return super().ask(wish, is_ahead)

    def stand(self, core: Core) -> None:
        """Wait until it stands by. So far it is watched as any guest. Then it answers, also what is
        no request. Raises `GuestFailed` if it has ended."""
        if self._stands:
            return
        with contextlib.suppress(OSError):  # it has ended, which its answer tells
            self.line.send(NO_REQUEST)
        limits = Limits(progress=True)
        with contextlib.closing(Watch(self._process, self._binary, self._folder, core, limits)):
            select.select([self.line], [], [])
        if not self.answer():
            raise GuestFailed("guest kernel: ended before it stood by")
        if self._place is not None:
            images.keep(self.pid, self.line, self._place)
        self._stands = True


class Originals:
    """The originals of a process, for runs whose results lie below the folder ``room``. With
    ``at_once`` the first run of its kind is a copy too; else it may stay the only one, and boots.
    The oldest of more than ``most`` is ended.

    ``after`` tells the wish that will follow a wish, if one is expected. Its copy is made ahead. It
    waits until the host says something at its line, or closes that.
    """

    def __init__(
        self,
        room: Path,
        at_once: bool = False,
        most: int = MOST,
        after: Callable[[Wish], Wish | None] = lambda wish: None,
    ) -> None:
        self._room = room.resolve()
        self._most = most
        self._at_once = at_once
        self._asked: set[Hashable] = set()
        self._refused: set[Hashable] = set()
        self._originals: OrderedDict[Hashable, Original] = OrderedDict()
        self._stack = contextlib.ExitStack()
        self._home: Path | None = None
        self._lock = threading.Lock()
        self._after = after
        self._ahead: tuple[Hashable, Asked] | None = None
        self._maker = ThreadPoolExecutor(1, "ahead")
        # The host ends a guest with the thread that started it.
        self._thread = ThreadPoolExecutor(1, "originals")

    def close(self) -> None:
        """End the originals, and copies that still run."""
        self._maker.shutdown(cancel_futures=True)
        with self._lock:
            self._drop_ahead()
            while self._originals:
                self._originals.popitem()[1].close()
            self._stack.close()
            self._home = None
        self._thread.shutdown()

    @contextlib.contextmanager
    def asked(self, wish: Wish) -> Iterator[Asked | None]:
        """Yield a copy to take; None if a guest has to boot."""
        key = (*wish.guest.alike(), *wish.argv, wish.boot)
        with self._lock:
            asked = None
            if self._serves(key, wish.guest):
                with contextlib.suppress(OSError, HoplabError):
                    asked = self._made_ahead(key, wish) or self._ask(key, wish)
                if asked is None:
                    self._forget(key)
            try:
                yield asked
            finally:
                if asked is not None:
                    asked.close()
                    if not asked.is_taken:
                        self._forget(key)
                    elif (after := self._after(wish)) is not None:
                        with contextlib.suppress(RuntimeError):  # this is about to be closed
                            self._maker.submit(self._make_ahead, key, after)

    def _serves(self, key: Hashable, guest: Guest) -> bool:
        """Return whether there is to be a copy."""
        if not guest.may_be_copied:
            return False
        out = Path(os.path.realpath(guest.out or "/"))
        if key in self._refused or not out.is_relative_to(self._room):
            return False
        if self._at_once or key in self._asked:
            return True
        self._asked.add(key)
        return False

    def _ask(self, key: Hashable, wish: Wish) -> Asked | None:
        if self._home is None:
            self._home = self._stack.enter_context(private.guest_folder())
        if key not in self._originals:
            while len(self._originals) >= self._most:
                self._originals.popitem(last=False)[1].close()
            seed = replace(wish, guest=wish.guest.as_original())
            started = self._thread.submit(Original, seed, self._home, self._room)
            self._originals[key] = started.result()
        self._originals.move_to_end(key)
        return self._originals[key].ask(wish)

    def _make_ahead(self, key: Hashable, wish: Wish) -> None:
        with self._lock, contextlib.suppress(OSError, HoplabError):
            self._drop_ahead()
            if (original := self._originals.get(key)) is None:
                return
            # Beside the run that goes on, and not on its core.
            with contextlib.closing(Core()) as core:
                asked = original.ask(replace(wish, core=core), is_ahead=True)
            if asked is None:
                return
            if asked.made() is None:
                asked.close()
                self._forget(key)
                return
            self._ahead = key, asked

    def _made_ahead(self, key: Hashable, wish: Wish) -> Asked | None:
        """Return the copy that was made ahead for this wish, if there is one."""
        if self._ahead is None or self._ahead[0] != key or not self._ahead[1].fits(wish):
            return None
        (_, asked), self._ahead = self._ahead, None
        asked.move(wish.core)
        try:
            asked.fill()
        except OSError:
            asked.close()
            raise
        return asked

    def _drop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead[1].close()
            self._ahead = None

    def _forget(self, key: Hashable) -> None:
        """Boot such guests from now on."""
        self._refused.add(key)
        if self._ahead is not None and self._ahead[0] == key:
            self._drop_ahead()
        if key in self._originals:
            self._originals.pop(key).close()
