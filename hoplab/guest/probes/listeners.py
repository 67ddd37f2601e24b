# SPDX-License-Identifier: Apache-2.0
"""Whether a program listens at a port of a station."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hoplab.guest.network.inside import inside

TABLES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Tables of /proc/net, with the state of a socket that waits for peers (TCP_LISTEN, TCP_CLOSE)."""


def listens(station: str, port: int) -> bool:
    """Return whether a socket of TCP or UDP waits at ``port`` in the station's namespace."""
    with inside(station):
        return any(found == port for found in _waiting())


def _waiting() -> Iterator[int]:
    for name, state in TABLES.items():
        path = Path("/proc/thread-self/net", name)
        if not path.exists():  # a kernel without IPv6
            continue
        for line in path.read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[3] == state:
                yield int(words[1].rpartition(":")[2], 16)
