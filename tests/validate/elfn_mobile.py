# SPDX-License-Identifier: Apache-2.0
"""Holland and Vaidya's moving stations: TCP over DSR with ELFN and without, pattern by pattern.

    python -m tests.validate.elfn_mobile ROWS [PATTERNS]

runs what ROWS, a file of JSON lines, does not have yet. Then it prints the comparison of all that
it has. That is mean throughput at each speed, and the mean difference of a pattern with its 95 %
interval.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.host.statistics.samples import Sample
from tests.validate.runs import measure

SPEEDS_MPS = (2, 10, 20, 30)
PATTERNS = 10
DURATION_S = 120


def scenario(pattern: int, speed_mps: int, elfn: bool) -> dict[str, Any]:
    """30 stations on 1500 m x 300 m without pause, one Reno flow of 1460-byte segments."""
    return {
        "seed": pattern,
        "duration_s": DURATION_S,
        "topology": {
            "kind": "random-waypoint",
            "stations": 30,
            "width_m": 1500,
            "height_m": 300,
            "min_speed_mps": 0.9 * speed_mps,
            "max_speed_mps": 1.1 * speed_mps,
            "pause_s": 0,
        },
        "radio": {"profile": "wavelan"},
        "routing": {"protocol": "dsr"},
        "tcp": {"profile": "classic", "elfn": elfn},
        "flow": [{"source": "n0", "destination": "n1", "congestion_control": "reno", "window": 8}],
    }


def read(results: Results) -> dict[str, Any]:
    last = results.rows("tcp")[-1:]
    row = {"kbps": results.rows("flows")[0]["goodput_kbps"]}
    for key in ("timeouts", "retransmits", "probes", "standby_s"):
        row[key] = last[0][key] if last else None
    return row


def known(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def missing(rows: list[dict[str, Any]], patterns: int) -> Iterator[tuple[int, int, bool]]:
    there = {(row["pattern"], row["speed_mps"], row["elfn"]) for row in rows}
    for pattern in range(1, patterns + 1):
        for speed_mps in SPEEDS_MPS:
            for elfn in (False, True):
                if (pattern, speed_mps, elfn) not in there:
                    yield pattern, speed_mps, elfn


def compare(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line a speed, over the patterns that have run both ways."""
    kbps = {(row["speed_mps"], row["pattern"], row["elfn"]): row["kbps"] for row in rows}
    for speed_mps in SPEEDS_MPS:
        both = [
            (kbps[speed_mps, pattern, False], kbps[speed_mps, pattern, True])
            for pattern in sorted({row["pattern"] for row in rows})
            if {(speed_mps, pattern, False), (speed_mps, pattern, True)} <= kbps.keys()
        ]
        if not both:
            continue
        gain = Sample.of([after - before for before, after in both])
        yield (
            f"{speed_mps:3} m/s  {fmean(b for b, _ in both):7.1f} kbit/s without, "
            f"{fmean(a for _, a in both):7.1f} with, difference {gain.mean:+.1f} "
            f"± {gain.half_width:.1f} ({len(both)} patterns)"
        )


def main(arguments: list[str]) -> None:
    file = Path(arguments[0])
    patterns = int(arguments[1]) if len(arguments) > 1 else PATTERNS
    for pattern, speed_mps, elfn in missing(known(file), patterns):
        row = {"pattern": pattern, "speed_mps": speed_mps, "elfn": elfn}
        row |= measure(scenario(pattern, speed_mps, elfn), read)
        with file.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")
        print(row, file=sys.stderr)
    print("\n".join(compare(known(file))))


if __name__ == "__main__":
    main(sys.argv[1:])
