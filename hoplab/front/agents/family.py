# SPDX-License-Identifier: Apache-2.0
"""What an environment shares with those that branch off it: the guest that their runs are copies
of, and the folder of their runs. It lasts until the last of them is closed."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from hoplab.host.machine.copies import Wish
from hoplab.host.machine.originals import Originals


class Family:
    """Folders for runs below ``folder``, or below one that is removed in the end."""

    def __init__(self, folder: Path | None) -> None:
        self.is_kept = folder is not None
        self._given = folder
        self._stack: contextlib.ExitStack | None = None
        self._room = Path()
        self._members = 0
        self._counting = threading.Lock()
        self._branches = itertools.count(1)

    def join(self) -> None:
        """Count another member, in any thread."""
        with self._counting:
            self._members += 1

    def leave(self) -> None:
        """A member is closed. The last one ends the original."""
        with self._counting:
            self._members -= 1
            if self._members == 0 and self._stack is not None:
                self._stack.close()
                self._stack = None

    @property
    def originals(self) -> Originals:
        """The guests that runs are copies of."""
        if self._stack is None:
            self._begin()
        return self._originals

    def episode(self, number: int) -> Path:
        """Return a new folder for the run after the ``number``-th reset."""
        return self._folder(f"{number:04}")

    def branch(self, of: Path) -> Path:
        """Return a new folder for a branch of the run in folder ``of``."""
        return self._folder(f"{of.name.partition('-')[0]}-branch{next(self._branches)}")

    def _folder(self, name: str) -> Path:
        if self._stack is None:
            self._begin()
        return self._room / name

    def _after(self, wish: Wish) -> Wish | None:
        """Return what the next reset will wish for, once two of them let a third be expected."""
        assert wish.guest.out is not None
        name = wish.guest.out.name  # of `episode`, or `branch`
        if not name.isdigit() or int(name) < 2:
            return None
        return replace(wish, guest=wish.guest.into(self.episode(int(name) + 1)))

    def _begin(self) -> None:
        with contextlib.ExitStack() as stack:
            if self._given is None:
                made = tempfile.TemporaryDirectory(prefix="hoplab-episodes-")
                self._room = Path(stack.enter_context(made))
            else:
                self._room = self._given
                self._room.mkdir(parents=True, exist_ok=True)
            self._originals = Originals(self._room, at_once=True, after=self._after)
            stack.callback(self._originals.close)
            self._stack = stack.pop_all()
