# SPDX-License-Identifier: Apache-2.0
"""TCP over a chain of 1 to 10 hops, 200 m apart: what was published, and what ns-2.35 gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.validate import plot
from tests.validate.figures import Figure
from tests.validate.monarch import MONARCH
from tests.validate.runs import goodput_kbps, measure_all

HOPS = range(1, 11)
PUBLISHED_KBPS = (1463.0, 729.0, 484.4, 339.9, 246.4, 205.2, 198.1, 191.8, 185.3, 182.4)
"""Holland and Vaidya 1999, 1 to 10 hops, Reno, window 8, packets of 1460 bytes."""
NS2_KBPS = (1463.2, 733.8, 491.0, 345.8, 276.2, 210.5, 200.6, 206.0, 194.0, 196.4)
"""The same in ns-2.35: `ns tests/ns2/hv99.tcl -stations N`, mean of seeds 1 and 2."""
NS2_UNBROKEN_KBPS = (1463.2, 733.8, 491.0, 349.0, 282.9, 250.5, 228.6, 213.2, 205.3, 202.4)
"""And when no link ever fails, so that routing plays no part: with `-tries 1000`."""
STOCK_KBPS = {1: 1233.0, 2: 618.0}
"""ns-2.35 as it comes, RTS on, DSR, where routing plays no part; `collapse` runs the rest."""
DURATION_S = 100
PACKET_BYTES = 1460
"""In ns-2 of 1999 a packet's size was all of it, and goodput counted all of it."""
TCP_IP_HEADER_BYTES = 40


def scenario(profile: str, hops: int, protocol: str) -> dict[str, Any]:
    """The chain study's setting on the real stack."""
    mss = PACKET_BYTES - (TCP_IP_HEADER_BYTES if profile == "hv99" else 0)
    return {
        "title": f"{profile}, {hops} hops, {protocol}",
        "duration_s": DURATION_S,
        "topology": {"kind": "chain", "stations": hops + 1, "spacing_m": 200},
        "radio": {"profile": profile},
        "routing": {
            "protocol": protocol,
            "settings": MONARCH if protocol == "dsr" else {},
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


def hv99_kbps(protocol: str) -> list[float]:
    """Goodput as the study counts it, headers included."""
    scale = PACKET_BYTES / (PACKET_BYTES - TCP_IP_HEADER_BYTES)
    measured = measure_all([scenario("hv99", n, protocol) for n in HOPS], goodput_kbps)
    return [kbps * scale for kbps in measured]


def hv99(protocol: str) -> Iterator[Figure]:
    """Within 5 % of the published table at 1 to 4 hops, 10 % beyond; static routes are beside
    ns-2 without link failures too."""
    for n, kbps in zip(HOPS, hv99_kbps(protocol), strict=True):
        limit = 0.05 if n <= 4 else 0.10
        name = f"{protocol}/hv99/{n}-hops"
        yield Figure(f"{name}_kbps", kbps, PUBLISHED_KBPS[n - 1], limit)
        if protocol == "static":
            yield Figure(f"{name}_beside-ns-2_kbps", kbps, NS2_UNBROKEN_KBPS[n - 1], 0.05)


def draw(file: Path) -> None:
    """Five curves over the hops: published, ns-2 and ours, with routes that break and without."""
    panel = plot.Panel("goodput, kbit/s", (0.5, 10.5), (150, 1600))
    close = plot.Panel("relative to the published", (0.5, 10.5), (0.9, 1.3))
    for kind, kbps in {
        "published": PUBLISHED_KBPS,
        "ns-2": NS2_KBPS,
        "ns-2, no link fails": NS2_UNBROKEN_KBPS,
        "static routes": hv99_kbps("static"),
        "DSR": hv99_kbps("dsr"),
    }.items():
        panel.add(kind, list(zip(HOPS, kbps, strict=True)))
        ratios = [one / table for one, table in zip(kbps, PUBLISHED_KBPS, strict=True)]
        close.add(kind, list(zip(HOPS, ratios, strict=True)))
    title = "TCP Reno over a chain, as Holland and Vaidya 1999"
    file.write_text(plot.svg([panel, close], "hops", "", title), encoding="utf-8")


def stock(protocol: str) -> Iterator[Figure]:
    """Within 5 % of ns-2.35's stock setting."""
    measured = measure_all([scenario("ns2-stock", n, protocol) for n in STOCK_KBPS], goodput_kbps)
    for (n, reference), kbps in zip(STOCK_KBPS.items(), measured, strict=True):
        yield Figure(f"{protocol}/ns2-stock/{n}-hops_kbps", kbps, reference, 0.05)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
