# SPDX-License-Identifier: Apache-2.0
"""TCP over a chain of 1 to 10 hops, 200 m apart: what was published, and what ns-2.35 gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.validate import mobile
from tests.validate.figures import Figure
from tests.validate.runs import goodput_kbps, measure_all

PUBLISHED_KBPS = (1463.0, 729.0, 484.4, 339.9, 246.4, 205.2, 198.1, 191.8, 185.3, 182.4)
"""Holland and Vaidya 1999, 1 to 10 hops, Reno, window 8, packets of 1460 bytes."""
STOCK_KBPS = (1233.0, 618.0, 261.0, 149.0, 118.0, 108.0, 110.0, 113.0, 113.0, 114.0)
"""ns-2.35 as it comes, RTS on, DSR."""
HV99_PACKET_BYTES = 1460
"""In ns-2 of 1999 a packet's size was all of it, and goodput counted all of it."""
TCP_IP_HEADER_BYTES = 40


def scenario(profile: str, hops: int, protocol: str) -> dict[str, Any]:
    """The chain study's setting on the real stack."""
    mss = HV99_PACKET_BYTES - TCP_IP_HEADER_BYTES if profile == "hv99" else 1460
    return {
        "title": f"{profile}, {hops} hops, {protocol}",
        "duration_s": 100,
        "topology": {"kind": "chain", "stations": hops + 1, "spacing_m": 200},
        "radio": {"profile": profile},
        "routing": {
            "protocol": protocol,
            "settings": mobile.SETTINGS if protocol == "dsr" else {},
        },
        "tcp": {
            "profile": "classic",
            "delayed_ack": False,
            "initial_window": 1 if profile == "hv99" else 2,
        },
        "flow": [
            {
                "source": "n0",
                "destination": f"n{hops}",
                "window": 8,
                "mss": mss,
                "congestion_control": "reno",
            },
        ],
    }


def hv99(protocol: str, hops: Sequence[int] = range(1, 11)) -> Iterator[Figure]:
    """Within 5 % of the published table at 1 to 4 hops, 10 % beyond."""
    scale = HV99_PACKET_BYTES / (HV99_PACKET_BYTES - TCP_IP_HEADER_BYTES)
    measured = measure_all([scenario("hv99", n, protocol) for n in hops], goodput_kbps)
    for n, kbps in zip(hops, measured, strict=True):
        limit = 0.05 if n <= 4 else 0.10
        yield Figure(f"{protocol}/hv99/{n}-hops_kbps", kbps * scale, PUBLISHED_KBPS[n - 1], limit)


def stock(protocol: str, hops: Sequence[int]) -> Iterator[Figure]:
    """Within 5 % of ns-2.35's stock setting."""
    measured = measure_all([scenario("ns2-stock", n, protocol) for n in hops], goodput_kbps)
    for n, kbps in zip(hops, measured, strict=True):
        yield Figure(f"{protocol}/ns2-stock/{n}-hops_kbps", kbps, STOCK_KBPS[n - 1], 0.05)
