# SPDX-License-Identifier: Apache-2.0
"""The end of a process that does not free what it has loaded."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """Do what was registered for the end, and end. To free each object takes longer than that, and
    in a copy of a guest it would write to most of what copies share."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it, or it was closed
            stream.flush()
    os._exit(status)
