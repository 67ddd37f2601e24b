# SPDX-License-Identifier: Apache-2.0
"""Which TCP connections use SACK, as their sockets say: ``raw/sack.jsonl``, a line a connection."""

from __future__ import annotations

import json
from pathlib import Path

from hoplab.guest.probes.sockets import Info
from hoplab.model import writing

TCPI_OPT_SACK = 2
"""Of tcpi_options (linux/tcp.h)."""


class SackNotes:
    """Notes each connection once, by its name in table `tcp`."""

    def __init__(self, raw: Path) -> None:
        self._path = raw / "sack.jsonl"
        self._noted: set[str] = set()

    def note(self, name: str, info: Info) -> None:
        """Note what a connection has agreed on, if its SYN has been acknowledged. ``info`` is from
        the sender's socket."""
        if name in self._noted or info.bytes_acked == 0:
            return
        self._noted.add(name)
        line = json.dumps({"flow": name, "sack": bool(info.options & TCPI_OPT_SACK)})
        with writing.added(self._path) as file:
            file.write(line + "\n")
