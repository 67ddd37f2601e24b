# SPDX-License-Identifier: Apache-2.0
"""BBR and CUBIC beside each other through FIFO, FQ-CoDel and CAKE at a radio of 802.11ax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, quantiles
from typing import Any

from hoplab.host.statistics.samples import Sample, jain
from hoplab.many.study import plot
from hoplab.many.study.findings import Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

FROM_S = 5.0
"""Slow start and BBR's start-up are over."""
SEGMENT_BYTES = 1448
LONG, SHORT, FQ_CODEL, CAKE = "FIFO, 1000 packets", "FIFO, 50 packets", "FQ-CoDel", "CAKE"
DIRECTIONS = {"": "down", "up": "up", "both": "both ways"}
"""Of a sweep's part."""
DOMINATES = 2.0
"""Times the other's rate."""
FAIR = 0.95
"""Jain's index of two rates that counts as fair: one is up to 1.6 times the other."""
BURST = 10
"""Segments repeated within a sample of 0.1 s that count as a burst."""
BRIEF = 0.5
"""Share of samples with repeats below which these come in bursts."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to from `FROM_S` on; of several connections of a kind, their sum."""

    bbr: float
    """Mbit/s."""
    cubic: float
    rtt_ms: float
    """Mean of echoes beside the transfers."""
    late_ms: float
    """95th percentile of the same."""
    repeated: float
    """Share of BBR's segments sent again."""
    bursts: float
    """Samples a second with `BURST` repeats of BBR or more."""
    busy: float
    """Share of samples with any repeat of BBR."""
    ahead: float
    """BBR's estimate of the path's rate, by which it paces, over the rate delivered."""

    @property
    def use(self) -> float:
        return self.bbr + self.cubic

    @property
    def fairness(self) -> float:
        return float(jain([self.bbr, self.cubic]))


def outcome(run: Run) -> Outcome:
    series: dict[str, list[dict[str, Any]]] = {}
    for row in run.rows("tcp"):
        if row["t_s"] >= FROM_S:
            series.setdefault(row["flow"], []).append(row)
    rates = {name: _mbps(rows) for name, rows in series.items()}
    ours = [rows for name, rows in series.items() if name.startswith("bbr")]
    steps = [b["retransmits"] - a["retransmits"] for rows in ours for a, b in pairwise(rows)]
    acked = sum(rows[-1]["acked_bytes"] - rows[0]["acked_bytes"] for rows in ours)
    sent = acked / SEGMENT_BYTES + sum(steps)
    lasts_s = sum(rows[-1]["t_s"] - rows[0]["t_s"] for rows in ours)
    bbr = sum(rate for name, rate in rates.items() if name.startswith("bbr"))
    paced = sum(fmean(r["estimate_kbps"] for r in rows if r["estimate_kbps"]) for rows in ours)
    echoes = [
        row["rtt_ms"]
        for row in run.rows("exchanges")
        if row["sent_s"] >= FROM_S and row["rtt_ms"] is not None
    ]
    return Outcome(
        bbr,
        sum(rates.values()) - bbr,
        fmean(echoes),
        quantiles(echoes, n=20)[-1],
        sum(steps) / sent,
        sum(step >= BURST for step in steps) / lasts_s,
        sum(step > 0 for step in steps) / len(steps),
        paced / 1000 / bbr,
    )


def _mbps(rows: Sequence[Mapping[str, Any]]) -> float:
    first, last = rows[0], rows[-1]
    grown = last["delivered_bytes"] - first["delivered_bytes"]
    return float(8e-6 * grown / (last["t_s"] - first["t_s"]))


Found = Mapping[Any, Sequence[Outcome]]
"""By the value of a part's axis, or by a row's labels."""


def found(runs: Runs, axis: str) -> Found:
    return {value: [outcome(run) for run in own] for (value,), own in runs.groups(axis).items()}


def of(outcomes: Sequence[Outcome], read: Callable[[Outcome], float]) -> Sample:
    return Sample.of([read(one) for one in outcomes])


READS: dict[str, Callable[[Outcome], float]] = {
    "BBR, Mbit/s": lambda one: one.bbr,
    "CUBIC, Mbit/s": lambda one: one.cubic,
    "Jain's index": lambda one: one.fairness,
    "echo, ms": lambda one: one.rtt_ms,
    "95 %, ms": lambda one: one.late_ms,
    "repeated, %": lambda one: 100 * one.repeated,
    "bursts/s": lambda one: one.bursts,
    "paced / delivered": lambda one: one.ahead,
}


def _table(name: str, title: str, rows: Found) -> Table:
    heads = ("", *("" for _ in range(len(next(iter(rows))) - 1)), *READS)
    cells: list[Sequence[Cell]] = [
        (*labels, *(of(own, read) for read in READS.values())) for labels, own in rows.items()
    ]
    return Table(name, title, heads, cells)


def _rates(main: Mapping[str, Found]) -> Picture:
    queues = list(dict.fromkeys(queue for own in main.values() for queue in own))
    ticks = {float(i): queue.replace(" packets", "") for i, queue in enumerate(queues)}
    ends = (-0.5, len(queues) - 0.5)
    panels = []
    for direction, own in main.items():
        panel = plot.Panel(direction, ends, (0, 72), y_label="Mbit/s", ticks=ticks)
        for kind, read, style in (
            ("BBR", lambda one: one.bbr, ("#1f5fa8", "o")),
            ("CUBIC", lambda one: one.cubic, ("#d95f02", "s")),
        ):
            samples = [(queues.index(queue), of(those, read)) for queue, those in own.items()]
            points = [(float(x), sample.mean) for x, sample in samples]
            panel.add(kind, points, "", [sample.half_width for _, sample in samples], style)
        panels.append(panel)
    delay = plot.Panel("95 of 100 echoes are faster", ends, (10, 1000), "y", "", "ms", ticks)
    for (direction, own), colour in zip(main.items(), plot.FURTHER[2:], strict=False):
        points = [
            (float(queues.index(queue)), of(those, lambda one: one.late_ms).mean)
            for queue, those in own.items()
        ]
        delay.add(direction, points, "", None, (colour, "^"))
    title = "A connection of BBR and one of CUBIC through one queue"
    return Picture("rates", plot.svg([*panels, delay], "", "", title))


def _depth(depth: Found) -> Picture:
    lengths = [float(packets) for packets in depth]
    panel = plot.Panel("", (30, 1500), (0, 72), "x", "FIFO (packets)", "Mbit/s")
    for kind, read, style in (
        ("BBR", lambda one: one.bbr, ("#1f5fa8", "o")),
        ("CUBIC", lambda one: one.cubic, ("#d95f02", "s")),
    ):
        samples = [of(those, read) for those in depth.values()]
        points = [(x, sample.mean) for x, sample in zip(lengths, samples, strict=True)]
        panel.add(kind, points, "-", [sample.half_width for sample in samples], style)
    return Picture("depth", plot.svg([panel], "", "", "The length of a FIFO decides who wins"))


def _verdict(holds: Sequence[bool]) -> Verdict:
    return "reproduced" if all(holds) else "in part" if any(holds) else "not"


Judged = tuple[list[bool], list[str]]
"""What must hold in a direction, and what shows it."""


def _claim(
    name: str,
    main: Mapping[str, Found],
    sentence: str,
    judge: Callable[[str, Found], Judged],
    about: str = "",
    between: str = "; ",
) -> Claim:
    judged = [judge(direction, own) for direction, own in main.items()]
    holds = [one for those, _ in judged for one in those]
    shown = between.join(one for _, those in judged for one in those)
    return Claim(name, sentence, _verdict(holds), about + shown)


def _fifo(direction: str, own: Found) -> Judged:
    ratios = {q: of(own[q], lambda one: one.cubic / one.bbr) for q in (LONG, SHORT) if q in own}
    holds = [ratio.mean >= DOMINATES for ratio in ratios.values()]
    shown = [f"{told(ratio)} ({queue}, {direction})" for queue, ratio in ratios.items()]
    return [*holds, _waits(own, LONG) > _waits(own, FQ_CODEL)], shown


def _waits(own: Found, queue: str) -> float:
    return of(own[queue], lambda one: one.rtt_ms).mean


def _fq_codel(direction: str, own: Found) -> Judged:
    index = of(own[FQ_CODEL], lambda one: one.fairness)
    echoes = of(own[FQ_CODEL], lambda one: one.rtt_ms)
    return (
        [index.mean >= FAIR, _waits(own, FQ_CODEL) < _waits(own, LONG)],
        [f"Jain's index {told(index)}, echoes {told(echoes)} ms {direction}"],
    )


def _cake(direction: str, own: Found) -> Judged:
    ahead = {q: of(those, lambda one: abs(one.ahead - 1)).mean for q, those in own.items()}
    waits = {q: _waits(own, q) for q in own}
    return (
        [min(waits, key=waits.__getitem__) == CAKE, min(ahead, key=ahead.__getitem__) == CAKE],
        [
            f"echoes {told(of(own[CAKE], lambda one: one.rtt_ms))} ms, paced over delivered "
            f"{told(of(own[CAKE], lambda one: one.ahead))} {direction}"
        ],
    )


def _bursts(direction: str, own: Found) -> Judged:
    cake, codel = (of(own[queue], lambda one: one.bursts) for queue in (CAKE, FQ_CODEL))
    busy = of(own[CAKE], lambda one: one.busy)
    return (
        [cake.mean > codel.mean, busy.mean < BRIEF],
        [
            f"{told(cake)} bursts/s, with FQ-CoDel {told(codel)}; repeats in "
            f"{100 * busy.mean:.0f} % of samples {direction}"
        ],
    )


def _fairness(direction: str, own: Found) -> Judged:
    index = {q: of(those, lambda one: one.fairness) for q, those in own.items()}
    fifo = max(index[q].mean for q in (LONG, SHORT) if q in index)
    told_all = ", ".join(f"{q} {told(sample)}" for q, sample in index.items())
    return (
        [
            min(index[FQ_CODEL].mean, index[CAKE].mean) > fifo,
            index[FQ_CODEL].mean >= index[CAKE].mean,
        ],
        [f"{told_all} {direction}"],
    )


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    main = {
        direction: found(own, "queue")
        for part, direction in DIRECTIONS.items()
        if (own := runs.part(part))
    }
    rows = {
        (direction, queue): those
        for direction, of_queues in main.items()
        for queue, those in of_queues.items()
    }
    tables = [_table("queues", "By direction and queue", rows)]
    pictures = [_rates(main)]
    if shaped := runs.part("shaped"):
        disciplines = {(str(q),): those for q, those in found(shaped, "queue").items()}
        tables.append(_table("shaped", "One shaper", disciplines))
    if depths := runs.part("depth"):
        depth = found(depths, "packets")
        tables.append(_table("depth", "FIFO", {(str(n),): those for n, those in depth.items()}))
        pictures.append(_depth(depth))
    said = published["insights"]
    claims = [
        _claim("fifo", main, said["fifo"], _fifo, "CUBIC over BBR: ", ", "),
        _claim("fq-codel", main, said["fq_codel"], _fq_codel),
        _claim("cake", main, said["cake"], _cake),
        _claim("bursts", main, said["bursts"], _bursts),
        _claim(
            "fairness",
            main,
            published["understanding"]["fairness"],
            _fairness,
            "Jain's index: ",
        ),
    ]
    values = {
        f"{queue}_{name}": of(those, read).mean
        for queue, those in main["down"].items()
        for name, read in (
            ("bbr_mbps", lambda one: one.bbr),
            ("cubic_mbps", lambda one: one.cubic),
            ("echo_ms", lambda one: one.rtt_ms),
            ("repeated", lambda one: one.repeated),
        )
    }
    return Findings(tables, pictures, claims, values=values)
