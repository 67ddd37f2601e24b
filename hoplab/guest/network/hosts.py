# SPDX-License-Identifier: Apache-2.0
"""Stations' names as host names: /etc/hosts of the programs that a run starts."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from hoplab.model.errors import MissingTool

CLONE_FS, CLONE_NEWNS = 0x00000200, 0x00020000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
LOCALHOST = "127.0.0.1 localhost\n::1 localhost\n"
SWITCH = "passwd: files\ngroup: files\nhosts: files\n"
"""Only the file is asked, since there is no name server."""
MOUNTS = Path("/proc/thread-self/ns/mnt")


class Hosts:
    """A file of addresses by name, which a program sees in place of /etc/hosts.

    A mount namespace provides it, as `ip netns exec` does. Other users of this kernel keep their
    file.
    """

    def __init__(self, folder: Path, address: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        lines = "".join(f"{address} {name}\n" for name, address in address.items())
        texts = {"hosts": LOCALHOST + lines, "nsswitch.conf": SWITCH}
        covers = {name: Path("/etc", name) for name in texts if Path("/etc", name).exists()}
        for name in covers:
            (folder / name).write_text(texts[name], encoding="ascii")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._before = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        with self._coming_back():
            self._done(self._libc.unshare(CLONE_NEWNS))
            self._done(self._libc.mount(None, b"/", None, MS_SLAVE | MS_REC, None))
            for name, covered in covers.items():
                pair = os.fsencode(folder / name), os.fsencode(covered)
                self._done(self._libc.mount(*pair, None, MS_BIND, None))
            self._own = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def known(self) -> Iterator[None]:
        """Programs started inside see the names. No function runs between fork and exec, because
        Python would then copy this process with all its mapped memory."""
        with self._coming_back() as folder:
            self._done(self._libc.setns(self._own, CLONE_NEWNS))
            with suppress(OSError):  # it is not there
                os.chdir(folder)
            yield

    def processes(self) -> list[int]:
        """Return the processes that see the names: programs started with them, and their
        children."""
        own = os.fstat(self._own).st_ino
        found = []
        for folder in Path("/proc").glob("[1-9]*"):
            with suppress(OSError):  # it has ended
                if (folder / "ns/mnt").stat().st_ino == own:
                    found.append(int(folder.name))
        return found

    def close(self) -> None:
        """Forget the file. Programs keep it for as long as they live."""
        os.close(self._own)
        os.close(self._before)
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def _coming_back(self) -> Iterator[str]:
        # Only a thread with a current folder of its own may change its mounts. Doing so brings it
        # to the root.
        self._done(self._libc.unshare(CLONE_FS))
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield str(Path.cwd())
        finally:
            self._done(self._libc.setns(self._before, CLONE_NEWNS))
            os.fchdir(folder)
            os.close(folder)

    @staticmethod
    def _done(answer: int) -> None:
        if answer != 0:
            error = ctypes.get_errno()
            raise MissingTool(f"mount namespace: {os.strerror(error)}; this needs root")
