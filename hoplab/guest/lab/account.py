# SPDX-License-Identifier: Apache-2.0
"""What the lab tells of a run beside its tables, written as far as it has come."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hoplab.model.records import inplace

ROOM = 1024
"""Bytes kept for what went wrong, should the disk be full by then."""


@dataclass
class Account:
    """RUN/raw/verdict.json; ``status`` is None while the lab runs."""

    status: int | None = None
    error: str | None = None
    kernel: str = field(default_factory=platform.release)
    tcp_settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """By station, the sysctls that were set."""
    realtime_epoch_ns: int | None = None
    """Date of time 0, by which captures' time stamps become scenario time."""
    monotonic_epoch_ns: int | None = None
    """CLOCK_MONOTONIC at time 0."""
    virtual_s: float | None = None
    """How far the run came, where it came to its end."""
    warnings: list[str] = field(default_factory=list)
    """What to know before one trusts the result."""

    def write(self, out: Path) -> None:
        """As it stands now, with room for an error in the end."""
        room = ROOM if self.status is None else 0
        text = asdict(self)
        inplace.write(out / "raw" / "verdict.json", text, len(json.dumps(text, indent=1)) + room)
