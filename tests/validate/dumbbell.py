# SPDX-License-Identifier: Apache-2.0
"""The six-node dumbbell: a TCP flow, or two, beside constant-rate traffic on 10 Mbit/s.

Links of 10 Mbit/s and 10 ms, queues of 50 packets, packets of 1000 bytes, windows of 100, no
delayed acknowledgements: the setting of ns-2.35's figures below. ns-2 counts whole packets and has
no link layer; here a frame with its Ethernet, IP and TCP headers is 1000 bytes, so a segment
carries 946 and goodput is scaled by 1000/946.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.results import Results
from tests.validate.figures import Figure
from tests.validate.runs import measure_all

FRAME_BYTES = 1000
TCP_PAYLOAD_BYTES = FRAME_BYTES - 14 - 40
UDP_PAYLOAD_BYTES = FRAME_BYTES - 14 - 28
DURATION_S = 60.0
STARTED_S = 3.0
"""iperf3 connects first; figures are over the rest."""
WINDOW = 100

CBR_MBPS = (1.0, 5.0, 8.0, 9.0, 10.0)
NS2_MBPS = {
    "tahoe": (8.48, 4.24, 1.85, 0.98, 0.04),
    "reno": (8.48, 3.74, 1.60, 0.93, 0.04),
    "newreno": (8.48, 4.33, 1.89, 0.99, 0.04),
    "vegas": (6.64, 4.56, 1.89, 0.96, 0.02),
}
"""ns-2.35, 100 s."""
PAIRS = (("reno", "reno"), ("newreno", "reno"), ("vegas", "vegas"), ("newreno", "vegas"))
NS2_PAIRS_MBPS = ((1.96, 2.05), (2.69, 1.73), (2.34, 2.37), (3.72, 0.91))
"""ns-2.35 at 5 Mbit/s of constant-rate traffic."""


@dataclass(frozen=True)
class Share:
    """What a TCP flow got: Mbit/s of whole frames, share of its packets lost, mean delay in ms."""

    mbps: float
    loss: float
    delay_ms: float
    timeouts: int


def scenario(variants: tuple[str, ...], cbr_mbps: float, window: int = WINDOW) -> dict[str, Any]:
    """One or two TCP flows across the bottleneck n2-n3, which constant-rate traffic shares."""
    ends = (("n1", "n4"), ("n5", "n6"))
    return {
        "title": f"{' and '.join(variants)} beside {cbr_mbps:g} Mbit/s",
        "duration_s": DURATION_S,
        "topology": {
            "kind": "dumbbell",
            "queue": {"kind": "droptail", "packets": 50, "packet_bytes": FRAME_BYTES},
        },
        "tcp": {"profile": "classic", "delayed_ack": False},
        "measure": {"interval_s": 0.5, "packets": True},
        "flow": [
            *(
                {
                    "name": f"tcp{i}",
                    "source": source,
                    "destination": destination,
                    "congestion_control": variant,
                    "mss": TCP_PAYLOAD_BYTES,
                    "window": window,
                }
                for i, (variant, (source, destination)) in enumerate(
                    zip(variants, ends, strict=False)
                )
            ),
            {
                "name": "cbr",
                "protocol": "udp",
                "source": "n2",
                "destination": "n3",
                "packet_bytes": UDP_PAYLOAD_BYTES,
                "rate_kbps": cbr_mbps * 1000 * UDP_PAYLOAD_BYTES / FRAME_BYTES,
            },
        ],
    }


def shares(results: Results) -> list[Share]:
    """Each TCP flow's share from `STARTED_S` on."""
    found = []
    packets = results.rows("packets")
    rows = results.rows("tcp")
    for flow in results.scenario["flow"]:
        if flow.get("protocol") == "udp":
            continue
        own = [row for row in rows if row["flow"] == flow["name"]]
        early = [row for row in own if row["t_s"] <= STARTED_S]
        before = early[-1]["delivered_bytes"] if early else 0
        delivered = own[-1]["delivered_bytes"] - before if own else 0
        sent = [
            packet
            for packet in packets
            if packet["flow"] == flow["name"] and STARTED_S <= packet["sent_s"] <= DURATION_S - 1
        ]
        arrived = [p["received_s"] - p["sent_s"] for p in sent if p["received_s"] is not None]
        found.append(
            Share(
                delivered * 8e-6 / (DURATION_S - STARTED_S) * FRAME_BYTES / TCP_PAYLOAD_BYTES,
                1 - len(arrived) / len(sent) if sent else 0.0,
                1000 * sum(arrived) / len(arrived) if arrived else 0.0,
                own[-1]["timeouts"] or 0 if own else 0,
            )
        )
    return found


def jain(rates: list[float]) -> float:
    """Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2)."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def alone(variants: tuple[str, ...] = tuple(NS2_MBPS)) -> dict[tuple[str, float], Share]:
    """One TCP flow of each variant beside each constant rate."""
    keys = [(variant, cbr) for variant in variants for cbr in CBR_MBPS]
    found = measure_all([scenario((variant,), cbr) for variant, cbr in keys], shares)
    return {key: one[0] for key, one in zip(keys, found, strict=True)}


def pairs(rates: tuple[float, ...]) -> dict[tuple[tuple[str, str], float], list[Share]]:
    """Two TCP flows of each pair beside each constant rate."""
    keys = [(pair, cbr) for pair in PAIRS for cbr in rates]
    return dict(
        zip(keys, measure_all([scenario(pair, cbr) for pair, cbr in keys], shares), strict=True)
    )


def items() -> Iterator[Figure]:
    """Throughput beside ns-2's, where the window is not the limit; who takes from whom."""
    for (variant, cbr), share in alone().items():
        reference = NS2_MBPS[variant][CBR_MBPS.index(cbr)]
        yield Figure(f"tcp/dumbbell/{variant}/cbr{cbr:g}_mbps", share.mbps, reference, 0.15)
    for (pair, _), found in pairs((5.0,)).items():
        reference = NS2_PAIRS_MBPS[PAIRS.index(pair)][0]
        name = f"tcp/dumbbell/{pair[0]}-{pair[1]}/cbr5"
        yield Figure(f"{name}_mbps", found[0].mbps, reference, 0.15)
