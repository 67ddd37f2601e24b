# SPDX-License-Identifier: Apache-2.0
"""Where every run in virtual time begins anew: the kernel has booted, the lab is loaded, and
nothing of the scenario exists.

How much was drawn and how often a clock was read until then depends on the lab's own code, for
example on the number of its modules. A run must not. So it goes on from a whole second, and from
there the kernel's random numbers depend on the scenario's seed alone.
"""

from __future__ import annotations

import ctypes
import os
import time

from hoplab.guest.lab.clock import NANOSECONDS
from hoplab.model.errors import MissingTool

GENERATOR = "/dev/urandom"
RNDCLEARPOOL = 0x5206
"""Of ``linux/random.h``. With `kernel-modules/guest/c/seeded_pool.h` its argument is a seed."""


def stand_by(seed: int) -> None:
    """Wait for the next whole second of CLOCK_MONOTONIC and seed the kernel's generator of random
    numbers there, which takes 64 bits of ``seed``."""
    now_ns = time.monotonic_ns()
    time.sleep((-now_ns % NANOSECONDS) / NANOSECONDS)
    generator = os.open(GENERATOR, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ioctl(generator, ctypes.c_ulong(RNDCLEARPOOL), ctypes.c_uint64(seed)) != 0:
            error = os.strerror(ctypes.get_errno())
            raise MissingTool(f"{GENERATOR}: takes no seed: {error}; run as root")
    finally:
        os.close(generator)
