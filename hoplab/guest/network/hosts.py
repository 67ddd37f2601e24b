# SPDX-License-Identifier: Apache-2.0
"""Names of stations as names of hosts: /etc/hosts of the programs that a run starts."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
LOCALHOST = "127.0.0.1 localhost\n::1 localhost\n"
SWITCH = "passwd: files\ngroup: files\nhosts: files\n"
"""Nobody is asked but the file: there is no name server."""


class Hosts:
    """A file of addresses by name, which a program sees in the place of /etc/hosts.

    A mount namespace of its own gives it that, as `ip netns exec` does. Whoever else uses this
    kernel keeps the file that is there.
    """

    def __init__(self, folder: Path, address: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{address} {name}\n" for name, address in address.items())
        self._covers: list[tuple[bytes, bytes]] = []
        for target, text in (("hosts", LOCALHOST + lines), ("nsswitch.conf", SWITCH)):
            covered = Path("/etc", target)
            if covered.exists():
                path = folder / target
                path.write_text(text, encoding="ascii")
                self._covers.append((os.fsencode(path), os.fsencode(covered)))
        self._libc = ctypes.CDLL(None, use_errno=True)

    def enter(self) -> None:
        """Between fork and exec: have this process, and what it starts, see the file."""
        self._done(self._libc.unshare(CLONE_NEWNS))
        self._done(self._libc.mount(None, b"/", None, MS_SLAVE | MS_REC, None))
        for source, target in self._covers:
            self._done(self._libc.mount(source, target, None, MS_BIND, None))

    @staticmethod
    def _done(answer: int) -> None:
        if answer != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
