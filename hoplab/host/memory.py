# SPDX-License-Identifier: Apache-2.0
"""Limits of this process's memory, which the user's shell may have set."""

from __future__ import annotations

import resource

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
