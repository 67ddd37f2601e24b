# SPDX-License-Identifier: Apache-2.0
"""Reno, SACK and Westwood over a hop that loses packets, and over one that repeats them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import Any

from hoplab.host.statistics.samples import Sample, difference, relative
from hoplab.many.study import plot
from hoplab.many.study.findings import (
    FAR,
    Beside,
    Cell,
    Claim,
    Findings,
    Picture,
    Table,
    Verdict,
    told,
)
from hoplab.many.study.loss_law import pftk
from hoplab.many.study.swept import Run, Runs

from . import search
from .search import FIRST_S, Reading, mbps

VARIANTS = {"reno": "Reno", "sack": "SACK", "tcpw": "Westwood", "westwood": "Westwood+"}
"""``tcpw`` is Westwood as published in 2002, ``westwood`` the kernel's."""
STUDIED = ("reno", "sack", "tcpw")
STUDIED_NAMES = tuple(VARIANTS[variant] for variant in STUDIED)
PUBLISHED = "published, by colour"
MSS = 1460
LINK, RADIO = "losses reach TCP", "802.11 repeats what is lost"
"""The two readings of the radio hop."""
SHORT = {LINK: "link", RADIO: "802.11"}
"""Their names in tables and claims."""
STANDARD_LOSS = 0.05
STANDARD_RATE = 2
SETTLED_S = 5.0
"""From then on a flow's steadiness counts."""
SLOT_S = 1.0
NEAR_NOTHING = 0.1
"""Of the throughput without losses."""
RECOVERY = ("newreno", "tcpw without SACK", "sack", "tcpw")
"""Without and with selective acknowledgements; the window halved, and set by the estimate."""
AS_IT_IS = "as it is"
NONE_LOST = "none lost"
"""Of the cases of ``sweep-causes.toml``; those that have this in their name are without losses."""
AT_STANDARD_LOSS = "5 % lost"
"""A cause that ``sweep-propagation.toml`` has."""
ELSEWHERE = "10 "
"""Cases that begin so are not in the standard setting."""
DROPS_S = (3.5, 20.0)
"""Where figure 3 shows drops of all."""
DROP = 0.5
"""A second with less than this of the run's mean is one."""


def series(run: Run) -> list[tuple[float, float]]:
    """(end of a second, Mbit/s in it)."""
    at: dict[float, int] = {0.0: 0} | {
        row["t_s"]: row["delivered_bytes"]
        for row in run.rows("tcp")
        if row["t_s"] % SLOT_S == 0 and row["delivered_bytes"] is not None
    }
    return [
        (end, 8e-6 * (at[end] - at[begin]) / (end - begin)) for begin, end in pairwise(sorted(at))
    ]


def between(run: Run, begin_s: float, end_s: float) -> float:
    return fmean(rate for end, rate in series(run) if begin_s < end <= end_s)


def unsteadiness(run: Run) -> float:
    """Deviation of the seconds' throughputs over their mean."""
    rates = [rate for end, rate in series(run) if end > SETTLED_S]
    return float(pstdev(rates)) / (fmean(rates) or 1.0)


def repeated(run: Run) -> float:
    """Segments sent again, of all that were sent."""
    flow = run.rows("flows")[0]
    again = float(flow["retransmits"])
    return again / (int(flow["delivered_bytes"]) / MSS + again)


def sent(run: Run) -> float:
    """Segments sent a second, those sent again included."""
    flow = run.rows("flows")[0]
    segments = int(flow["delivered_bytes"]) / MSS + int(flow["retransmits"])
    return segments / (float(flow["stop_s"]) - float(flow["start_s"]))


def send_limit(run: Run, loss: float) -> float:
    """PFTK with what the run had: mean round trip, mean timer that was not backed off."""
    rows = [row for row in run.rows("tcp") if row["rtt_ms"]]
    round_trip_s = fmean(row["rtt_ms"] for row in rows) / 1000
    timer_s = fmean(row["rto_ms"] for row in rows if not row["backoff"]) / 1000
    return pftk(loss, round_trip_s, timer_s, float("inf"))


def hops(runs: Runs) -> dict[str, Runs]:
    """The runs over the error rate, by what the hop does with a loss."""
    found = {LINK: runs.part(), RADIO: runs.part("radio")}
    return {name: own for name, own in found.items() if own}


def _ordered(runs: Runs, axis: str) -> list[Any]:
    return sorted({run.at[axis] for run in runs})


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _by(runs: Runs, axis: str, read: Callable[[Run], float]) -> dict[str, dict[Any, Sample]]:
    """By variant and value of the axis."""
    return {
        variant: {
            value: group.sample(read)
            for value in _ordered(runs, axis)
            if (group := runs.where(variant=variant, **{axis: value}))
        }
        for variant in VARIANTS
        if runs.where(variant=variant)
    }


def _cells(
    found: Mapping[str, Mapping[Any, Sample]], value: object, variants: Iterable[str] = VARIANTS
) -> list[Cell]:
    return [found.get(variant, {}).get(value) for variant in variants]


def _standard_table(runs: Runs, published: Mapping[str, Any]) -> Table:
    """The study's own setting, in its figures and here, with what it leaves open."""

    def reported(name: str, values: Mapping[str, float]) -> Sequence[Cell]:
        return (f"published, {name}", *(values.get(variant) for variant in VARIANTS))

    rows: list[Sequence[Cell]] = [
        reported("figure 3, first 10 s", published["time"]["first"]),
        reported("figure 3, later", published["time"]["later"]),
        reported("figure 4", published["loss"]["5"]),
        reported("figure 5", published["rate"]["2"]),
        *_open_rows(runs, STANDARD_LOSS),
        reported("figure 4, none lost", published["loss"]["0"]),
        *_open_rows(runs, 0),
    ]
    title = "Mbit/s at 2 Mbit/s, 5 ms, 5 % lost and none"
    return Table("standard", title, ("", *VARIANTS.values()), rows)


def _open_rows(runs: Runs, loss: float) -> Iterator[Sequence[Cell]]:
    """Both readings of the hop, each case of what is open, pages; ``loss`` 0: none lost."""
    none = "" if loss else ", none lost"
    for name, own in hops(runs).items():
        yield (f"{SHORT[name]}{none}", *_cells(_by(own, "loss", mbps), loss))
    for (case,), own in runs.part("causes").groups("case").items():
        if case == AS_IT_IS or case.startswith(ELSEWHERE):
            continue
        if (NONE_LOST in case) == (loss == 0):
            yield (case, *_cells(_by(own, "case", mbps), case))
    if pages := runs.part("pages").where(loss=loss):
        yield (f"a page of 20 kB{none}", *_cells(_by(pages, "loss", mbps), loss))


def _loss_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for name, own in hops(runs).items():
        found = _by(own, "loss", mbps)
        for loss in _ordered(own, "loss"):
            rows.append((SHORT[name], _percent(loss), *_cells(found, loss)))
    heads = ("", "lost", *VARIANTS.values())
    return Table("loss", "Mbit/s over the hop's error rate", heads, rows)


def _time_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for name, own in hops(runs).items():
        at = own.where(loss=STANDARD_LOSS)
        last = series(at[0])[-1][0]
        quantities: dict[str, Callable[[Run], float]] = {
            "Mbit/s, first 10 s": lambda run: between(run, 0.0, FIRST_S),
            "Mbit/s, later": lambda run, last=last: between(run, FIRST_S, last),  # type: ignore[misc]
            "relative deviation of a second": unsteadiness,
        }
        for quantity, read in quantities.items():
            rows.append((SHORT[name], quantity, *_cells(_by(at, "loss", read), STANDARD_LOSS)))
    return Table("time", "Over time at 5 %", ("", "", *VARIANTS.values()), rows)


def _rate_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    part = runs.part("rate")
    for (hop,), own in part.groups("hop").items():
        found = _by(own, "rate", mbps)
        for rate in _ordered(own, "rate"):
            times = [_times(found, other, rate) for other in ("reno", "sack")]
            reading = SHORT[_reading(hop)]
            rows.append((reading, f"{rate:g}", *_cells(found, rate, STUDIED), *times))
    heads = ("", "Mbit/s of the hop", *STUDIED_NAMES, "Westwood over Reno", "over SACK")
    return Table("rate", "Mbit/s over the bottleneck's rate at 5 %", heads, rows)


def _reading(hop: object) -> str:
    return LINK if hop == "link" else RADIO


def _times(found: Mapping[str, Mapping[Any, Sample]], other: str, value: object) -> Sample | None:
    a, b = found.get("tcpw", {}).get(value), found.get(other, {}).get(value)
    if a is None or b is None:
        return None
    more = relative(a, b)
    return Sample(more.mean + 1, more.error, more.n)


def _propagation_table(runs: Runs) -> Table:
    part = runs.part("propagation")
    rows: list[Sequence[Cell]] = []
    for loss in _ordered(part, "loss"):
        own = part.where(loss=loss)
        found = _by(own, "propagation", mbps)
        for ms in _ordered(own, "propagation"):
            rows.append((_percent(loss), f"{ms:g}", *_cells(found, ms, STUDIED)))
    heads = ("lost", "ms there and back", *STUDIED_NAMES)
    return Table("propagation", "Mbit/s over the propagation time", heads, rows)


def _repeated_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for name, own in hops(runs).items():
        found = _by(own, "loss", lambda run: 100 * repeated(run))
        for loss in _ordered(own, "loss"):
            rows.append((SHORT[name], _percent(loss), *_cells(found, loss)))
    heads = ("", "lost", *VARIANTS.values())
    return Table("retransmissions", "Segments sent again, % of all that were sent", heads, rows)


def _recovery_table(runs: Runs) -> Table:
    """What is recovery, and what is the window after it."""
    special, main = runs.part("recovery"), runs.part()
    rows: list[Sequence[Cell]] = []
    for loss in _ordered(special, "loss"):
        newreno, bare, sack, both = (
            (special.where(variant=v) or main.where(variant=v)).where(loss=loss).sample(mbps)
            for v in RECOVERY
        )
        gaps = [_gap(relative(a, b)) for a, b in ((bare, newreno), (both, sack))]
        rows.append((_percent(loss), newreno, bare, gaps[0], sack, both, gaps[1]))
    heads = ("lost", "NewReno", "Westwood without SACK", "more by", "SACK", "Westwood", "more by")
    return Table("recovery", "Mbit/s by recovery, losses reach TCP", heads, rows)


def threshold(run: Run) -> float:
    """Median slow-start threshold in segments: what a loss leaves of the window."""
    return float(median(row["ssthresh"] for row in run.rows("tcp") if row["ssthresh"]))


def timeouts(run: Run) -> float:
    return float(run.rows("flows")[0]["timeouts"])


def _window_table(runs: Runs) -> Table:
    """What a loss leaves of the window, and how often the timer has to help."""
    part = runs.part("rate").where(hop="link")
    rows: list[Sequence[Cell]] = []
    for rate in _ordered(part, "rate"):
        own = part.where(rate=rate)
        cells = [
            own.where(variant=v).sample(read) for read in (threshold, timeouts) for v in STUDIED
        ]
        rows.append((f"{rate:g}", *cells))
    heads = [f"{what}: {VARIANTS[v]}" for what in ("ssthresh", "timeouts") for v in STUDIED]
    return Table(
        "window", "ssthresh (segments) and timeouts a run, at 5 %", ("Mbit/s", *heads), rows
    )


def _law_table(runs: Runs) -> Table:
    """Reno's send rate beside PFTK."""
    rows: list[Sequence[Cell]] = []
    for loss, real, limit in _laws(runs):
        rows.append((_percent(loss), real, limit, relative(real, limit).scaled(100)))
    heads = ("lost", "Reno sends, segments/s", "PFTK", "off by %")
    return Table("law", "Reno's send rate and PFTK's limit", heads, rows)


def _laws(runs: Runs) -> Iterator[tuple[float, Sample, Sample]]:
    """Loss, Reno's send rate and its limit, in segments a second, where losses reach TCP."""
    own = runs.part().where(variant="reno")
    for loss in _ordered(own, "loss"):
        if loss > 0:
            group = own.where(loss=loss)
            yield loss, group.sample(sent), group.sample(lambda r, p=loss: send_limit(r, p))  # type: ignore[misc]


def _curve(panel: plot.Panel, variant: str, found: Mapping[Any, Sample], scale: float) -> None:
    points = [(scale * value, sample.mean) for value, sample in found.items()]
    errors = [sample.half_width for sample in found.values()]
    panel.add(VARIANTS[variant], points, "-", errors, plot.STYLES[variant])


def _published(panel: plot.Panel, reported: Mapping[float, Mapping[str, float]]) -> None:
    """Stars in the variants' colours, by x."""
    for variant in STUDIED:
        points = [(x, own[variant]) for x, own in reported.items() if variant in own]
        if points:
            panel.add(PUBLISHED, points, style=(plot.STYLES[variant][0], "*"))


def _loss_picture(runs: Runs, published: Mapping[str, Any]) -> Picture:
    panels = []
    for name, own in hops(runs).items():
        panel = plot.Panel(name, (-1, 26), (0, 2.2))
        for variant, found in _by(own, "loss", mbps).items():
            _curve(panel, variant, found, 100)
        if name == LINK:
            limit = [
                (100 * loss, min(STANDARD_RATE, model.mean * MSS * 8e-6))
                for loss, _, model in _laws(runs)
            ]
            panel.add("Reno's limit (PFTK)", limit, ":", style=("#9aa5b1", ""))
        _published(panel, {float(x): own for x, own in published["loss"].items()})
        panels.append(panel)
    title = "Throughput over the hop's error rate"
    return Picture("loss", plot.svg(panels, "packets lost on the hop (%)", "Mbit/s", title))


def _time_picture(runs: Runs, published: Mapping[str, Any]) -> Picture:
    panels = []
    for name, own in hops(runs).items():
        at = own.where(loss=STANDARD_LOSS)
        panel = plot.Panel(name, (0, 31), (0, 2.2))
        for variant in VARIANTS:
            drawn = [series(run) for run in at.where(variant=variant)]
            if drawn:
                points = [
                    (end, fmean(one[i][1] for one in drawn)) for i, (end, _) in enumerate(drawn[0])
                ]
                panel.add(VARIANTS[variant], points, "-", style=(plot.STYLES[variant][0], ""))
        first, later = published["time"]["first"], published["time"]["later"]
        _published(panel, {FIRST_S / 2: first, 2 * FIRST_S: later})
        panels.append(panel)
    title = "Throughput over time at 5 %, mean of the seeds"
    return Picture("time", plot.svg(panels, "time (s)", "Mbit/s", title))


def _rate_picture(runs: Runs, published: Mapping[str, Any]) -> Picture:
    panels = []
    for (hop,), own in runs.part("rate").groups("hop").items():
        panel = plot.Panel(_reading(hop), (1.5, 11.5), (0, 7))
        for variant, found in _by(own, "rate", mbps).items():
            _curve(panel, variant, found, 1)
        _published(panel, {float(x): own for x, own in published["rate"].items()})
        panels.append(panel)
    title = "Throughput over the bottleneck's rate at 5 %"
    return Picture("rate", plot.svg(panels, "rate of the hop (Mbit/s)", "Mbit/s", title))


def _propagation_picture(runs: Runs) -> Picture:
    part = runs.part("propagation")
    panels = []
    for loss in _ordered(part, "loss"):
        panel = plot.Panel(f"{_percent(loss)} lost", (-1, 26), (0, 2.2))
        for variant, found in _by(part.where(loss=loss), "propagation", mbps).items():
            _curve(panel, variant, found, 1)
        panels.append(panel)
    title = "Throughput over the propagation time, losses reach TCP"
    return Picture(
        "propagation", plot.svg(panels, "propagation there and back (ms)", "Mbit/s", title)
    )


def _all(held: Sequence[bool]) -> Verdict:
    """Everywhere, somewhere, nowhere."""
    return "reproduced" if all(held) else "in part" if any(held) else "not"


def _claims(runs: Runs) -> Iterator[Claim]:
    for name, own in hops(runs).items():
        for other in ("reno", "sack"):
            yield _beats_claim(name, own, other)
    yield _gains_claim(runs.part("rate").where(hop="link"))
    yield _repeats_claim(runs.part())
    yield _steady_claim(runs.part().where(loss=STANDARD_LOSS))
    yield _drops_claim(runs.part().where(loss=STANDARD_LOSS))
    yield from _nothing_claim(runs.part())
    yield from _propagation_claim(runs.part("propagation"))


def _beats_claim(name: str, runs: Runs, other: str) -> Claim:
    """Above another at each rate above 0, up to 10 %, beyond chance."""
    found = _by(runs, "loss", mbps)
    losses = [loss for loss in _ordered(runs, "loss") if 0 < loss <= 0.1]
    more = {loss: relative(found["tcpw"][loss], found[other][loss]) for loss in losses}
    return Claim(
        f"beats-{other}" if name == LINK else f"beats-{other}-radio",
        f"Westwood beats {VARIANTS[other]} at every error rate up to 10 % ({SHORT[name]})",
        _all([gap.positive for gap in more.values()]),
        ", ".join(f"{_percent(loss)}: {_gap(gap)}" for loss, gap in more.items()),
    )


def _gap(gap: Sample) -> str:
    wide = f" ± {100 * gap.half_width:.0f}" if gap.n > 1 else ""
    return f"{100 * gap.mean:+.0f}{wide} %"


def _gains_claim(runs: Runs) -> Claim:
    """Its lead over each other is wider at the highest rate than at the lowest, beyond chance."""
    found = _by(runs, "rate", mbps)
    low, high = _ordered(runs, "rate")[0], _ordered(runs, "rate")[-1]
    held, shown = [], []
    for other in ("reno", "sack"):
        before, after = _times(found, other, low), _times(found, other, high)
        assert before is not None and after is not None
        held.append(difference(after, before).positive)
        shown.append(
            f"times {VARIANTS[other]}'s: {told(before)} at {low:g}, {told(after)} at {high:g}"
        )
    sentence = "Westwood gains with the bottleneck's rate"
    return Claim("gains", sentence, _all(held), "; ".join(shown) + " Mbit/s")


def _repeats_claim(runs: Runs) -> Claim:
    """Reproduced where it is higher than Reno's, beyond chance, at no error rate up to 10 %."""
    found = _by(runs, "loss", lambda run: 100 * repeated(run))
    losses = [loss for loss in _ordered(runs, "loss") if 0 < loss <= 0.1]
    gaps = {loss: difference(found["tcpw"][loss], found["reno"][loss]) for loss in losses}
    shown = ", ".join(
        f"{_percent(loss)}: {told(found['tcpw'][loss])} and {told(found['reno'][loss])}"
        for loss in losses
    )
    return Claim(
        "repeats",
        "Westwood's rate of retransmissions is not significantly higher than Reno's",
        _all([not gap.positive for gap in gaps.values()]),
        f"% of segments, Westwood and Reno: {shown}",
    )


def _steady_claim(runs: Runs) -> Claim:
    """First in the first 10 s and the least unsteady, both beyond chance."""
    early = _by(runs, "loss", lambda run: between(run, 0.0, FIRST_S))
    shaky = _by(runs, "loss", unsteadiness)
    at = STANDARD_LOSS
    faster = [difference(early["tcpw"][at], early[v][at]) for v in ("reno", "sack")]
    steadier = [difference(shaky[v][at], shaky["tcpw"][at]) for v in ("reno", "sack")]
    shown = ", ".join(
        f"{VARIANTS[v]} {told(early[v][at])} Mbit/s, {told(shaky[v][at])}" for v in STUDIED
    )
    return Claim(
        "steady",
        "At 5 % Westwood is first in the first 10 s, and the steadiest (figure 3)",
        _all([all(g.positive for g in faster), all(g.positive for g in steadier)]),
        f"first 10 s, relative deviation of a second: {shown}",
    )


def drops(run: Run) -> list[float]:
    """Ends of the seconds in which hardly anything arrived."""
    rates = series(run)
    mean = fmean(rate for _, rate in rates)
    return [end for end, rate in rates if rate < DROP * mean]


def _drops_claim(runs: Runs) -> Claim:
    """Reproduced: every run of the three has a drop at both moments. In part: more than half do."""
    own = [run for run in runs if run.at["variant"] in STUDIED]
    there = [
        all(any(at <= end <= at + SLOT_S for end in drops(run)) for at in DROPS_S) for run in own
    ]
    share = sum(there) / len(there)
    counts = ", ".join(
        f"{VARIANTS[v]} {told(runs.where(variant=v).sample(lambda run: len(drops(run))))}"
        for v in STUDIED
    )
    return Claim(
        "drops",
        "Throughput drops at 3.5 s and at 20 s (figure 3)",
        "reproduced" if share == 1 else "in part" if share > 0.5 else "not",
        f"{sum(there)} of {len(own)} runs drop at both; seconds below half the mean: {counts}",
    )


def _nothing_claim(runs: Runs) -> Iterator[Claim]:
    """From 20 % on below `NEAR_NOTHING` of what there is without losses."""
    found = _by(runs, "loss", mbps)
    losses = [loss for loss in _ordered(runs, "loss") if loss >= 0.2]
    if not losses:
        return
    left = {v: [relative(found[v][p], found[v][0]).mean + 1 for p in losses] for v in STUDIED}
    shown = ", ".join(
        f"{VARIANTS[v]} {' and '.join(f'{100 * share:.0f} %' for share in own)}"
        for v, own in left.items()
    )
    yield Claim(
        "nothing",
        "From 20 % on all go towards 0 (figure 4)",
        _all([share < NEAR_NOTHING for own in left.values() for share in own]),
        f"of that without losses, at {' and '.join(map(_percent, losses))}: {shown}",
    )


def left_at(runs: Runs, variant: str, ms: float, of_ms: float) -> Sample:
    """What is left at ``ms`` of the throughput at ``of_ms``."""
    own = runs.where(variant=variant)
    late, early = (own.where(propagation=at).sample(mbps) for at in (ms, of_ms))
    less = relative(late, early)
    return Sample(less.mean + 1, less.error, less.n)


def _propagation_claim(runs: Runs) -> Iterator[Claim]:
    """Westwood keeps 95 % at 15 ms and the others below 60 %; and all fall below 60 % at 25 ms."""
    for loss in _ordered(runs, "loss"):
        own = runs.where(loss=loss)
        if not {5, 15, 25} <= {run.at["propagation"] for run in own}:
            continue
        left = {v: [left_at(own, v, ms, 5) for ms in (15, 25)] for v in STUDIED}
        kept = left["tcpw"][0].mean > 0.95
        lost = all(left[v][0].mean < 0.6 for v in ("reno", "sack"))
        fall = all(own_left[1].mean < 0.6 for own_left in left.values())
        shown = ", ".join(f"{VARIANTS[v]} {told(a)} and {told(b)}" for v, (a, b) in left.items())
        yield Claim(
            f"propagation-{100 * loss:g}",
            "Westwood is flat to 15 ms where the others lose 60 %, all fall at 20 and 25 ms "
            f"(figure 6); {_percent(loss)}",
            _all([kept, lost, fall]),
            f"of that at 5 ms, at 15 and 25 ms: {shown}",
        )


@dataclass(frozen=True)
class Compared:
    """A published quantity: what it is of a variant in some runs, and in which of them."""

    reported: Mapping[str, float]
    of: Callable[[Runs, str], Sample]
    runs: Runs


def _mean(read: Callable[[Run], float]) -> Callable[[Runs, str], Sample]:
    return lambda runs, variant: runs.where(variant=variant).sample(read)


def _lead(runs: Runs, variant: str) -> Sample:
    """Westwood's throughput over that of ``variant``."""
    more = relative(*(runs.where(variant=v).sample(mbps) for v in ("tcpw", variant)))
    return Sample(more.mean + 1, more.error, more.n)


def _beside(
    runs: Runs, readings: Sequence[Reading], published: Mapping[str, Any]
) -> Iterator[Beside]:
    main, link = runs.part(), runs.part("rate").where(hop="link")
    at_5, time = main.where(loss=STANDARD_LOSS), published["time"]
    propagation = runs.part("propagation")
    compared = {
        "figure 3, first 10 s": Compared(
            time["first"], _mean(lambda run: between(run, 0.0, FIRST_S)), at_5
        ),
        "figure 3, later": Compared(
            time["later"], _mean(lambda run: between(run, FIRST_S, float("inf"))), at_5
        ),
        "figure 4, 0 %": Compared(published["loss"]["0"], _mean(mbps), main.where(loss=0)),
        "figure 4, 5 %": Compared(published["loss"]["5"], _mean(mbps), at_5),
        "figure 4, 10 %": Compared(published["loss"]["10"], _mean(mbps), main.where(loss=0.1)),
        "figure 5, 2 Mbit/s": Compared(published["rate"]["2"], _mean(mbps), link.where(rate=2)),
        "figure 5, 10 Mbit/s, Westwood over": Compared(
            published["rate_10_times"], _lead, link.where(rate=10)
        ),
        "figure 6, left at 15 ms": Compared(
            published["propagation_15_left"],
            lambda own, v: left_at(own, v, 15, 5),
            propagation.where(loss=0.0005),
        ),
    }
    for name, one in compared.items():
        causes = published["causes"].get(name, {})
        for v, value in one.reported.items():
            here = one.of(one.runs, v)
            tried = {case: one.of(_experiment(runs, case), v) for case in causes.get(v, ())}
            shown = [
                f"{case}: {told(there)}"
                for case, there in tried.items()
                if explains(here.mean, there.mean, value)
            ]
            own = Beside(f"{name}, {VARIANTS[v]}", here, value, cause="; ".join(shown))
            if own.far and not shown:
                own = replace(own, cause=search.reached(readings, (name, v), value))
            yield own


def explains(here: float, there: float, published: float) -> bool:
    """Whether an experiment comes to the published value, or to its other side."""
    return (here - published) * (there - published) <= 0 or abs(there / published - 1) <= FAR


def _experiment(runs: Runs, case: str) -> Runs:
    """The runs that a cause of ``published.toml`` is shown by."""
    if case == AT_STANDARD_LOSS:
        return runs.part("propagation").where(loss=STANDARD_LOSS)
    return runs.part("causes").where(case=case)


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    """Tables, figures and verdicts of the study."""
    full = bool(runs.part("propagation").where(propagation=15))
    readings = list(search.readings(runs.part("search")))
    tables = [
        _standard_table(runs, published),
        _loss_table(runs),
        _time_table(runs),
        _rate_table(runs),
        _window_table(runs),
        _propagation_table(runs),
        _repeated_table(runs),
        _law_table(runs),
        *([_recovery_table(runs)] if runs.part("recovery") else []),
        *(search.tables(readings, published) if readings else []),
    ]
    pictures = [
        _loss_picture(runs, published),
        _time_picture(runs, published),
        _rate_picture(runs, published),
        _propagation_picture(runs),
    ]
    values = {
        f"mbps/{part or 'link'}/{run_axes}": group.sample(mbps).mean
        for part in ("", "radio", "rate", "propagation", "causes")
        for run_axes, group in _labelled(runs.part(part))
    }
    values |= {
        f"repeated/{label}": group.sample(repeated).mean for label, group in _labelled(runs.part())
    }
    return Findings(
        tables=tables,
        pictures=pictures,
        claims=list(_claims(runs)) if full else [],
        beside=list(_beside(runs, readings, published)) if full else [],
        values=values,
    )


def _labelled(runs: Runs) -> Iterator[tuple[str, Runs]]:
    if runs:
        axes = list(runs[0].at)
        for values, group in runs.groups(*axes).items():
            yield (
                "/".join(
                    f"{value:g}" if isinstance(value, float) else str(value) for value in values
                ),
                group,
            )
