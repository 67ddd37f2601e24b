# SPDX-License-Identifier: Apache-2.0
"""The six-node dumbbell: a TCP flow, or two, beside constant-rate traffic on 10 Mbit/s.

Links of 10 Mbit/s and 10 ms, queues of 50 packets, windows of 100 segments of 1000 bytes, no
delayed acknowledgements: the setting of ns-2.35's figures below. ns-2 has no link layer: its
segments are 1040 bytes on the link, its constant-rate packets 1000. Here frames with their
Ethernet header are as long, so a segment carries 986 bytes, and goodput is scaled by 1000/986.

``python -m tests.validate.dumbbell`` prints the tables of `docs/tcp.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any

from hoplab.results.reader import Results
from tests.validate.figures import Figure
from tests.validate.runs import measure_all

TCP_FRAME_BYTES, UDP_FRAME_BYTES = 1040, 1000
NS2_PAYLOAD_BYTES = 1000
TCP_PAYLOAD_BYTES = TCP_FRAME_BYTES - 14 - 40
UDP_PAYLOAD_BYTES = UDP_FRAME_BYTES - 14 - 28
MEASURED_S = 20.0
"""From a flow's first segment, slow start included, as in the ns-2 runs."""
CBR_FIRST_S = 1.0
"""Constant-rate traffic is there before TCP."""
DURATION_S = CBR_FIRST_S + MEASURED_S + 1.5
"""iperf3 makes a control connection and exchanges its parameters first."""
WINDOW = 100

CBR_MBPS = (1.0, 5.0, 8.0, 9.0, 10.0)
NS2_MBPS = {
    "tahoe": (8.48, 4.24, 1.85, 0.98, 0.04),
    "reno": (8.48, 3.74, 1.60, 0.93, 0.04),
    "newreno": (8.48, 4.33, 1.89, 0.99, 0.04),
    "vegas": (6.64, 4.56, 1.89, 0.96, 0.02),
    "vegas-2-4": (8.19, 4.79, 1.97, 1.01, 0.02),
}
"""ns-2.35, 20 s. Its Vegas has the thresholds 1 and 3; `vegas-2-4` has the kernel's."""
NS2_LOSS_PERCENT = {
    "tahoe": (0.0, 0.251, 1.547, 4.097, 30.4),
    "reno": (0.0, 0.260, 1.446, 4.382, 29.4),
    "newreno": (0.0, 0.242, 1.366, 3.930, 29.9),
    "vegas": (0.0, 0.0, 0.0, 0.0, 30.6),
    "vegas-2-4": (0.0, 0.0, 0.0, 0.0, 30.6),
}
NS2_DELAY_MS = {
    "tahoe": (62.2, 50.8, 52.0, 57.7, 62.6),
    "reno": (62.2, 48.0, 49.5, 50.5, 62.6),
    "newreno": (62.2, 50.2, 55.3, 54.7, 62.6),
    "vegas": (33.0, 34.4, 38.3, 44.8, 52.2),
    "vegas-2-4": (34.5, 38.4, 46.7, 65.4, 52.2),
}
"""Both: TCP's own segments, means of five starts."""
NS2_OF = {
    "tahoe": ("tahoe",),
    "reno": ("reno",),
    "newreno": ("newreno",),
    "vegas": ("vegas", "vegas-2-4"),
}
PAIRS = (("reno", "reno"), ("newreno", "reno"), ("vegas", "vegas"), ("newreno", "vegas"))
NS2_PAIRS_MBPS = ((1.96, 2.05), (2.69, 1.73), (2.34, 2.37), (3.72, 0.91))
"""ns-2.35 at 5 Mbit/s of constant-rate traffic."""
PAIRS_CBR_MBPS = 5.0
DRAWS = 3
"""Runs of a pair with other starts; over five, ns-2's shares spread by up to 13 %."""
JITTER_S = 0.1


@dataclass(frozen=True)
class Share:
    """What a TCP flow got: Mbit/s of whole frames, share of its packets lost, mean delay in ms."""

    mbps: float
    loss: float
    delay_ms: float
    timeouts: int


def scenario(variants: tuple[str, ...], cbr_mbps: float, draw: int = 0) -> dict[str, Any]:
    """One or two TCP flows across the bottleneck n2-n3, which constant-rate traffic shares."""
    ends = (("n1", "n4"), ("n5", "n6"))
    late_s = Random(draw).uniform(0, JITTER_S)
    return {
        "title": f"{' and '.join(variants)} beside {cbr_mbps:g} Mbit/s",
        "duration_s": DURATION_S,
        "topology": {
            "kind": "dumbbell",
            "queue": {"kind": "droptail", "packets": 50},
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
                    "window": WINDOW,
                    "start_s": CBR_FIRST_S + i * late_s,
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
                "rate_kbps": cbr_mbps * 1000 * UDP_PAYLOAD_BYTES / UDP_FRAME_BYTES,
            },
        ],
    }


def shares(results: Results) -> list[Share]:
    """Each TCP flow's share of `MEASURED_S`."""
    found = []
    packets = results.rows("packets")
    rows = results.rows("tcp")
    for flow in results.scenario["flow"]:
        if flow.get("protocol") == "udp":
            continue
        data = [packet for packet in packets if packet["flow"] == flow["name"]]
        began_s = min(packet["sent_s"] for packet in data)
        until_s = began_s + MEASURED_S
        sent = [packet for packet in data if packet["sent_s"] <= until_s]
        arrived = [p["received_s"] - p["sent_s"] for p in sent if p["received_s"] is not None]
        last = [r for r in rows if r["flow"] == flow["name"] and r["t_s"] <= until_s][-1]
        mbps = last["delivered_bytes"] * 8e-6 / (last["t_s"] - began_s)
        found.append(
            Share(
                mbps * NS2_PAYLOAD_BYTES / TCP_PAYLOAD_BYTES,
                1 - len(arrived) / len(sent),
                1000 * fmean(arrived) if arrived else 0.0,
                int(last["timeouts"] or 0),
            )
        )
    return found


def jain(rates: list[float]) -> float:
    """Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2)."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def alone(variants: tuple[str, ...] = tuple(NS2_OF)) -> dict[tuple[str, float], Share]:
    """One TCP flow of each variant beside each constant rate."""
    keys = [(variant, cbr) for variant in variants for cbr in CBR_MBPS]
    found = measure_all([scenario((variant,), cbr) for variant, cbr in keys], shares)
    return {key: one[0] for key, one in zip(keys, found, strict=True)}


def pairs(
    rates: tuple[float, ...], draws: int = DRAWS
) -> dict[tuple[tuple[str, str], float], tuple[float, float]]:
    """Mean Mbit/s of both flows of each pair beside each constant rate."""
    keys = [(pair, cbr) for pair in PAIRS for cbr in rates]
    documents = [scenario(pair, cbr, draw) for pair, cbr in keys for draw in range(draws)]
    found = measure_all(documents, shares)
    means = {}
    for i, key in enumerate(keys):
        drawn = found[i * draws : (i + 1) * draws]
        means[key] = (fmean(one[0].mbps for one in drawn), fmean(one[1].mbps for one in drawn))
    return means


def items() -> Iterator[Figure]:
    """Throughput, loss and delay beside ns-2's; who takes from whom."""
    for (variant, cbr), share in alone().items():
        at = CBR_MBPS.index(cbr)
        for key in NS2_OF[variant]:
            name = f"tcp/dumbbell/{key}/cbr{cbr:g}"
            yield Figure(f"{name}_mbps", share.mbps, NS2_MBPS[key][at], 0.15)
            lost = 100 * share.loss
            yield Figure(f"{name}_lost-percent", lost, NS2_LOSS_PERCENT[key][at], 0.15)
            yield Figure(f"{name}_delay-ms", share.delay_ms, NS2_DELAY_MS[key][at], 0.15)
    for (pair, cbr), (first, second) in pairs((PAIRS_CBR_MBPS,)).items():
        expected = NS2_PAIRS_MBPS[PAIRS.index(pair)]
        name = f"tcp/dumbbell/{pair[0]}-{pair[1]}/cbr{cbr:g}"
        yield Figure(f"{name}_first-mbps", first, expected[0], 0.15)
        yield Figure(f"{name}_second-mbps", second, expected[1], 0.15)
        yield Figure(f"{name}_jain", jain([first, second]), jain(list(expected)), 0.15)
        if pair == ("newreno", "vegas"):
            # NewReno fills the queue, which makes Vegas give way: more than half, less than all.
            yield Figure(f"{name}_share-of-newreno", first / (first + second), 0.75, 1 / 3)


def tables() -> Iterator[str]:
    """The tables of `docs/tcp.md`."""
    for (variant, cbr), share in alone().items():
        yield (
            f"| {variant} | {cbr:g} | {share.mbps:.2f} | {100 * share.loss:.2f} "
            f"| {share.delay_ms:.1f} | {share.timeouts} |"
        )
    for (pair, cbr), rates in pairs(tuple(float(n) for n in range(1, 11))).items():
        first, second = rates
        yield (
            f"| {' / '.join(pair)} | {cbr:g} | {first:.2f} / {second:.2f} "
            f"| {jain([first, second]):.3f} |"
        )


if __name__ == "__main__":
    for line in tables():
        print(line)
