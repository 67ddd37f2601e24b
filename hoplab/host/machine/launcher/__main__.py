# SPDX-License-Identifier: Apache-2.0
"""Become a guest's kernel: the program between `hoplab.host.machine.uml` and it.

Core and confinement of a guest's process must be set before its first instruction, which is only
possible from inside. Python must not run between fork and exec of a process with threads, but this
process has a single thread. Isolated and without site (``python -I -S``) it starts in 20 ms:

    launcher '{"parent": …, "core": …, "confinement": …, "writable": […],
              "readable": […], "line": …, "image": …, "command": […]}'
    launcher --facts      say what is to be had of it
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import sys

# They are beside this file; no package is in reach.
import confine  # type: ignore[import-not-found]
from descriptors import (  # type: ignore[import-not-found]
    ADDR_NO_RANDOMIZE,
    CONSOLE_FD,
    IMAGE_FD,
    LINE_FD,
)

CONSOLE_LOG = "console.log"
PR_SET_PDEATHSIG = 1
ENVIRONMENT = {
    "HOME": "/proc/self/cwd",
    "PATH": "/usr/bin:/bin",
    "TMPDIR": "/proc/self/cwd/memory",
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}
"""The same environment for every guest, because the kernel's first stack holds it. The C library's
restartable sequences lie in memory that a guest's processes give up. The host would kill them for
it."""


def main(argument: str) -> None:
    """Never returns: becomes the command or exits."""
    if argument == "--facts":
        print(json.dumps({"confinement": confine.available(), "environment": ENVIRONMENT}))
        return
    wanted = json.loads(argument)
    places = {LINE_FD: wanted.get("line"), IMAGE_FD: wanted.get("image")}
    # One may have the number that is another's place.
    given = {
        place: fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, max(places) + 1)
        for place, number in places.items()
        if number is not None
    }
    console = os.open(CONSOLE_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(console, CONSOLE_FD)
    os.set_inheritable(CONSOLE_FD, True)  # it may have the same number
    try:
        for place, number in given.items():
            os.dup2(number, place)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != wanted["parent"]:
            raise OSError(0, "who started it has gone")
        os.sched_setaffinity(0, {wanted["core"]})
        confine.apply(wanted["confinement"], wanted["writable"], wanted.get("readable"))
        # The guest's kernel keeps one descriptor open for every host file in use.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # Where that is forbidden, as in some containers, such a kernel goes on with random ones.
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
        binary, *arguments = wanted["command"]
        os.execve(binary, ["linux", *arguments], ENVIRONMENT)
    except OSError as error:
        os.write(CONSOLE_FD, f"it could not be started: {error}\n".encode())
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
