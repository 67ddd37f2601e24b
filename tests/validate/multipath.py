# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP over two paths beside TCP over each of them alone.

Linux couples no subflows, so each takes what TCP takes of its path, and the connection has the sum.
Its option of 20 octets (RFC 8684 3.3) and waits of one path for the other are within the limit of
5 %. As a backup, the second path carries nothing while the first one works.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_all

SEEDS = (1, 2, 3)
DURATION_S = 30.0
PATHS = {"one": (10.0, 10.0), "two": (5.0, 20.0)}
"""Mbit/s and ms of the links from the source, by the providers there."""
LIMIT = 0.05


def scenario(seed: int, protocol: str, providers: tuple[str, ...], backup: bool = False) -> Any:
    """A host with a link to each provider, and a server behind them."""
    return {
        "seed": seed,
        "duration_s": DURATION_S,
        "routing": {"protocol": "static"},
        "station": [
            {
                "name": "host",
                "radio": False,
                **({"mptcp": {"backup": ["two"]}} if backup else {}),
            },
            *({"name": name, "radio": False} for name in (*providers, "server")),
        ],
        "link": [
            *(
                {
                    "ends": ["host", name],
                    "rate_mbps": PATHS[name][0],
                    # Seeds differ in where the paths' phases are.
                    "delay_ms": PATHS[name][1] + 0.1 * seed,
                    "queue": {"packets": 50},
                }
                for name in providers
            ),
            *({"ends": [name, "server"], "rate_mbps": 100, "delay_ms": 1} for name in providers),
        ],
        "flow": [{"protocol": protocol, "source": "host", "destination": "server"}],
    }


def goodput_kbps(results: Results) -> float:
    (flow,) = results.rows("flows")
    return float(flow["goodput_kbps"])


def share_of_second(results: Results) -> float:
    """Octets acknowledged on the second path, of all."""
    last: dict[str, int] = {}
    for row in results.rows("subflows"):
        last[row["via"]] = row["acked_bytes"]
    return last.get("two", 0) / sum(last.values())


def items() -> Iterator[Figure]:
    """The sum over both paths, and a path in reserve."""
    both = tuple(PATHS)
    alone = [
        measure_all([scenario(seed, "tcp", (name,)) for seed in SEEDS], goodput_kbps)
        for name in both
    ]
    together = measure_all([scenario(seed, "mptcp", both) for seed in SEEDS], goodput_kbps)
    sums = [sum(each) for each in zip(*alone, strict=True)]
    ratios = [got / expected for got, expected in zip(together, sums, strict=True)]
    yield figure("tcp/mptcp/sum-of-two-paths", ratios, 1.0, LIMIT)
    kept = [scenario(seed, "mptcp", both, backup=True) for seed in SEEDS]
    first = measure_all(kept, goodput_kbps)
    ratios = [got / expected for got, expected in zip(first, alone[0], strict=True)]
    yield figure("tcp/mptcp/with-a-backup", ratios, 1.0, LIMIT)
    unused = [1 - share for share in measure_all(kept, share_of_second)]
    yield figure("tcp/mptcp/share-of-the-first-path", unused, 1.0, 0.001)
