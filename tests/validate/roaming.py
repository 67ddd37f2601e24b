# SPDX-License-Identifier: Apache-2.0
"""How long a client is away that walks from one access point to the next.

Two cases have limits. Two access points on different channels with background scans may take 1 s.
Two on one channel with 802.11r may take 100 ms. A flow each way has a packet every 5 ms. The client
is away between the last packet by one access point and the first by the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds

SEEDS = (1, 2, 3, 4, 5, 6)
PACKETS_PER_S = 200
PAYLOAD = 200
WALK_S = 40.0
APART_M = 120.0


@dataclass(frozen=True)
class Case:
    """Access points on these channels, and the most that a client may be away."""

    name: str
    channels: tuple[int, int]
    roaming: str
    most_ms: float


CASES = (
    Case("two-channels-bgscan", (1, 11), "bgscan", 1000.0),
    Case("one-channel-802.11r", (6, 6), "802.11r", 100.0),
)


def scenario(case: Case) -> dict[str, Any]:
    """From 10 m behind the first access point to 10 m before the second."""
    points = ("left", "right")
    cell = {"ssid": "campus", "security": "wpa2", "roaming": case.roaming}
    flow = {"protocol": "udp", "packet_bytes": PAYLOAD}
    rate = {"rate_kbps": PACKETS_PER_S * PAYLOAD * 8 / 1000, "spacing": "random"}
    return {
        "title": case.name,
        "duration_s": WALK_S,
        "radio": {"profile": "80211g", "propagation": "log-distance"},
        "station": [
            *({"name": name, "x_m": i * APART_M} for i, name in enumerate(points)),
            {"name": "n0", "waypoints": [[0, 10, 5], [WALK_S, APART_M - 10, 5]]},
            {"name": "srv", "radio": False},
        ],
        "link": [{"ends": ["left", "srv"]}],
        "cell": [
            {"access_point": name, "clients": clients, "channel": channel, **cell}
            for name, clients, channel in zip(points, (["n0"], []), case.channels, strict=True)
        ],
        "flow": [
            {"source": "srv", "destination": "n0", **flow, **rate},
            {"source": "n0", "destination": "srv", **flow, **rate},
        ],
    }


def gaps_ms(results: Results) -> list[float]:
    """Of every handover; the walk has one at least."""
    gaps = [float(row["gap_ms"]) for row in results.rows("handovers")]
    assert gaps, "the client has not gone over"
    return gaps


def items() -> Iterator[Figure]:
    """Of each case handovers that take too long, of which there are none; and the longest in ms."""
    found = measure_seeds([scenario(case) for case in CASES], SEEDS, gaps_ms)
    for case, draws in zip(CASES, found, strict=True):
        late = [float(sum(gap > case.most_ms for gap in gaps)) for gaps in draws]
        yield figure(f"wifi/roaming/{case.name}_late", late, 0.0, 0.0)
        longest = [max(gaps) for gaps in draws]
        yield figure(f"wifi/roaming/{case.name}_ms", longest, case.most_ms, None)
