# SPDX-License-Identifier: Apache-2.0
"""Two TCP flows of different round-trip times through one bottleneck, beside ns-2.35.

The share of the flow with the longer round trip depends on phases (Floyd and Jacobson 1992). In
ns-2 TCP sends at once, so arrivals keep step with the bottleneck's departures, and the longer
flow's packets come in clumps to a full queue. Constant-rate packets with random spacing go the
other way in both worlds, among the acknowledgements. ns-2's TCP can also send each packet later by
a draw, which breaks clumps too.

``python -m tests.validate.round_trips`` prints ns-2's shares without and with random phases, the
table of `docs/validation.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import ns2
from hoplab.many.study.figures import Figure, figure
from tests.validate import recorded
from tests.validate.dumbbell import (
    MIN_RTO_MS,
    TCP_PAYLOAD_BYTES,
    UDP_FRAME_BYTES,
    UDP_PAYLOAD_BYTES,
)
from tests.validate.runs import measure_seeds

NEAR_MS = 4.0
FAR_MS = (24, 64)
"""Round trips without queues."""
VARIANTS = {"sack": "Sack1", "newreno": "Newreno"}
BACK_MBPS = 5
FROM_S, TO_S = 10.0, 60.0
SEEDS = range(1, 6)
NS2_SEEDS = range(1, 21)
PHASES = {
    "at once": "",
    "traffic back": f" -back {BACK_MBPS}",
    "up to 0.8 ms later": " -overhead 0.0008",
    "up to 6 ms later": " -overhead 0.006",
}
"""How ns-2's TCP sends a packet, by options of its script. One takes 0.8 ms at the bottleneck."""


def _link(ends: str, mbps: float, delay_ms: float, packets: int = 5000) -> dict[str, Any]:
    queue = {"kind": "droptail", "packets": packets}
    return {"ends": ends.split("-"), "rate_mbps": mbps, "delay_ms": delay_ms, "queue": queue}


def scenario(variant: str, far_ms: float) -> dict[str, Any]:
    """The setting of ``tests/ns2/round_trips.tcl``."""
    flows = {"near": ("n1", "n4", 0.1), "far": ("n5", "n6", 0.6)}
    return {
        "title": f"{variant}, round trips of {NEAR_MS:g} and {far_ms:g} ms",
        "duration_s": TO_S + 1,
        "station": [{"name": f"n{i}", "radio": False} for i in range(1, 7)],
        "link": [
            _link("n1-n2", 100, NEAR_MS / 2 - 1),
            _link("n5-n2", 100, far_ms / 2 - 1),
            _link("n2-n3", 10, 0.5, 50),
            _link("n3-n4", 100, 0.5),
            _link("n3-n6", 100, 0.5),
        ],
        "tcp": {"profile": "classic", "delayed_ack": False, "min_rto_ms": MIN_RTO_MS},
        "measure": {"interval_s": 1.0},
        "flow": [
            *(
                {
                    "name": name,
                    "source": source,
                    "destination": destination,
                    "congestion_control": variant,
                    "mss": TCP_PAYLOAD_BYTES,
                    "window": 1000,
                    "start_s": start_s,
                }
                for name, (source, destination, start_s) in flows.items()
            ),
            {
                "name": "back",
                "protocol": "udp",
                "source": "n3",
                "destination": "n2",
                "packet_bytes": UDP_PAYLOAD_BYTES,
                "rate_kbps": BACK_MBPS * 1000 * UDP_PAYLOAD_BYTES / UDP_FRAME_BYTES,
                "spacing": "random",
            },
        ],
    }


def far_share(results: Results) -> float:
    """What the flow with the longer round trip delivered, of what both did, from 10 to 60 s."""
    delivered = {}
    for name in ("near", "far"):
        octets = {
            round(row["t_s"]): row["delivered_bytes"]
            for row in results.rows("tcp")
            if row["flow"] == name
        }
        delivered[name] = octets[round(TO_S)] - octets[round(FROM_S)]
    return float(delivered["far"] / sum(delivered.values()))


def ns2_shares(variant: str, far_ms: int, phases: str) -> list[float]:
    """The same in ns-2.35, one a seed."""
    options = [
        f"-variant {VARIANTS[variant]} -far {far_ms}{PHASES[phases]} -seed {seed}"
        for seed in NS2_SEEDS
    ]
    return [share for (share,) in recorded.rows("round_trips", ("far_share",), options, _in_ns2)]


def _in_ns2(options: str) -> recorded.Row:
    said = ns2.run(recorded.SCRIPTS / "round_trips.tcl", **recorded.words(options))
    return (float(said.split()[-1]),)


def items() -> Iterator[Figure]:
    """The share of the longer flow, for information: in ns-2 phases decide it."""
    jobs = [(variant, far_ms) for variant in VARIANTS for far_ms in FAR_MS]
    found = measure_seeds([scenario(*job) for job in jobs], SEEDS, far_share)
    for (variant, far_ms), shares in zip(jobs, found, strict=True):
        reference = ns2_shares(variant, far_ms, "traffic back")
        yield figure(f"tcp/round-trips/{variant}/{far_ms}-ms_share", shares, reference, None)


if __name__ == "__main__":
    print("| |", " | ".join(PHASES), "|")
    for variant in VARIANTS:
        for far_ms in FAR_MS:
            means = (fmean(ns2_shares(variant, far_ms, phases)) for phases in PHASES)
            print(f"| {variant}, {far_ms} ms |", " | ".join(f"{mean:.3f}" for mean in means), "|")
