# SPDX-License-Identifier: Apache-2.0
"""What samples over time cost: ``python -m tests.bench.samples [TURNS]``.

Runs a flow of UDP over a wire with many datagrams and with few, in turns. Each has samples every
100 ms, and one at its end only. Prints medians of their processor time, guest and tables included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DURATION_S = 20
PER_S = {"15,000 datagrams": 750, "20 datagrams": 1}
PAYLOAD_BYTES = 1000


SCENARIO = """
duration_s = {duration_s}
measure.interval_s = {interval_s}

[[station]]
name = "a"

[[station]]
name = "b"

[[link]]
ends = ["a", "b"]
rate_mbps = 10
delay_ms = 1

[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = {bytes}
rate_kbps = {kbps}
"""


def scenario(per_s: int, interval_s: float) -> str:
    """Two wired stations and a flow of this many datagrams a second."""
    kbps = per_s * PAYLOAD_BYTES * 8e-3
    return SCENARIO.format(
        duration_s=DURATION_S, interval_s=interval_s, bytes=PAYLOAD_BYTES, kbps=kbps
    )


def processor_s(file: Path, out: Path) -> float:
    """Seconds of processor time of one run, its guest included."""
    command = [sys.executable, "-m", "hoplab", "run", str(file), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a line for each number of datagrams."""
    parser = argparse.ArgumentParser(prog="samples", description=__doc__.splitlines()[0])
    parser.add_argument("turns", nargs="?", type=int, default=5)
    turns = parser.parse_args().turns
    cases = [(name, interval_s) for name in PER_S for interval_s in (0.1, float(DURATION_S))]
    took: dict[tuple[str, float], list[float]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(prefix="hoplab-bench-") as name:
        folder = Path(name)
        for turn in range(turns):
            for at, case in enumerate(cases):
                file = folder / f"{at}.toml"
                file.write_text(scenario(PER_S[case[0]], case[1]), encoding="utf-8")
                took[case].append(processor_s(file, folder / f"{turn}-{at}"))
    for name in PER_S:
        sampled, once = (
            statistics.median(took[name, interval_s]) for interval_s in (0.1, float(DURATION_S))
        )
        print(f"{name}: {sampled:.1f} s with samples every 100 ms, {once:.1f} s with one")


if __name__ == "__main__":
    main()
