# SPDX-License-Identifier: Apache-2.0
"""Two TCP flows of different round-trip times through one bottleneck, beside ns-2.35.

The share of the flow with the longer round trip depends on phases (Floyd and Jacobson 1992). Half
of the acknowledgements do not wait for the traffic back. So half of a flow's packets arrive at one
and the same time after a packet has left the queue. The lengths of links decide whose packet takes
the free place. So the senders' links are longer by draws, which both worlds share, and each draw is
compared. `AHEAD_MS` shifts a wire's departures, so ns-2's bottleneck has it too.

``python -m tests.validate.round_trips`` prints what one change does to ns-2's shares, the table of
`docs/validation.md`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from hoplab.guest.network.wired import BURST_BYTES
from hoplab.host.results.reader import Results
from hoplab.host.statistics.samples import Sample
from hoplab.many.study import ns2
from hoplab.many.study.figures import Figure, figure
from tests.validate import recorded
from tests.validate.dumbbell import (
    MIN_RTO_MS,
    TCP_FRAME_BYTES,
    TCP_PAYLOAD_BYTES,
    UDP_FRAME_BYTES,
    UDP_PAYLOAD_BYTES,
)
from tests.validate.runs import measure_all

NEAR_MS = 4.0
FAR_MS = (24, 64)
"""Round trips without queues."""
VARIANTS = {"sack": "Sack1", "newreno": "Newreno"}
BOTTLENECK_MBPS = 10
BACK_MBPS = 5
FROM_S, TO_S = 10.0, 60.0
SEEDS = range(1, 11)
"""Of the links' lengths and of everything else."""
PHASE_MS = TCP_FRAME_BYTES * 8e-3 / BOTTLENECK_MBPS / 2
"""Half of a packet's time on the bottleneck: a longer link delays acknowledgements too."""
AHEAD_MS = (BURST_BYTES - TCP_FRAME_BYTES) * 8e-3 / BOTTLENECK_MBPS
"""So long before its transmission a packet leaves a busy queue here (`docs/links.md`)."""
NS2_SEEDS = range(1, 5)
"""For each draw of lengths."""
LIMIT = 0.15
CHANGE_SEEDS = range(1, 11)
BACK = f"-back {BACK_MBPS}"
CHANGES = {
    "first sender's link longer by 0.1 ms": f"{BACK} -nearer 0.1",
    "0.2 ms": f"{BACK} -nearer 0.2",
    "0.3 ms": f"{BACK} -nearer 0.3",
    "second sender's link longer by 0.1 ms": f"{BACK} -farther 0.1",
    "packets leave the queue ahead, as here": f"{BACK} -ahead {AHEAD_MS:g}",
    "each packet sent up to 0.8 ms later": f"{BACK} -overhead 0.0008",
    "up to 6 ms later": f"{BACK} -overhead 0.006",
    "nothing": BACK,
    "no traffic back": "",
    "room for 48 packets": f"{BACK} -queue 49",
    "minimum RTO of 1 s": f"{BACK} -tcp minrto_=1.0",
    "initial window of 10": f"{BACK} -tcp windowInit_=10",
    "bursts of at most 4 packets": f"{BACK} -tcp maxburst_=4",
    "no limited transmit": f"{BACK} -tcp singledup_=0",
}
"""What is changed in ns-2, and the options of its script."""


def _link(ends: str, mbps: float, delay_ms: float, packets: int = 5000) -> dict[str, Any]:
    queue = {"kind": "droptail", "packets": packets}
    return {"ends": ends.split("-"), "rate_mbps": mbps, "delay_ms": delay_ms, "queue": queue}


def longer_ms(seed: int) -> tuple[float, float]:
    """By how much the links of both senders are longer."""
    draw = random.Random(seed)
    return round(draw.uniform(0, PHASE_MS), 4), round(draw.uniform(0, PHASE_MS), 4)


def scenario(variant: str, far_ms: float, seed: int) -> dict[str, Any]:
    """The setting of ``tests/ns2/round_trips.tcl``."""
    nearer_ms, farther_ms = longer_ms(seed)
    flows = {"near": ("n1", "n4", 0.1), "far": ("n5", "n6", 0.6)}
    return {
        "title": f"{variant}, round trips of {NEAR_MS:g} and {far_ms:g} ms",
        "duration_s": TO_S + 1,
        "seed": seed,
        "station": [{"name": f"n{i}", "radio": False} for i in range(1, 7)],
        "link": [
            _link("n1-n2", 100, round(NEAR_MS / 2 - 1 + nearer_ms, 4)),
            _link("n5-n2", 100, round(far_ms / 2 - 1 + farther_ms, 4)),
            _link("n2-n3", BOTTLENECK_MBPS, 0.5, 50),
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


def ns2_share(variant: str, far_ms: int, seed: int) -> float:
    """The same in ns-2.35, with links as long as under ``seed``: a mean of `NS2_SEEDS`."""
    nearer_ms, farther_ms = longer_ms(seed)
    phase = f"-nearer {nearer_ms:g} -farther {farther_ms:g} -ahead {AHEAD_MS:g}"
    return fmean(_shares(variant, far_ms, f"{BACK} {phase}", NS2_SEEDS))


def changed(variant: str, far_ms: int, change: str) -> Sample:
    """ns-2's share with one of `CHANGES`, over `CHANGE_SEEDS`."""
    return Sample.of(_shares(variant, far_ms, CHANGES[change], CHANGE_SEEDS))


def _shares(variant: str, far_ms: int, more: str, seeds: range) -> list[float]:
    setting = f"-variant {VARIANTS[variant]} -far {far_ms} {more}".strip()
    options = [f"{setting} -seed {seed}" for seed in seeds]
    return [share for (share,) in recorded.rows("round_trips", ("far_share",), options, _in_ns2)]


def _in_ns2(options: str) -> recorded.Row:
    said = ns2.run(recorded.SCRIPTS / "round_trips.tcl", **recorded.words(options))
    return (float(said.split()[-1]),)


def items() -> Iterator[Figure]:
    """The share of the longer flow over that in ns-2, draw by draw of the links' lengths."""
    jobs = [(variant, far_ms) for variant in VARIANTS for far_ms in FAR_MS]
    found = measure_all([scenario(*job, seed) for job in jobs for seed in SEEDS], far_share)
    for at, (variant, far_ms) in enumerate(jobs):
        shares = found[at * len(SEEDS) : (at + 1) * len(SEEDS)]
        others = [ns2_share(variant, far_ms, seed) for seed in SEEDS]
        name = f"tcp/round-trips/{variant}/{far_ms}-ms_share"
        ratios = [own / other for own, other in zip(shares, others, strict=True)]
        yield figure(f"{name}-over-ns-2", ratios, 1, LIMIT)
        yield figure(name, shares, others, None)


if __name__ == "__main__":
    print("| SACK in ns-2 |", " | ".join(f"{far_ms} ms" for far_ms in FAR_MS), "|")
    for one in CHANGES:
        shares = [changed("sack", far_ms, one) for far_ms in FAR_MS]
        cells = (f"{share.mean:.3f} ± {share.half_width:.3f}" for share in shares)
        print(f"| {one} |", " | ".join(cells), "|")
