# SPDX-License-Identifier: Apache-2.0
"""Variants of TCP beside constant-rate traffic, alone and in pairs, and through DropTail or RED."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from hoplab.host.statistics.samples import Sample, difference, jain
from hoplab.many.study import plot
from hoplab.many.study.findings import Beside, Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.shares import Share, shares
from hoplab.many.study.swept import Run, Runs

NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK", "vegas": "Vegas"}
MEASURED_S = 20.0
"""Of experiments 1 and 2, from a flow's first packet."""
SCALE = 1000 / 986
"""ns-2's payload over ours in a frame of the same length."""
BURST_S, END_S = 45.0, 100.0
"""Of experiment 3: constant-rate traffic comes at 40 s; what it tips over is lost by `BURST_S`."""
DROPTAIL = "DropTail"
QUANTITIES = {
    "mbps": "throughput (Mbit/s)",
    "lost_percent": "packets lost (%)",
    "delay_ms": "delay (ms)",
}
COLOURS = ("#1f5fa8", "#d95f02", "#5b8c2a", "#7a4fa3", "#c0182b", "#9aa5b1")


@dataclass(frozen=True)
class Passage:
    """A flow through a queue: experiment 3."""

    share: Share
    burst: int
    """Packets lost up to `BURST_S`, and after it."""
    steady: int
    series: Sequence[tuple[float, float]]
    """(s, Mbit/s), two seconds a point."""

    @property
    def rate(self) -> float:
        """Share of the flow's packets that were lost."""
        return self.share.lost / self.share.sent


def flows(run: Run) -> list[Share]:
    return list(shares(run, MEASURED_S, SCALE))


def passage(run: Run) -> Passage:
    name = next(f["flow"] for f in run.rows("flows") if f["protocol"] == "tcp")
    packets = [p for p in run.rows("packets") if p["flow"] == name and p["received_s"] is None]
    samples = [s for s in run.rows("tcp") if s["flow"] == name]
    marks = [(s["t_s"], s["delivered_bytes"]) for s in samples if s["t_s"] % 2 == 0]
    series = [
        (t, SCALE * 8e-6 * (now - before) / (t - earlier))
        for (earlier, before), (t, now) in pairwise(marks)
    ]
    early = sum(p["sent_s"] < BURST_S for p in packets)
    (share,) = shares(run, END_S, SCALE)
    return Passage(share, early, len(packets) - early, series)


Alone = Mapping[tuple[str, float], Sequence[Share]]
Pairs = Mapping[tuple[str, float], Sequence[Sequence[Share]]]
Queues = Mapping[tuple[str, str], Sequence[Passage]]


def of(found: Sequence[Share], quantity: str) -> Sample:
    return Sample.of([getattr(share, quantity) for share in found])


def _alone_table(alone: Alone, ns2: Mapping[str, Any]) -> Table:
    heads = ("", "CBR", "Mbit/s", "ns-2.35", "lost %", "ns-2.35", "delay ms", "ns-2.35")
    rows: list[Sequence[Cell]] = []
    for (variant, cbr), found in alone.items():
        cells: list[Cell] = []
        for quantity in QUANTITIES:
            cells += [of(found, quantity), _in_ns2(ns2, quantity, variant, cbr)]
        rows.append((NAMES[variant], f"{cbr:g}", *cells))
    return Table("alone", "One flow beside constant-rate traffic", heads, rows)


def _in_ns2(ns2: Mapping[str, Any], quantity: str, variant: str, cbr: float) -> float | None:
    rates = ns2.get("cbr_mbps", [])
    return float(ns2[quantity][variant][rates.index(cbr)]) if cbr in rates else None


def _alone_pictures(alone: Alone) -> list[Picture]:
    variants = list(dict.fromkeys(variant for variant, _ in alone))
    rates = sorted({cbr for _, cbr in alone})
    panels = []
    for quantity, label in QUANTITIES.items():
        whole = [of(found, quantity) for found in alone.values()]
        highest = max(sample.mean + sample.half_width for sample in whole)
        panel = plot.Panel(label, (0.5, 10.5), (0, 1.05 * highest))
        for variant in variants:
            samples = {c: of(alone[variant, c], quantity) for c in rates if (variant, c) in alone}
            points = [(cbr, sample.mean) for cbr, sample in samples.items()]
            errors = [s.half_width for s in samples.values()]
            panel.add(NAMES[variant], points, "-", errors, plot.STYLES[variant])
        panels.append(panel)
    low = plot.Panel("packets lost (%), below the link's rate", (0.5, 9.5), (0, 5))
    for variant in variants:
        own = {c: alone[variant, c] for c in rates if c < 10 and (variant, c) in alone}
        points = [(c, of(found, "lost_percent").mean) for c, found in own.items()]
        low.add(NAMES[variant], points, "-", style=plot.STYLES[variant])
    panels.append(low)
    title = "One TCP flow beside constant-rate traffic"
    return [Picture("alone", plot.svg(panels, "constant rate (Mbit/s)", "", title))]


def _pairs_table(pairs: Pairs, ns2: Mapping[str, Any]) -> Table:
    heads = ("", "CBR", "first", "second", "Jain's index", "ns-2.35: first", "second")
    rows: list[Sequence[Cell]] = []
    for (pair, cbr), found in pairs.items():
        both: list[Cell] = [of([draw[i] for draw in found], "mbps") for i in (0, 1)]
        fair = Sample.of([jain([share.mbps for share in draw]) for draw in found])
        known = ns2.get("pairs_at_5", {}).get(pair) if cbr == 5 else None
        rows.append((pair, f"{cbr:g}", *both, fair, *(known or (None, None))))
    return Table("pairs", "Two flows, Mbit/s", heads, rows)


def _pairs_picture(pairs: Pairs) -> Picture:
    panels = []
    for pair in dict.fromkeys(pair for pair, _ in pairs):
        panel = plot.Panel(pair, (0.5, 10.5), (0, 7.5))
        for i, which in enumerate(("first", "second")):
            samples = {
                cbr: of([draw[i] for draw in found], "mbps")
                for (name, cbr), found in pairs.items()
                if name == pair
            }
            points = [(cbr, sample.mean) for cbr, sample in samples.items()]
            errors = [sample.half_width for sample in samples.values()]
            panel.add(which, points, "-", errors, (COLOURS[i], "os"[i]))
        panels.append(panel)
    svg = plot.svg(panels, "constant rate (Mbit/s)", "Mbit/s", "Two TCP flows")
    return Picture("pairs", svg)


def _queues_table(name: str, title: str, queues: Queues) -> Table:
    heads = (
        *("", "queue", "drop rate", "of DropTail's", "lost by 45 s", "after", "of DropTail's"),
        *("delay ms", "Mbit/s"),
    )
    rows: list[Sequence[Cell]] = []
    for (variant, queue), found in queues.items():
        plain = queues[variant, DROPTAIL]
        steady = _mean(found, lambda p: p.steady)
        rows.append(
            (
                *(NAMES[variant], queue, Sample.of([p.rate for p in found])),
                _mean(found, lambda p: p.rate) / _mean(plain, lambda p: p.rate),
                Sample.of([p.burst for p in found]),
                Sample.of([p.steady for p in found]),
                steady / _mean(plain, lambda p: p.steady),
                Sample.of([p.share.delay_ms for p in found]),
                Sample.of([p.share.mbps for p in found]),
            )
        )
    return Table(name, title, heads, rows)


def _mean(found: Sequence[Passage], read: Callable[[Passage], float]) -> float:
    return fmean(read(one) for one in found)


def _queues_picture(queues: Queues) -> Picture:
    panels = []
    for variant in dict.fromkeys(variant for variant, _ in queues):
        panel = plot.Panel(NAMES[variant], (0, END_S), (0, 10))
        for i, ((name, queue), found) in enumerate(queues.items()):
            if name == variant:
                colour = COLOURS[i % len(COLOURS)]
                panel.add(queue, list(found[0].series), "-", style=(colour, ""))
        panels.append(panel)
    title = "Throughput; constant-rate traffic of 7 Mbit/s from 40 s on"
    return Picture("queues", plot.svg(panels, "time (s)", "Mbit/s", title))


def _alone_claims(alone: Alone) -> list[Claim]:
    variants, rates = {variant for variant, _ in alone}, sorted({cbr for _, cbr in alone})
    if len(alone) < len(variants) * len(rates) or variants != set(NAMES) - {"sack"}:
        return []
    return [_vegas_claim(alone, rates), _newreno_claim(alone, rates), _jump_claim(alone, rates)]


def _vegas_claim(alone: Alone, rates: Sequence[float]) -> Claim:
    """Best in a quantity at a rate: better than each other, or no different from the best."""
    wins: dict[str, int] = {}
    for quantity in QUANTITIES:
        sign = 1 if quantity == "mbps" else -1
        wins[quantity] = sum(
            all(
                sign
                * (
                    gap := difference(of(alone["vegas", c], quantity), of(alone[v, c], quantity))
                ).mean
                >= -gap.half_width - 1e-9
                for v, rate in alone
                if rate == c and v != "vegas"
            )
            for c in rates
        )
    full = sum(count == len(rates) for count in wins.values())
    verdict: Verdict = (
        "reproduced" if full == len(wins) else "in part" if any(wins.values()) else "not"
    )
    shown = ", ".join(f"{label} at {wins[q]}" for q, label in QUANTITIES.items())
    shown += f" of {len(rates)} rates"
    return Claim("vegas", "Vegas is best in throughput, drop rate and latency", verdict, shown)


def _newreno_claim(alone: Alone, rates: Sequence[float]) -> Claim:
    gaps = {
        c: difference(of(alone["newreno", c], "mbps"), of(alone["reno", c], "mbps")) for c in rates
    }
    slow = [c for c in rates if c <= 3]
    fast = [c for c in rates if 3 < c < 10]
    alike = all(abs(gaps[c].mean) <= 0.02 * of(alone["reno", c], "mbps").mean for c in slow)
    above = fmean(gaps[c].mean / of(alone["reno", c], "mbps").mean for c in fast) if fast else 0.0
    verdict: Verdict = (
        "reproduced" if alike and above > 0.02 else "in part" if alike or above > 0.02 else "not"
    )
    shown = (
        f"up to 3 Mbit/s {'alike' if alike else 'apart'}; NewReno {100 * above:+.0f} % from 4 to 9"
    )
    sentence = "Reno is as NewReno while the constant rate is slow, below it later"
    return Claim("newreno", sentence, verdict, shown)


def _jump_claim(alone: Alone, rates: Sequence[float]) -> Claim:
    low, high = (8.0, 9.0) if {8.0, 9.0} <= set(rates) else rates[-2:]
    lost = {
        v: [of(alone[v, c], "lost_percent").mean for c in (low, high)]
        for v in dict.fromkeys(v for v, _ in alone)
    }
    others = [pair for v, pair in lost.items() if v != "vegas"]
    jump = all(after > 1.5 * before for before, after in others)
    spared = lost["vegas"][1] < 0.5 * min(after for _, after in others)
    verdict: Verdict = "reproduced" if jump and spared else "in part" if jump or spared else "not"
    shown = ", ".join(f"{NAMES[v]} {x:.2g} to {y:.2g} %" for v, (x, y) in lost.items())
    return Claim("jump", f"drops jump at {high:g} Mbit/s except Vegas's", verdict, shown)


def _pair_claims(pairs: Pairs) -> list[Claim]:
    def parts(pair: str) -> list[Sample]:
        """The first flow's part of both, by rate below the link's."""
        return [
            Sample.of([a.mbps / (a.mbps + b.mbps) for a, b in found])
            for (name, cbr), found in pairs.items()
            if name == pair and cbr < 10
        ]

    def mean(pair: str) -> float:
        return fmean(sample.mean for sample in parts(pair))

    fair = {pair: mean(pair) for pair in ("Reno / Reno", "Vegas / Vegas")}
    even = [abs(part - 0.5) < 0.05 for part in fair.values()]
    claims = [
        Claim(
            "fair",
            "Reno beside Reno and Vegas beside Vegas are fair",
            "reproduced" if all(even) else "in part" if any(even) else "not",
            "part of the first: " + ", ".join(f"{p} {100 * x:.0f} %" for p, x in fair.items()),
        )
    ]
    for name, pair, sentence in (
        ("takes", "NewReno / Vegas", "NewReno takes from Vegas"),
        ("above", "NewReno / Reno", "NewReno is above Reno"),
    ):
        found = parts(pair)
        above = sum(sample.mean > 0.5 for sample in found)
        part = mean(pair)
        verdict: Verdict = "reproduced" if part > 0.55 else "in part" if part > 0.5 else "not"
        shown = f"NewReno has {100 * part:.0f} % of both, more at {above} of {len(found)} rates"
        claims.append(Claim(name, sentence, verdict, shown))
    return claims


def _queue_claims(queues: Queues) -> list[Claim]:
    kinds = [queue for variant, queue in queues if variant == "reno" and queue != DROPTAIL]
    whole, steady, delays = {}, {}, {}
    for variant in ("reno", "sack"):
        plain = queues[variant, DROPTAIL]
        for queue in kinds:
            own = queues[variant, queue]
            whole[variant, queue] = _mean(own, lambda p: p.rate) / _mean(plain, lambda p: p.rate)
            steady[variant, queue] = _mean(own, lambda p: p.steady) / _mean(
                plain, lambda p: p.steady
            )
            delays[variant, queue] = _mean(own, lambda p: p.share.delay_ms) / _mean(
                plain, lambda p: p.share.delay_ms
            )
    best = min(whole, key=lambda key: whole[key])
    calm = min(steady, key=lambda key: steady[key])
    halved: Verdict = (
        "reproduced" if whole[best] < 0.5 else "in part" if steady[calm] < 0.5 else "not"
    )
    shorter: Verdict = "reproduced" if all(d < 1 for d in delays.values()) else "in part"
    sack = Sample.of([p.share.mbps for p in queues["sack", DROPTAIL]])
    reno = Sample.of([p.share.mbps for p in queues["reno", DROPTAIL]])
    gap = difference(sack, reno)
    faster: Verdict = (
        "reproduced" if gap.mean > gap.half_width else "in part" if gap.mean > 0 else "not"
    )
    return [
        Claim(
            "halved",
            "RED has less than half of DropTail's drops",
            halved,
            f"at best {whole[best]:.2f} of them ({NAMES[best[0]]}, {best[1]}); "
            f"from {BURST_S:g} s on {steady[calm]:.2f} ({NAMES[calm[0]]}, {calm[1]})",
        ),
        Claim(
            "shorter",
            "RED has slightly less delay",
            shorter,
            f"{100 * (min(delays.values()) - 1):+.0f} to {100 * (max(delays.values()) - 1):+.0f} %",
        ),
        Claim(
            "sack", "SACK recovers faster", faster, f"SACK {told(sack)}, Reno {told(reno)} Mbit/s"
        ),
    ]


def _beside(queues: Queues, published: Mapping[str, Any]) -> list[Beside]:
    red = "RED 5, 15, 0.1"
    found = []
    for variant in ("reno", "sack"):
        for kind, queue in ((DROPTAIL, DROPTAIL), ("RED", red)):
            if (variant, queue) not in queues:
                continue
            own = queues[variant, queue]
            name = f"{kind} {variant}"
            rate = Sample.of([p.rate for p in own])
            delay = Sample.of([p.share.delay_ms / 1000 for p in own])
            for label, key, ours, why in (
                ("drop rate", "drop_rate", rate, OPEN if kind == DROPTAIL else HARD),
                ("delay (s)", "latency_s", delay, ""),
            ):
                theirs, simulated = (
                    values["queues"][key][name] for values in (published, published["ns2"])
                )
                found.append(Beside(f"{label}, {name}", ours, theirs, simulated, why))
    return found


OPEN = "window and queue are not published"
HARD = "half of it: the kernel's RED is not gentle"


def _passages(runs: Runs) -> Queues:
    return {
        (str(variant), str(queue)): [passage(run) for run in group]
        for (variant, queue), group in runs.groups("variant", "queue").items()
    }


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    ns2 = published.get("ns2", {})
    first = runs.part().groups("variant", "cbr")
    alone = {
        (str(variant), float(str(cbr))): [flows(run)[0] for run in group]
        for (variant, cbr), group in first.items()
    }
    tables = [_alone_table(alone, ns2)]
    pictures = _alone_pictures(alone)
    claims = _alone_claims(alone)
    beside: list[Beside] = []
    second = runs.part("pairs").groups("pair", "cbr")
    if second:
        pairs = {
            (str(pair), float(str(cbr))): [flows(run) for run in group]
            for (pair, cbr), group in second.items()
        }
        tables.append(_pairs_table(pairs, ns2))
        pictures.append(_pairs_picture(pairs))
        claims += _pair_claims(pairs)
    queues = _passages(runs.part("queues"))
    if queues:
        title = "DropTail and RED (thresholds in packets, probability)"
        tables.append(_queues_table("queues", title, queues))
        pictures.append(_queues_picture(queues))
        claims += _queue_claims(queues)
    longer = _passages(runs.part("links"))
    if longer:
        tables.append(_queues_table("links", "The same behind links of 20 ms", longer))
        beside += _beside(longer, published)
    values = {
        f"{variant}_{cbr:g}_{quantity}": of(found, quantity).mean
        for (variant, cbr), found in alone.items()
        for quantity in QUANTITIES
    }
    return Findings(tables, pictures, claims, beside, values)
