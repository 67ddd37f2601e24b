# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Positions of stations under a mobility model of Mininet-WiFi: a line of JSON in, one out.

The model's own code draws the steps, each of a second as usual. There is no network.
"""

import json
import sys
from types import SimpleNamespace


def main():
    asked = json.loads(sys.stdin.readline())
    from mn_wifi import mobility

    steps = asked["steps"]
    taken = []

    class Walk(mobility.model):
        def __init__(self):
            pass

        def start_mob_mod(self, mob, nodes, draw):
            for places in mob:
                taken.append([[round(float(x), 2), round(float(y), 2)] for x, y in places])
                if len(taken) == steps:
                    return

    nodes = [SimpleNamespace(params=dict(asked["limits"])) for _ in range(asked["stations"])]
    Walk().models(
        stations=nodes,
        stat_nodes=[],
        mob_nodes=nodes,
        seed=asked["seed"],
        mob_model=asked["model"],
        max_x=asked["limits"]["max_x"],
        max_y=asked["limits"]["max_y"],
        mob_start_time=0,
    )
    print(json.dumps(taken))


main()
