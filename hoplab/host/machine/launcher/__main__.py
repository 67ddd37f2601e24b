# SPDX-License-Identifier: Apache-2.0
"""Become a guest's kernel: the program between `hoplab.host.machine.uml` and it.

Core and confinement of a guest's process must be set before its first instruction, which is only
possible from inside. Python must not run between fork and exec of a process with threads, but this
process has a single thread. Isolated and without site (``python -I -S``) it starts in 10 ms, as
long as it imports nothing that needs more of the standard library. A guest waits for it:

    launcher parent=PID core=N confinement=MODE writable=PATH … readable=PATH …
             line=FD image=FD -- COMMAND …
    launcher --facts      say what is to be had of it

It reads everywhere if nothing is named as readable.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import sys

# They are beside this file, and in nobody's path.
sys.path.insert(0, __file__.rpartition("/")[0])
import confine  # type: ignore[import-not-found]
from descriptors import (  # type: ignore[import-not-found]
    ADDR_NO_RANDOMIZE,
    CONSOLE_FD,
    IMAGE_FD,
    LINE_FD,
)

CONSOLE_LOG = "console.log"
PR_SET_PDEATHSIG = 1
SIG_SETMASK, SIGKILL = 2, 9
NO_SIGNALS = bytes(128)
"""An empty sigset_t."""
ENVIRONMENT = {
    "HOME": "/proc/self/cwd",
    "PATH": "/usr/bin:/bin",
    "TMPDIR": "/proc/self/cwd/memory",
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}
"""The same environment for every guest, because the kernel's first stack holds it. The C library's
restartable sequences lie in memory that a guest's processes give up. The host would kill them for
it."""


def main(words: list[str]) -> None:
    """Never returns: becomes the command or exits."""
    if words == ["--facts"]:
        import json

        print(json.dumps({"confinement": confine.available(), "environment": ENVIRONMENT}))
        return
    end = words.index("--")
    told: dict[str, list[str]] = {}
    for word in words[:end]:
        name, _, value = word.partition("=")
        told.setdefault(name, []).append(value)
    _become(words[end + 1 :], told)


def _become(command: list[str], told: dict[str, list[str]]) -> None:
    places = {LINE_FD: told.get("line"), IMAGE_FD: told.get("image")}
    # One may have the number that is another's place.
    given = {
        place: fcntl.fcntl(int(number[0]), fcntl.F_DUPFD_CLOEXEC, max(places) + 1)
        for place, number in places.items()
        if number is not None
    }
    console = os.open(CONSOLE_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(console, CONSOLE_FD)
    os.set_inheritable(CONSOLE_FD, True)  # it may have the same number
    try:
        for place, number in given.items():
            os.dup2(number, place)
        library = ctypes.CDLL(None)
        library.sigprocmask(SIG_SETMASK, NO_SIGNALS, None)
        library.prctl(PR_SET_PDEATHSIG, SIGKILL)
        if [str(os.getppid())] != told["parent"]:
            raise OSError(0, "who started it has gone")
        os.sched_setaffinity(0, map(int, told["core"]))
        (mode,) = told["confinement"]
        confine.apply(mode, told.get("writable", []), told.get("readable"))
        # The guest's kernel keeps one descriptor open for every host file in use.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # Where that is forbidden, as in some containers, such a kernel goes on with random ones.
        library.personality(ADDR_NO_RANDOMIZE)
        os.execve(command[0], ["linux", *command[1:]], ENVIRONMENT)
    except OSError as error:
        os.write(CONSOLE_FD, f"it could not be started: {error}\n".encode())
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
