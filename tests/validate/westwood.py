# SPDX-License-Identifier: Apache-2.0
"""TCP Westwood's filter in floating point, and what integers may differ from it.

Casetti et al., Wireless Networks 8, 2002, section 2.2; the names are those of
`kernel-modules/tcp/tcpw_filter.h`, whose error bound is computed here step by step.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hoplab.many.study.segments import Segment
from hoplab.model.resources import PROJECT

TAU_US = 500_000
M = 2
UNITS = 256.0
"""To the byte/s."""
RATE_MAX = 2.0**32
HARNESS = PROJECT / "kernel-modules" / "tests" / "filter.c"


@dataclass
class Reference:
    """The filter and, beside it, by how much the integer filter may lie below; rates in byte/s."""

    at_us: int
    tau_us: int = TAU_US
    m: int = M
    estimate: float = 0.0
    sample: float = 0.0
    carried: int = 0
    bound: float = 0.0

    def acknowledge(self, time_us: int, acked_bytes: int) -> None:
        step_us = self.tau_us // self.m
        while time_us > self.at_us + step_us:
            self._step(step_us, 0.0)
        self.carried += acked_bytes
        if time_us > self.at_us:
            delta_us = time_us - self.at_us
            sample = min(self.carried * 1e6 / delta_us, RATE_MAX)
            self.carried = 0
            self._step(delta_us, sample)

    def _step(self, delta_us: int, sample: float) -> None:
        alpha = (2 * self.tau_us - delta_us) / (2 * self.tau_us + delta_us)
        self.estimate = alpha * self.estimate + (1 - alpha) * (sample + self.sample) / 2
        self.bound = alpha * self.bound + ((1 - alpha) + 1) / UNITS
        self.sample = sample
        self.at_us += delta_us


def acked_bytes(acknowledgements: Iterable[tuple[int, int]], mss: int) -> list[tuple[int, int]]:
    """(time in us, acknowledgement number) to (time in us, bytes): procedure AckedCount.

    The first acknowledgement only sets where counting starts.
    """
    counted: list[tuple[int, int]] = []
    last: int | None = None
    accounted = 0
    for time_us, number in acknowledgements:
        if last is None:
            last = number
            continue
        new = (number - last) % 2**32
        last = number
        if new == 0:
            accounted += mss
            new = mss
        elif new > mss:
            if accounted >= new:
                accounted -= new
                new = mss
            else:
                new -= accounted
                accounted = 0
        counted.append((time_us, new))
    return counted


def acknowledgements(seen: Iterable[Segment]) -> list[tuple[int, int]]:
    """(time in us, number) of every acknowledgement that reached the sender."""
    return [
        (round(segment.time_s * 1e6), segment.acknowledges)
        for segment in seen
        if not segment.outbound
    ]


def integer_estimates(
    folder: Path, trace: Sequence[tuple[int, int]], start_us: int, tau_us: int = TAU_US, m: int = M
) -> list[float]:
    """What the module's own code makes of the trace, in byte/s, one estimate a line of it."""
    program = folder / "filter"
    if not program.exists():
        checks = ("-Wall", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all")
        subprocess.run(["cc", "-O1", *checks, "-o", str(program), str(HARNESS)], check=True)
    answer = subprocess.run(
        [str(program), str(tau_us), str(m), str(start_us)],
        input="".join(f"{t} {n}\n" for t, n in trace),
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) / UNITS for line in answer.stdout.split()]
