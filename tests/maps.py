# SPDX-License-Identifier: Apache-2.0
"""A map of a community network, as meshviewer has it, drawn by lot from a seed."""

from __future__ import annotations

import math
import random
from typing import Any

NEAREST = 3
"""Links of each node, to those that are nearest."""
SIDE_M = 3000.0
DEGREE_M = (111_200.0, 71_500.0)
"""A degree of latitude and of longitude at 50 degrees north."""


def city(nodes: int, seed: int = 7) -> dict[str, Any]:
    """Return a map of so many nodes on a square. A link's TQ falls with its length."""
    lots = random.Random(seed)
    places = [(lots.uniform(0, SIDE_M), lots.uniform(0, SIDE_M)) for _ in range(nodes)]
    pairs = set()
    for i, place in enumerate(places):
        others = sorted((math.dist(place, other), j) for j, other in enumerate(places) if j != i)
        pairs |= {tuple(sorted((i, j))) for _, j in others[:NEAREST]}
    return {
        "timestamp": "2026-11-01T12:00:00+0000",
        "nodes": [
            {
                "node_id": f"{i:012x}",
                "hostname": f"street-{i}",
                "is_online": True,
                "location": {"latitude": 50 + y / DEGREE_M[0], "longitude": 8 + x / DEGREE_M[1]},
            }
            for i, (x, y) in enumerate(places)
        ],
        "links": [
            {
                "type": "wifi",
                "source": f"{i:012x}",
                "target": f"{j:012x}",
                "source_tq": round(1 - math.dist(places[i], places[j]) / 4000, 3),
                "target_tq": round(1 - math.dist(places[i], places[j]) / 3500, 3),
            }
            for i, j in sorted(pairs)
        ],
    }
