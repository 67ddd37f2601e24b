# SPDX-License-Identifier: Apache-2.0
"""Flows of Hoplab's own program beside flows of iperf3: TCP does not depend on the writer.

Over Wi-Fi, wires, DSR and an access point, `SEEDS` each. From `FROM_S` on, when iperf3's control
connection is done and slow start over, both have the same goodput, retransmissions and round trips.
The references are iperf3's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds

SEEDS = range(1, 21)
FROM_S, TO_S = 5.0, 45.0
GENERATORS = ("hoplab", "iperf3")
LIMITS = {"kbps": 0.05, "retransmits": 0.2, "rtt-ms": 0.05}
"""The widest that an interval may be, too. Few packets are sent again."""
PLACES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "wifi": (
        *("n0", "n2"),
        {
            "topology": {"kind": "chain", "stations": 3, "spacing_m": 200},
            "loss": [{"kind": "uniform", "rate": 0.01, "takes": "packets"}],
        },
    ),
    "dsr": (
        *("n0", "n3"),
        {
            "topology": {"kind": "chain", "stations": 4, "spacing_m": 200},
            "radio": {"profile": "wavelan"},
            "routing": {"protocol": "dsr"},
        },
    ),
    "access-point": (
        *("server", "client"),
        {
            "station": [
                {"name": "server", "radio": False},
                {"name": "ap", "x_m": 0, "y_m": 0},
                {"name": "client", "x_m": 10, "y_m": 0},
            ],
            "link": [{"ends": ["server", "ap"], "rate_mbps": 1000, "delay_ms": 10}],
            "cell": [{"access_point": "ap", "clients": ["client"]}],
            "radio": {"profile": "80211n"},
        },
    ),
    "wires": (
        *("a", "b"),
        {
            "station": [{"name": name, "radio": False} for name in ("a", "router", "b")],
            "link": [
                {"ends": ["a", "router"], "rate_mbps": 100, "delay_ms": 5},
                {
                    "ends": ["router", "b"],
                    "rate_mbps": 10,
                    "delay_ms": 10,
                    "queue": {"kind": "droptail", "packets": 50},
                },
            ],
            "loss": [{"kind": "uniform", "rate": 0.001, "src": "router", "dst": "b"}],
        },
    ),
}
"""Source, destination, and what is between them."""


def scenario(place: str, generator: str) -> dict[str, Any]:
    source, destination, between = PLACES[place]
    return {
        **between,
        "duration_s": TO_S,
        "measure": {"interval_s": 0.5},
        "flow": [{"source": source, "destination": destination, "generator": generator}],
    }


def values(results: Results) -> dict[str, float]:
    """Goodput, segments sent again, and the mean of the smoothed round trip, from `FROM_S` on."""
    rows = [row for row in results.rows("tcp") if row["t_s"] >= FROM_S]
    first, last = rows[0], rows[-1]
    octets = last["delivered_bytes"] - first["delivered_bytes"]
    return {
        "kbps": octets * 8e-3 / (last["t_s"] - first["t_s"]),
        "retransmits": last["retransmits"] - first["retransmits"],
        "rtt-ms": fmean(row["rtt_ms"] for row in rows),
    }


def items() -> Iterator[Figure]:
    cases = list(product(PLACES, GENERATORS))
    measured = measure_seeds([scenario(*case) for case in cases], SEEDS, values)
    found = dict(zip(cases, measured, strict=True))
    for place in PLACES:
        ours, theirs = (found[place, generator] for generator in GENERATORS)
        for name, limit in LIMITS.items():
            yield figure(
                f"tcp/generators/{place}/{name}",
                [value[name] for value in ours],
                [value[name] for value in theirs],
                limit,
            )
