# SPDX-License-Identifier: Apache-2.0
"""Programs of Hoplab's that a guest's kernel runs itself, as children of this process.

They have no memory of their own, so nothing is loaded, and no switches of the host are due
(`kernel-modules/guest/c/resident.c`). Such a start takes a twentieth of a process's.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hoplab.guest.system.processes import ends_within
from hoplab.model import reading

DEVICE = "/dev/hoplab-resident"
HOPLAB_RESIDENT_START = 0x6803
WANTED = struct.Struct("=QQiI")
"""Address and length of a name, a line, and a document; the descriptor of its output; nothing."""
LACKING = (errno.ENOENT, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTTY, errno.ENODEV)
"""What a kernel says that does not do this, or does not in real time."""


class Resident:
    """A child in the kernel, with what a `subprocess.Popen` has."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit status if it has ended, -n for a signal n."""
        return self._look(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends."""
        if timeout is not None and self.returncode is None and not ends_within(self.pid, timeout):
            raise subprocess.TimeoutExpired(DEVICE, timeout)
        status = self._look(0)
        assert status is not None
        return status

    def terminate(self) -> None:
        """Ask it to end."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._send(signal.SIGKILL)

    def _look(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _send(self, number: signal.Signals) -> None:
        # A child that has not been waited for keeps its number.
        if self.poll() is None:
            os.kill(self.pid, number)


def start(command: Sequence[str], output: int) -> Resident | None:
    """Start a program with its document in this process's namespaces. None where the kernel does
    not do that."""
    path, document = command
    text = os.fsencode(Path(path).name) + b"\n" + reading.content(Path(document))
    kept = ctypes.create_string_buffer(text, len(text))
    wanted = bytearray(WANTED.pack(ctypes.addressof(kept), len(text), output, 0))
    try:
        device = os.open(DEVICE, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return Resident(fcntl.ioctl(device, HOPLAB_RESIDENT_START, wanted, True))
        finally:
            os.close(device)
    except OSError as error:
        if error.errno in LACKING:
            return None
        raise
