# SPDX-License-Identifier: Apache-2.0
"""This process's memory: limits that the user's shell may have set, and when it looks for
garbage."""

from __future__ import annotations

import contextlib
import gc
import resource
from collections.abc import Iterator

LEAST_BYTES = 512 << 20
"""Data memory that a process must be allowed to have. With less, libraries end the process without
a message."""
AMPLE_BYTES = 4 << 30
"""No command needs as much."""
REMEDY = "raise the limits of this shell: ulimit -d unlimited; ulimit -v unlimited"


def limit(below: int = AMPLE_BYTES) -> str | None:
    """Return a limit below so many bytes as the shell names it; None if there is none."""
    for name, of in (("-d", resource.RLIMIT_DATA), ("-v", resource.RLIMIT_AS)):
        allowed = resource.getrlimit(of)[0]
        if allowed != resource.RLIM_INFINITY and allowed < below:
            return f"ulimit {name} allows {allowed >> 20} MiB"
    return None


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage inside, where modules are loaded: their objects stay, and looking through
    ever more of them takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
