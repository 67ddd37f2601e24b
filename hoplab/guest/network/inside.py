# SPDX-License-Identifier: Apache-2.0
"""Enter a network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import netns

NAMES = Path("/var/run/netns")
LIBC = ctypes.CDLL(None, use_errno=True)
"""The C library, for pyroute2, which would start a program to find it."""
_INSIDE = threading.RLock()
"""A thread has its own namespace, but returns to the process's."""
_entered: list[int] = []
"""Descriptors of the process's namespace and of those that are entered, one inside the other."""


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Enter namespace ``name``: sockets made here belong to it, and /proc/sys/net shows it. One
    thread at a time. `pyroute2.netns.pushns` also lists all namespaces, at each of ten entries for
    a station."""
    with _INSIDE:
        if not _entered:
            _entered.append(os.open("/proc/self/ns/net", os.O_RDONLY))
        there = os.open(NAMES / name, os.O_RDONLY)
        try:
            netns.setns(there, libc=LIBC)
            _entered.append(there)
            try:
                yield
            finally:
                _entered.pop()
                netns.setns(_entered[-1], libc=LIBC)
        finally:
            os.close(there)


def index_of(station: str, interface: str) -> int:
    """Return the index of a station's interface."""
    with inside(station):
        return socket.if_nametoindex(interface)
