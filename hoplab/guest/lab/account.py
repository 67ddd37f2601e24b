# SPDX-License-Identifier: Apache-2.0
"""The lab's account of a run beside its tables, written as the run proceeds."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hoplab.model.records import inplace

ROOM = 1024
"""Bytes reserved for an error message, in case the disk is full by then."""


@dataclass
class Account:
    """RUN/raw/verdict.json; ``status`` is None while the lab runs."""

    status: int | None = None
    error: str | None = None
    kernel: str = field(default_factory=platform.release)
    tcp_settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """The sysctls that were set, by station."""
    realtime_epoch_ns: int | None = None
    """Date of time 0. It turns the time stamps of captures into scenario time."""
    monotonic_epoch_ns: int | None = None
    """CLOCK_MONOTONIC at time 0."""
    virtual_s: float | None = None
    """Virtual seconds at the end of the run, if the run came to its end."""
    warnings: list[str] = field(default_factory=list)
    """Warnings to read before you trust the result."""

    def write(self, out: Path) -> None:
        """Write the present state, with room for an error message until the lab has ended."""
        room = ROOM if self.status is None else 0
        text = asdict(self)
        inplace.write(out / "raw" / "verdict.json", text, room)
