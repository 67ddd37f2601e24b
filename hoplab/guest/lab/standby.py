# SPDX-License-Identifier: Apache-2.0
"""Where every run in virtual time begins anew: the kernel has booted, the lab is loaded, and
nothing of the scenario exists.

There a guest stands by: it goes on itself, or copies of it do, each with a scenario of its own.

Until then, the lab's own code decides how much it drew and how often it read a clock. The number of
its modules is an example, and so is the number of the kernel's threads. A run must not depend on
this. So it goes on from a whole second. The kernel's random numbers and the first process id
depend on the scenario's seed alone from there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import gc
import os
import time

from hoplab.guest.lab.clock import NANOSECONDS
from hoplab.model.errors import MissingTool
from hoplab.model.streams import stream_seed

GENERATOR = "/dev/urandom"
RNDCLEARPOOL = 0x5206
"""Of ``linux/random.h``. With `kernel-modules/guest/c/seeded_pool.h` its argument is a seed."""
HOST = "/dev/hoplab-host"
HOPLAB_STAND_BY = 0x6801
"""See `kernel-modules/guest/c/host.c`."""
LAST_PROCESS = "/proc/sys/kernel/ns_last_pid"
FIRST_PROCESSES = range(1_000, 31_000)
"""Where process ids begin: behind those of the boot, and below the kernel's greatest, 32,768."""


def stand_by(until_told: bool = False) -> None:
    """Wait until the host lets this guest go on, or a copy of it. Virtual time stands still. A
    guest without a line to its host, or with a kernel without copies, goes on at once.

    A copy that is made ahead of its run waits ``until_told``: until its line ends.
    """
    try:
        line = os.open(HOST, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        stand_by_at(line)
        if until_told:
            with contextlib.suppress(OSError):  # the line has ended already
                os.read(line, 1)
    finally:
        os.close(line)


def keep() -> None:
    """Let what is there stay. A copy that looked through it for garbage would copy its pages."""
    gc.collect()
    gc.freeze()


def stand_by_at(line: int) -> None:
    """Do so at the open line to the host."""
    try:
        fcntl.ioctl(line, HOPLAB_STAND_BY)
    except OSError as error:
        if error.errno != errno.ENOTTY:
            raise


def begin(seed: int) -> None:
    """Wait for the next whole second of CLOCK_MONOTONIC and seed the kernel's generator of random
    numbers there, which takes 64 bits of ``seed``. Process ids begin anew too."""
    now_ns = time.monotonic_ns()
    time.sleep((-now_ns % NANOSECONDS) / NANOSECONDS)
    reseed(seed)


def reseed(seed: int) -> None:
    """Seed the kernel's generator of random numbers now, and the process ids. Some programs draw
    from theirs: batmand does."""
    generator = os.open(GENERATOR, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ioctl(generator, ctypes.c_ulong(RNDCLEARPOOL), ctypes.c_uint64(seed)) != 0:
            error = os.strerror(ctypes.get_errno())
            raise MissingTool(f"{GENERATOR}: takes no seed: {error}; run as root")
    finally:
        os.close(generator)
    first = FIRST_PROCESSES[stream_seed(seed, "processes") % len(FIRST_PROCESSES)]
    try:
        # Python's own files read the clock, which takes virtual time.
        last = os.open(LAST_PROCESS, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise MissingTool(
            f"{LAST_PROCESS}: missing: an older version built this kernel; build it anew by "
            "'make setup', or with the options it had by 'hoplab machine build'"
        ) from None
    try:
        os.write(last, b"%d" % (first - 1))
    finally:
        os.close(last)
