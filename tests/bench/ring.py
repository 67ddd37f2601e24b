# SPDX-License-Identifier: Apache-2.0
"""What a system call costs in a guest where many processes take turns: ``python -m
tests.bench.ring``.

Processes in a ring pass an octet on. Each pass is a write and a read.
"""

from __future__ import annotations

import subprocess
import sys
import time

from hoplab.model.resources import PROJECT

PROCESSES = (1, 2, 50, 250)
PASSES = (1_000, 41_000)
"""The difference of two runs has no start in it."""
RING = """
import os, sys
count, passes = map(int, sys.argv[1:])
pipes = [os.pipe() for _ in range(count)]
for i in range(1, count):
    if os.fork() == 0:
        while (octet := os.read(pipes[i][0], 1)) != b"q":
            os.write(pipes[(i + 1) % count][1], octet)
        if i + 1 < count:
            os.write(pipes[i + 1][1], octet)
        os._exit(0)
for _ in range(passes // count):
    os.write(pipes[1 % count][1], b"x")
    os.read(pipes[0][0], 1)
os.write(pipes[1 % count][1], b"q")
"""


def wall_s(processes: int, passes: int) -> float:
    """Return the wall time of a guest in which an octet goes round."""
    hoplab = PROJECT / ".venv" / "bin" / "hoplab"
    command = [hoplab, "exec", "--", "python3", "-c", RING, str(processes), str(passes)]
    started = time.monotonic()
    subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr)
    return time.monotonic() - started


def main() -> None:
    """Print a line for each number of processes."""
    for processes in PROCESSES:
        few, many = (wall_s(processes, passes) for passes in PASSES)
        cost_us = 1e6 * (many - few) / (PASSES[1] - PASSES[0]) / 2
        print(f"{processes} processes: {cost_us:.0f} us a call", flush=True)


if __name__ == "__main__":
    main()
