# SPDX-License-Identifier: Apache-2.0
"""The six-node dumbbell: a TCP flow, or two, beside constant-rate traffic on 10 Mbit/s.

Phases are randomised in both worlds (Floyd and Jacobson 1992). Else they decide for a whole run
whose packets find the queue full. Constant-rate packets come with random spacing. So do others on
the way back, and the acknowledgements queue among them. The links of the TCP senders are longer by
a draw of up to a packet's time. For TCP keeps a phase against the departures of a bottleneck that
is never idle.

The setting is that of ns-2.35's figures below. Links have 10 Mbit/s and 10 ms, queues 50 packets,
windows 100 segments of 1000 bytes, and no acknowledgement is delayed. In ns-2 there is no link
layer: its segments are 1040 bytes on the link, its constant-rate packets 1000. Here frames with
their Ethernet header are as long, so a segment carries 986 bytes, and goodput is scaled by
1000/986.

``python -m tests.validate.dumbbell`` prints the table of pairs in `docs/tcp.md`. With one or two
variants it prints what these flows send and lose in the course of their 20 s. With ``--ns2`` it
prints what they do in ns-2, with ``--ns2-as-linux`` by two more rules of the kernel's.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.host.statistics.samples import jain
from hoplab.many.study import ns2
from hoplab.many.study.figures import Figure, figure
from hoplab.many.study.shares import Share
from hoplab.many.study.shares import shares as found_shares
from tests.validate import recorded
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
"""The flow's handshake comes before its 20 s, and takes a round trip."""
WINDOW = 100
MIN_RTO_MS = 100
"""The kernel's least timeout is this and the round trip, here of 0.1 s where the queue is full.
That of ns-2 is 0.2 s with the round trip in it."""

CBR_MBPS = (1.0, 5.0, 8.0, 9.0, 10.0)
VARIANTS = ("tahoe", "reno", "newreno", "vegas")
PAIRS = (("reno", "reno"), ("newreno", "reno"), ("vegas", "vegas"), ("newreno", "vegas"))
PAIRS_CBR_MBPS = 5.0
SEEDS = range(1, 21)
NS2_SEEDS = range(1, 41)
LATE_S = 0.05
"""The second flow starts so much later."""
SPANS_S, COURSE_CBR_MBPS = (0.0, 0.7, 2.0, 5.0, 10.0, 20.0), (5.0, 8.0, 9.0, 10.0)
"""Of `course`. Slow start overshoots before 0.7 s, and the first timeout comes later."""
LIMIT = 0.15
NS2_NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "vegas": "Vegas"}
STEADY = " -steady 1"
"""NewReno as in Linux: a partial acknowledgement starts the timer anew and leaves the window."""
LINUX = " -linux 1"
"""Two more of its rules: a timeout in recovery leaves ssthresh, and slow start counts acknowledged
segments."""
BACK_MBPS = 5.0
PHASE_MS = 0.8
"""A constant-rate packet's time on the bottleneck."""
NS2_OPTIONS = f"-random 1 -back {BACK_MBPS:g} -phase {PHASE_MS} -alpha 2 -beta 4"
"""What is randomised here too; and Vegas with the kernel's thresholds (its gamma is ns-2's, 1)."""
EVEN_MBPS = {
    "tahoe": (8.48, 4.24, 1.85, 0.98, 0.04),
    "reno": (8.48, 3.74, 1.60, 0.93, 0.04),
    "newreno": (8.48, 4.33, 1.89, 0.99, 0.04),
    "vegas": (6.64, 4.56, 1.89, 0.96, 0.02),
}
EVEN_PAIRS_MBPS = ((1.96, 2.05), (2.69, 1.73), (2.34, 2.37), (3.72, 0.91))
"""ns-2.35 with even spacing, and Vegas with the thresholds 1 and 3: for information."""
PER_FLOW = ("mbps", "lost_percent", "delay_ms")


def _constant_rate(source: str, destination: str, mbps: float) -> dict[str, Any]:
    return {
        "name": f"from-{source}",
        "protocol": "udp",
        "source": source,
        "destination": destination,
        "packet_bytes": UDP_PAYLOAD_BYTES,
        "rate_kbps": mbps * 1000 * UDP_PAYLOAD_BYTES / UDP_FRAME_BYTES,
        "spacing": "random",
    }


def _link(ends: str, extra_ms: float = 0.0) -> dict[str, Any]:
    queue = {"kind": "droptail", "packets": 50}
    return {
        "ends": ends.split("-"),
        "rate_mbps": 10,
        "delay_ms": round(10 + extra_ms, 4),
        "queue": queue,
    }


def scenario(variants: tuple[str, ...], cbr_mbps: float, seed: int) -> dict[str, Any]:
    """One or two TCP flows across the bottleneck n2-n3, which constant-rate traffic shares."""
    ends = (("n1", "n4"), ("n5", "n6"))
    draw = random.Random(seed)
    return {
        "title": f"{' and '.join(variants)} beside {cbr_mbps:g} Mbit/s",
        "duration_s": DURATION_S,
        "seed": seed,
        "station": [{"name": f"n{i}", "radio": False} for i in range(1, 7)],
        "link": [
            *(_link(ends, round(draw.uniform(0, PHASE_MS), 4)) for ends in ("n1-n2", "n5-n2")),
            *(_link(ends) for ends in ("n2-n3", "n3-n4", "n3-n6")),
        ],
        "tcp": {"profile": "classic", "delayed_ack": False, "min_rto_ms": MIN_RTO_MS},
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
                    "start_s": CBR_FIRST_S + i * LATE_S,
                }
                for i, (variant, (source, destination)) in enumerate(
                    zip(variants, ends, strict=False)
                )
            ),
            _constant_rate("n2", "n3", cbr_mbps),
            _constant_rate("n3", "n2", BACK_MBPS),
        ],
    }


def shares(results: Results) -> list[Share]:
    """Each TCP flow's share of `MEASURED_S`, as ns-2 counts it."""
    return list(found_shares(results, MEASURED_S, NS2_PAYLOAD_BYTES / TCP_PAYLOAD_BYTES))


def alone() -> dict[tuple[str, float], list[Share]]:
    """One TCP flow of each variant beside each constant rate, a share a seed."""
    keys = [(variant, cbr) for variant in VARIANTS for cbr in CBR_MBPS]
    found = _measure([((variant,), cbr) for variant, cbr in keys])
    return {key: [one[0] for one in draws] for key, draws in zip(keys, found, strict=True)}


def _measure(cases: list[tuple[tuple[str, ...], float]]) -> list[list[list[Share]]]:
    """For each case and seed, what each flow got."""
    found = measure_all([scenario(*case, seed) for case in cases for seed in SEEDS], shares)
    return [found[i : i + len(SEEDS)] for i in range(0, len(found), len(SEEDS))]


def ns2_alone() -> dict[tuple[str, float], list[Share]]:
    """The same in ns-2.35."""
    keys = [(variant, cbr) for variant in VARIANTS for cbr in CBR_MBPS]
    found = _ns2_shares([(_flows(variant), cbr) for variant, cbr in keys])
    return {key: [one[0] for one in draws] for key, draws in zip(keys, found, strict=True)}


def pairs(rates: tuple[float, ...]) -> dict[tuple[tuple[str, str], float], list[list[Share]]]:
    """Both flows of each pair beside each constant rate, a pair of shares a seed."""
    keys = [(pair, cbr) for pair in PAIRS for cbr in rates]
    return dict(zip(keys, _measure(list(keys)), strict=True))


def ns2_pairs() -> dict[tuple[str, str], list[list[Share]]]:
    """The same in ns-2.35, beside `PAIRS_CBR_MBPS`."""
    found = _ns2_shares([(_flows(*pair), PAIRS_CBR_MBPS) for pair in PAIRS])
    return dict(zip(PAIRS, found, strict=True))


def _flows(*variants: str) -> str:
    """As the script's options name them."""
    named = zip(("-first", "-second"), variants, strict=False)
    words = " ".join(f"{which} {NS2_NAMES[variant]}" for which, variant in named)
    return words + (STEADY if "newreno" in variants else "")


def _ns2_shares(cases: list[tuple[str, float]]) -> list[list[list[Share]]]:
    """For each case and seed, what each flow got."""
    options = [
        f"{flows} -cbr {cbr:g} {NS2_OPTIONS} -seed {seed}"
        for flows, cbr in cases
        for seed in NS2_SEEDS
    ]
    columns = [f"{which}_{name}" for which in ("first", "second") for name in PER_FLOW]
    found = [
        [Share(row[0], row[1], row[2]), Share(row[3], row[4], row[5])]
        for row in recorded.rows("dumbbell", columns, options, _in_ns2)
    ]
    return [found[i : i + len(NS2_SEEDS)] for i in range(0, len(found), len(NS2_SEEDS))]


def _in_ns2(options: str) -> recorded.Row:
    """Zeros for a second flow that is not there."""
    printed = ns2.run(recorded.SCRIPTS / "dumbbell.tcl", **recorded.words(options)).splitlines()
    row: list[float] = []
    for line in printed:
        words = line.split()
        row += [float(words[words.index(name) + 1]) for name in ("Mbit/s", "%", "ms")]
    return tuple(row + [0.0] * (6 - len(row)))


def items() -> Iterator[Figure]:
    """Throughput, loss and delay beside ns-2's; who takes from whom."""
    reference = ns2_alone()
    for (variant, cbr), draws in alone().items():
        name = f"tcp/dumbbell/{variant}/cbr{cbr:g}"
        for quantity in PER_FLOW:
            own, other = (
                [getattr(share, quantity) for share in side]
                for side in (draws, reference[variant, cbr])
            )
            yield figure(f"{name}_{quantity}", own, other, LIMIT)
        even = EVEN_MBPS[variant][CBR_MBPS.index(cbr)]
        mbps = [share.mbps for share in draws]
        yield figure(f"{name}_mbps_beside-even-spacing", mbps, even, None)
    ns2_of = ns2_pairs()
    for (pair, cbr), found in pairs((PAIRS_CBR_MBPS,)).items():
        name = f"tcp/dumbbell/{pair[0]}-{pair[1]}/cbr{cbr:g}"
        even_pair = EVEN_PAIRS_MBPS[PAIRS.index(pair)]
        for i, which in enumerate(("first", "second")):
            mbps = [both[i].mbps for both in found]
            yield figure(f"{name}_{which}-mbps", mbps, [b[i].mbps for b in ns2_of[pair]], LIMIT)
            yield figure(f"{name}_{which}-mbps_beside-even-spacing", mbps, even_pair[i], None)
        own, other = (
            [jain([share.mbps for share in both]) for both in side]
            for side in (found, ns2_of[pair])
        )
        yield figure(f"{name}_jain", own, other, LIMIT)
        if pair == ("newreno", "vegas"):
            # NewReno fills the queue, which makes Vegas give way: more than half, less than all.
            part = [a.mbps / (a.mbps + b.mbps) for a, b in found]
            yield figure(f"{name}_share-of-newreno", part, 0.75, 1 / 3)


def table() -> Iterator[str]:
    """The table of pairs in `docs/tcp.md`."""
    rates = tuple(float(mbps) for mbps in range(1, 11))
    found = pairs(rates)
    for cbr in rates:
        cells = []
        for pair in PAIRS:
            first, second = (fmean(both[i].mbps for both in found[pair, cbr]) for i in range(2))
            fairness = fmean(jain([share.mbps for share in both]) for both in found[pair, cbr])
            cells.append(f"{first:.2f} / {second:.2f} ({fairness:.2f})")
        yield f"| {cbr:g} | {' | '.join(cells)} |"


Counts = tuple[tuple[int, int], ...]
"""Of a flow: packets sent and lost in each span of `SPANS_S`."""


def course(variants: Sequence[str], ns2_rules: str | None) -> Iterator[str]:
    """A line for each constant rate, flow and span of `SPANS_S`: what it sends and loses, a run.
    With ``ns2_rules``, options of the script, in ns-2."""
    for cbr in COURSE_CBR_MBPS if len(variants) == 1 else (PAIRS_CBR_MBPS,):
        if ns2_rules is None:
            runs = _counts(variants, cbr)
        else:
            runs = _counts_in_ns2(f"{_flows(*variants)}{ns2_rules} -cbr {cbr:g} {NS2_OPTIONS}")
        for i, variant in enumerate(variants):
            for (begin_s, end_s), spans in zip(
                pairwise(SPANS_S), zip(*(run[i] for run in runs), strict=True), strict=True
            ):
                sent, lost = (fmean(counts) for counts in zip(*spans, strict=True))
                mbps = 8e-6 * NS2_PAYLOAD_BYTES * (sent - lost) / (end_s - begin_s)
                yield (
                    f"{variant} beside {cbr:g} Mbit/s, {begin_s:g} to {end_s:g} s: "
                    f"{mbps:.2f} Mbit/s, {lost:.1f} of {sent:.0f} packets lost"
                )


def _counts(variants: Sequence[str], cbr: float) -> list[list[Counts]]:
    """For each seed and flow."""
    flows = [f"tcp{i}" for i in range(len(variants))]
    cases = [scenario(tuple(variants), cbr, seed) for seed in SEEDS]
    return measure_all(cases, lambda results: [_counted(results, flow) for flow in flows])


def _counted(results: Results, flow: str) -> Counts:
    data = [packet for packet in results.rows("packets") if packet["flow"] == flow]
    began_s = min(packet["sent_s"] for packet in data)
    ages = [packet["sent_s"] - began_s for packet in data]
    lost = [packet["sent_s"] - began_s for packet in data if packet["received_s"] is None]
    return tuple(
        (sum(begin_s <= age < end_s for age in ages), sum(begin_s <= age < end_s for age in lost))
        for begin_s, end_s in pairwise(SPANS_S)
    )


def _counts_in_ns2(words: str) -> list[list[Counts]]:
    options = recorded.words(words)
    spans = " ".join(f"{at_s:g}" for at_s in SPANS_S)

    def run(seed: int) -> list[Counts]:
        printed = ns2.run(recorded.SCRIPTS / "dumbbell.tcl", **options, seed=seed, spans=spans)
        found: list[Counts] = [(), ()]
        for line in printed.splitlines():
            if line.startswith(("1: ", "2: ")):
                *_, sent, lost = line.split()
                found[int(line[0]) - 1] += ((int(sent), int(lost)),)
        return found

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, SEEDS))


if __name__ == "__main__":
    rules = {"--ns2": "", "--ns2-as-linux": LINUX}
    asked = [word for word in sys.argv[1:] if word not in rules]
    chosen = next((rules[word] for word in sys.argv if word in rules), None)
    for line in course(asked, chosen) if asked else table():
        print(line)
