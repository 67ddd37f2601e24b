# SPDX-License-Identifier: Apache-2.0
"""ELFN on a chain of five whose relays flap: TCP over DSR with it and without, run by run.

    python -m tests.validate.elfn_flapping [SEEDS]

One case has fixed times. The others have one to three relays that are up for 10 to 30 s and down
for 2 to 12 s, drawn by seed. Prints mean throughput, and the mean difference of a seed with its 95
% interval.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from hoplab.host.statistics.samples import Sample
from tests.validate.runs import goodput_kbps, measure_all

SEEDS = 20
DURATION_S = 120.0
RELAYS = ("n2", "n1", "n3")
"""In the order in which they join those that flap."""
UP_S, DOWN_S = (10.0, 30.0), (2.0, 12.0)
FIXED_S = ((15, 23), (31, 46), (55, 56), (57, 59), (80, 104))
"""Station n2 goes down and comes up."""


def _outages(relays: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """A station, when it goes down and when it comes up; no relays: as the fixed case has it."""
    if relays == 0:
        yield from (("n2", *times_s) for times_s in FIXED_S)
    for station in RELAYS[:relays]:
        draw = random.Random(f"{seed} {station}")
        down_s = draw.uniform(*UP_S)
        while down_s < DURATION_S:
            up_s = down_s + draw.uniform(*DOWN_S)
            yield station, round(down_s, 3), round(up_s, 3)
            down_s = up_s + draw.uniform(*UP_S)


def events(relays: int, seed: int) -> list[dict[str, Any]]:
    """Of so many relays, whose times are independent of each other."""
    return [
        {"at_s": at_s, "kind": kind, "station": station}
        for station, *times_s in _outages(relays, seed)
        for kind, at_s in zip(("down", "up"), times_s, strict=True)
        if at_s < DURATION_S
    ]


def scenario(relays: int, seed: int, elfn: bool) -> dict[str, Any]:
    return {
        "seed": seed,
        "duration_s": DURATION_S,
        "topology": {"kind": "chain", "stations": 5, "spacing_m": 200},
        "radio": {"profile": "hv99"},
        "routing": {"protocol": "dsr"},
        "tcp": {"profile": "classic", "elfn": elfn},
        "flow": [{"source": "n0", "destination": "n4", "congestion_control": "reno", "window": 8}],
        "event": events(relays, seed),
    }


def compare(seeds: int) -> Iterator[str]:
    """A line a case, over its seeds."""
    keys = [
        (relays, seed, elfn)
        for relays in range(len(RELAYS) + 1)
        for seed in range(1, seeds + 1)
        for elfn in (False, True)
    ]
    found = measure_all([scenario(*key) for key in keys], goodput_kbps)
    kbps = dict(zip(keys, found, strict=True))
    for relays in range(len(RELAYS) + 1):
        pairs = [
            (kbps[relays, seed, False], kbps[relays, seed, True]) for seed in range(1, seeds + 1)
        ]
        gain = Sample.of([with_elfn - without for without, with_elfn in pairs])
        case = f"{', '.join(RELAYS[:relays])} at random" if relays else "n2 at fixed times"
        yield (
            f"{case:22} {fmean(a for a, _ in pairs):6.1f} kbit/s without, "
            f"{fmean(b for _, b in pairs):6.1f} with, difference {gain.mean:+.1f} "
            f"± {gain.half_width:.1f}, more in {sum(b > a for a, b in pairs)} of {seeds}"
        )


if __name__ == "__main__":
    for line in compare(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS):
        print(line)
