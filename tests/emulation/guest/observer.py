# SPDX-License-Identifier: Apache-2.0
"""Reads the clock, as a process that takes samples and as others do, and sleeps. Runs inside a
guest."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import subprocess
import sys
import time
from itertools import pairwise

from hoplab.guest.probes.ends import DEVICE, HEAD, HOPLAB_SOCKETS

PR_SET_TIMERSLACK = 29
NS = "import time; a = time.monotonic_ns(); print(time.monotonic_ns() - a)"
POLLED_NS = 10_000


def steps() -> dict[str, list[int]]:
    """How far readings in a row move each clock, in ns. The vDSO has the first two."""
    found = {}
    for name in ("CLOCK_MONOTONIC", "CLOCK_REALTIME", "CLOCK_BOOTTIME"):
        clock = getattr(time, name)
        readings = [time.clock_gettime_ns(clock) for _ in range(200)]
        found[name] = sorted({later - earlier for earlier, later in pairwise(readings)})
    return found


def asleep() -> list[int]:
    """By how much sleeps were longer than asked for, in ns."""
    found = []
    for i in range(50):
        wanted = 1_000_000 + 37 * i
        begin = time.monotonic_ns()
        time.sleep(wanted * 1e-9)
        found.append(time.monotonic_ns() - begin - wanted)
    return found


def polled() -> int:
    """How many readings it takes to wait by reading alone."""
    begin, count = time.monotonic_ns(), 0
    while time.monotonic_ns() - begin < POLLED_NS:
        count += 1
    return count


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    answer: dict[str, object] = {"before": steps()}
    device = os.open(DEVICE, os.O_RDWR)
    answer["open"] = steps()
    sleep = bytearray(HEAD.pack(time.monotonic_ns() + 1_000_000, 0, 1, 0, 0))
    fcntl.ioctl(device, HOPLAB_SOCKETS, sleep)
    answer |= {"observer": steps(), "asleep": asleep(), "polled": polled()}
    other = subprocess.run([sys.executable, "-c", NS], capture_output=True, check=True)
    answer["other"] = int(other.stdout)
    os.close(device)
    answer["after"] = steps()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
