# SPDX-License-Identifier: Apache-2.0
"""Scenario time: seconds since the start of the measured part."""

from __future__ import annotations

import time

NANOSECONDS = 1_000_000_000


class Clock:
    """Scenario time on CLOCK_MONOTONIC; time 0 is a whole second, so that daemons agree on it."""

    def __init__(self, lead_s: float) -> None:
        start = time.monotonic_ns() + round(lead_s * NANOSECONDS)
        self.epoch_ns = -(-start // NANOSECONDS) * NANOSECONDS

    def realtime_epoch_ns(self) -> int:
        """Date of time 0."""
        return time.time_ns() - time.monotonic_ns() + self.epoch_ns

    def now_s(self) -> float:
        return (time.monotonic_ns() - self.epoch_ns) / NANOSECONDS

    def at_ns(self, t_s: float) -> int:
        """Return CLOCK_MONOTONIC at scenario time ``t_s``."""
        return self.epoch_ns + round(t_s * NANOSECONDS)

    def sleep_until(self, t_s: float) -> None:
        delay = t_s - self.now_s()
        if delay > 0:
            time.sleep(delay)
