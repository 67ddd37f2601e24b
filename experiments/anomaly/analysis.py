# SPDX-License-Identifier: Apache-2.0
"""Two fast stations and a slow one behind an access point: air time, throughput, latency.

"Ending the Anomaly" (Høiland-Jørgensen et al., USENIX ATC 2017) again, with the code that its
authors gave to the kernel. The queues are a FIFO, FQ-CoDel for each station, and that with airtime
fairness on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from hoplab.host.statistics.samples import Sample, difference, relative
from hoplab.many.study import airtime, plot
from hoplab.many.study.findings import Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

MBPS = {"fast1": 144.4, "fast2": 144.4, "slow": 7.2}
"""HT at 20 MHz, short guard interval: MCS 15 and 0."""
FIFO, TURNS, FAIR = "FIFO", "FQ-CoDel", "airtime fairness"
UDP, LIMIT = "udp", "limit"
"""Parts of the study beside its base."""
VARIANTS = {"cubic": "CUBIC", "bbr": "BBR"}
PAYLOAD, PACKET = 1472, 1500
TCP_SINCE_S, UDP_SINCE_S = 5.0, 1.0
"""Beginnings, with slow start and queues that fill, are left out."""
THIRD_WITHIN = 0.05
"""Points of air time: shares as near to a third are equal."""
MODEL_WITHIN = 0.1


@dataclass(frozen=True)
class Draw:
    """What a run had from its steady part on, by station."""

    share: Mapping[str, float]
    mbps: Mapping[str, float]
    packets: Mapping[str, float]
    """Mean of an aggregate."""
    turns_mbps: Mapping[str, float]
    """By the model, with this run's aggregates."""
    by_turns: Mapping[str, float]
    """Shares of air time if stations took turns with this run's aggregates."""
    waiting: Mapping[str, float]
    """Mean packets in mac80211's queues at the access point; empty for a FIFO."""
    ping_ms: Mapping[str, float]
    """Median of the round trips beside the load; of "fast" and "slow"."""


def draw(run: Run) -> Draw:
    """Everything of a run that the study reads."""
    is_udp = run.part == UDP
    since_s = UDP_SINCE_S if is_udp else TCP_SINCE_S
    protocol = UDP if is_udp else "tcp"
    served = airtime.served(run.rows("frames"), "ap", protocol, MBPS, since_s)
    fair = run.at["queue"] == FAIR
    shares = airtime.equal_shares(served.aggregates)
    return Draw(
        served.share,
        _datagrams_mbps(run) if is_udp else _transfers_mbps(run),
        {name: one.frames for name, one in served.aggregates.items()},
        airtime.throughput_mbps(served.aggregates, shares)
        if fair
        else airtime.mbps_by_turns(served.aggregates),
        airtime.shares_by_turns(served.aggregates),
        _waiting(run, since_s),
        {} if is_udp else _pings_ms(run),
    )


def _datagrams_mbps(run: Run) -> dict[str, float]:
    """IP throughput of the steady part, which ends with the last datagram that is sent: what
    waits then arrives without load."""
    packets = run.rows("packets")
    until_s = max(row["sent_s"] for row in packets)
    octets = dict.fromkeys(MBPS, 0)
    for row in packets:
        at_s = row["received_s"]
        if at_s is not None and UDP_SINCE_S <= at_s < until_s:
            octets[row["flow"]] += row["bytes"]
    scale = 8e-6 * PACKET / PAYLOAD / (until_s - UDP_SINCE_S)
    return {name: scale * total for name, total in octets.items()}


def _transfers_mbps(run: Run) -> dict[str, float]:
    """Goodput between the first and the last sample of the steady part."""
    found = {}
    for name in MBPS:
        own = [r for r in run.rows("tcp") if r["flow"] == name and r["t_s"] >= TCP_SINCE_S]
        first, last = own[0], own[-1]
        octets = last["delivered_bytes"] - first["delivered_bytes"]
        found[name] = 8e-6 * octets / (last["t_s"] - first["t_s"])
    return found


def _waiting(run: Run, since_s: float) -> dict[str, float]:
    """Means over the samples of the steady part, for each station."""
    samples = [
        row
        for row in run.rows("wifi_queues")
        if row["node"] == "ap" and row["category"] == "best-effort" and row["t_s"] >= since_s
    ]
    return {
        name: fmean(row["backlog_packets"] for row in samples if row["peer"] == name)
        for name in (MBPS if samples else ())
    }


def _pings_ms(run: Run) -> dict[str, float]:
    """Medians; an echo without a reply counts as slower than all."""
    found = {}
    for name in ("fast", "slow"):
        times = [
            float("inf") if row["rtt_ms"] is None else row["rtt_ms"]
            for row in run.rows("exchanges")
            if row["flow"] == f"ping-{name}" and row["sent_s"] >= TCP_SINCE_S
        ]
        found[name] = median(times)
    return found


class Drawn:
    """Runs, each read once."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._draws = {id(run): draw(run) for run in runs}

    def of(self, queue: str, variant: str | None = None) -> list[Draw]:
        """Those of a queue; of UDP where no variant is given."""
        chosen = self.runs.part(UDP) if variant is None else self.runs.part()
        axes = {"queue": queue} if variant is None else {"queue": queue, "variant": variant}
        return [self._draws[id(run)] for run in chosen.where(**axes)]

    @property
    def queues(self) -> list[str]:
        return list(dict.fromkeys(str(run.at["queue"]) for run in self.runs))

    @property
    def variants(self) -> list[str]:
        return [v for v in VARIANTS if self.runs.part().where(variant=v)]


def shares(draws: list[Draw], name: str) -> Sample:
    return Sample.of([100 * one.share[name] for one in draws])


def mbps(draws: list[Draw], name: str) -> Sample:
    return Sample.of([one.mbps[name] for one in draws])


def total(draws: list[Draw]) -> Sample:
    return Sample.of([sum(one.mbps.values()) for one in draws])


def pings(draws: list[Draw], name: str) -> Sample:
    return Sample.of([one.ping_ms[name] for one in draws])


def _load_table(drawn: Drawn) -> Table:
    """What each station gets."""
    heads = ("", "", *(f"air time, %: {n}" if n == "fast1" else n for n in MBPS))
    heads += (*(f"Mbit/s: {n}" if n == "fast1" else n for n in MBPS), "all", "packets each")
    rows: list[tuple[Cell, ...]] = []
    for variant in (None, *drawn.variants):
        for queue in drawn.queues:
            own = drawn.of(queue, variant)
            each = ", ".join(f"{fmean(o.packets[n] for o in own):.0f}" for n in MBPS)
            rows.append(
                (
                    "UDP" if variant is None else VARIANTS[variant],
                    queue,
                    *(shares(own, name) for name in MBPS),
                    *(mbps(own, name) for name in MBPS),
                    total(own),
                    each,
                )
            )
    return Table("load", "Air time and throughput by station", heads, rows)


def _latency_table(drawn: Drawn) -> Table:
    heads = ("", "", "ping to a fast station, ms", "to the slow one, ms")
    rows: list[tuple[Cell, ...]] = [
        (VARIANTS[variant], queue, *(pings(own, name) for name in ("fast", "slow")))
        for variant in drawn.variants
        for queue in drawn.queues
        for own in [drawn.of(queue, variant)]
    ]
    return Table("latency", "Round-trip time beside the downloads, medians", heads, rows)


def _model_table(drawn: Drawn) -> Table:
    """UDP beside the paper's model with each run's aggregates."""
    heads = ("", "", "Mbit/s", "model", "off by")
    rows: list[tuple[Cell, ...]] = []
    for queue in drawn.queues:
        own = drawn.of(queue)
        for name in MBPS:
            model = Sample.of([one.turns_mbps[name] for one in own])
            gap = relative(mbps(own, name), Sample(model.mean))
            rows.append((queue, name, mbps(own, name), model.mean, f"{100 * gap.mean:+.1f} %"))
    return Table("model", "UDP beside the model with these runs' aggregates", heads, rows)


def _turns_table(drawn: Drawn) -> Table:
    """Who waits, and what turns alone would give."""
    heads = ("", "", "air time, %: fast1", "by turns", "slow", "by turns", "waiting: fast1", "slow")
    rows: list[tuple[Cell, ...]] = []
    for variant in (None, *drawn.variants):
        for queue in drawn.queues:
            own = drawn.of(queue, variant)
            air: list[Cell] = []
            waiting: list[Cell] = []
            for name in ("fast1", "slow"):
                air += [shares(own, name), Sample.of([100 * one.by_turns[name] for one in own])]
                found = [one.waiting[name] for one in own if one.waiting]
                waiting.append(Sample.of(found) if found else None)
            rows.append((_load(variant), queue, *air, *waiting))
    return Table("turns", "Air time beside turns, and packets that wait", heads, rows)


def _limit_table(drawn: Drawn, limited: Runs) -> Table:
    """Pings where AQL's limit does not depend on what others have waiting."""
    heads = ("AQL's limit", "queue", "ping to a fast station, ms", "to the slow one, ms")
    rows: list[tuple[Cell, ...]] = [
        ("the kernel's", queue, *(pings(drawn.of(queue, "cubic"), n) for n in ("fast", "slow")))
        for queue in (TURNS, FAIR)
    ]
    for (limit, queue), group in limited.groups("limit", "queue").items():
        found = [_pings_ms(run) for run in group]
        cells = (Sample.of([one[name] for one in found]) for name in ("fast", "slow"))
        rows.append((str(limit), str(queue), *cells))
    return Table("limit", "Round-trip time beside CUBIC by AQL's limit, medians", heads, rows)


def _gains_table(drawn: Drawn) -> Table:
    """What airtime fairness makes of the throughput that the other queues give."""
    rows: list[tuple[Cell, ...]] = []
    for variant in (None, *drawn.variants):
        fair = drawn.of(FAIR, variant)
        for queue in (FIFO, TURNS):
            own = drawn.of(queue, variant)
            each = (_times(mbps(fair, name), mbps(own, name)) for name in MBPS)
            rows.append((_load(variant), queue, *each, _times(total(fair), total(own))))
    heads = ("", "over", *MBPS, "all")
    return Table(
        "gains", "Throughput with airtime fairness over that of another queue", heads, rows
    )


def _times(a: Sample, b: Sample) -> str:
    """A ratio of means; a station that gets nothing has none."""
    return f"{a.mean / b.mean:.2f}" if b.mean else "nothing before"


def _verdict(*parts: bool) -> Verdict:
    """All of a claim's parts hold, some of them, or none."""
    return "reproduced" if all(parts) else "in part" if any(parts) else "not"


def _above(a: Sample, b: Sample) -> bool:
    """Beyond chance, where chance is known."""
    gap = difference(a, b)
    return gap.positive if gap.n > 1 else gap.mean > 0


def _claims(drawn: Drawn, published: Mapping[str, Any]) -> Iterator[Claim]:
    loads = (None, *drawn.variants)
    yield _anomaly(drawn)
    yield _fairness(drawn, loads)
    yield _throughput(drawn, loads)
    yield _model(drawn)
    for variant in drawn.variants:
        yield _latency(drawn, variant, published["latency_times"])


def _anomaly(drawn: Drawn) -> Claim:
    """Of UDP, all of which is above what a station can get."""
    own = drawn.of(FIFO)
    found = {name: shares(own, name) for name in MBPS}
    most = _above(found["slow"], Sample(50.0))
    text = ", ".join(f"{name} {told(one)} %" for name, one in found.items())
    sentence = "In a FIFO the slow station takes most of the air time"
    return Claim("anomaly", sentence, _verdict(most), f"UDP: {text}")


def _fairness(drawn: Drawn, loads: tuple[str | None, ...]) -> Claim:
    """Each share of each load within `THIRD_WITHIN` of a third, its interval included."""
    worst = {}
    for variant in loads:
        own = drawn.of(FAIR, variant)
        off = [difference(shares(own, name), Sample(100 / 3)) for name in MBPS]
        worst[variant] = max(abs(one.mean) + one.half_width for one in off)
    held = [points < 100 * THIRD_WITHIN for points in worst.values()]
    text = ", ".join(f"{_load(v)} {points:.1f} points" for v, points in worst.items())
    sentence = "Airtime fairness gives each a third, of UDP and of TCP"
    return Claim("fairness", sentence, _verdict(*held), f"furthest from a third: {text}")


def _load(variant: str | None) -> str:
    return "UDP" if variant is None else VARIANTS[variant]


def _throughput(drawn: Drawn, loads: tuple[str | None, ...]) -> Claim:
    """Of all stations together, beyond chance, over the FIFO."""
    gaps = {v: (total(drawn.of(FAIR, v)), total(drawn.of(FIFO, v))) for v in loads}
    held = [_above(fair, fifo) for fair, fifo in gaps.values()]
    text = ", ".join(
        f"{_load(v)} {fair.mean / fifo.mean:.2f} times" for v, (fair, fifo) in gaps.items()
    )
    sentence = "With airtime fairness all stations together get more than with a FIFO"
    return Claim("throughput", sentence, _verdict(*held), text)


def _model(drawn: Drawn) -> Claim:
    """Every station's UDP throughput, within `MODEL_WITHIN`."""
    off = {}
    for queue in drawn.queues:
        own = drawn.of(queue)
        gaps = [
            fmean(o.mbps[name] for o in own) / fmean(o.turns_mbps[name] for o in own) - 1
            for name in MBPS
        ]
        off[queue] = max(abs(gap) for gap in gaps)
    held = [gap < MODEL_WITHIN for gap in off.values()]
    text = ", ".join(f"{queue} {100 * gap:.1f} %" for queue, gap in off.items())
    sentence = "The model tells UDP's throughput from the aggregates"
    return Claim("model", sentence, _verdict(*held), f"furthest off: {text}")


def _latency(drawn: Drawn, variant: str, times: float) -> Claim:
    """Reproduced: ``times`` shorter to both kinds of station. In part: shorter to both."""
    ratios, shorter = {}, []
    for name in ("fast", "slow"):
        fifo, fair = (pings(drawn.of(queue, variant), name) for queue in (FIFO, FAIR))
        ratios[name] = fifo.mean / fair.mean
        shorter.append(_above(fifo, fair))
    verdict: Verdict = "in part" if all(shorter) else "not"
    if all(ratio >= times for ratio in ratios.values()):
        verdict = "reproduced"
    text = ", ".join(f"{name} {ratio:.1f} times" for name, ratio in ratios.items())
    sentence = f"Latency under load falls by an order of magnitude ({VARIANTS[variant]})"
    return Claim(f"latency-{variant}", sentence, verdict, f"FIFO over airtime fairness: {text}")


def _picture(drawn: Drawn) -> Picture:
    ticks = {float(i): queue.replace(" ", "\n") for i, queue in enumerate(drawn.queues)}
    wide = (-0.5, len(ticks) - 0.5)
    air = plot.Panel("air time, UDP", wide, (0, 100), y_label="%", ticks=ticks)
    for k, name in enumerate(MBPS):
        found = [shares(drawn.of(queue), name) for queue in drawn.queues]
        _points(air, name, found, 0.12 * (k - 1))
    longest = max(
        pings(drawn.of(queue, variant), name).mean
        for queue in drawn.queues
        for variant in drawn.variants
        for name in ("fast", "slow")
    )
    wait = plot.Panel("ping beside downloads", wide, (1, 2 * longest), "y", ticks=ticks)
    wait.y_label = "ms, median"
    cases = [(variant, name) for variant in drawn.variants for name in ("fast", "slow")]
    for k, (variant, name) in enumerate(cases):
        found = [pings(drawn.of(queue, variant), name) for queue in drawn.queues]
        _points(wait, f"{VARIANTS[variant]}, to {name}", found, 0.1 * (k - 1.5))
    title = "Two fast stations and a slow one"
    return Picture("load", plot.svg([air, wait], "", "", title))


def _points(panel: plot.Panel, kind: str, found: list[Sample], shift: float) -> None:
    points = [(i + shift, sample.mean) for i, sample in enumerate(found)]
    panel.add(kind, points, errors=[sample.half_width for sample in found])


def _values(drawn: Drawn) -> dict[str, float]:
    found = {}
    for variant in (None, *drawn.variants):
        for queue in drawn.queues:
            own = drawn.of(queue, variant)
            where = f"{_load(variant)}/{queue}"
            for name in MBPS:
                found[f"share/{where}/{name}"] = shares(own, name).mean
                found[f"mbps/{where}/{name}"] = mbps(own, name).mean
            for name in () if variant is None else ("fast", "slow"):
                found[f"ping_ms/{where}/{name}"] = pings(own, name).mean
    return found


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    """Tables, figures and verdicts of the study."""
    limited = runs.part(LIMIT)
    drawn = Drawn(runs.filter(lambda run: run.part != LIMIT))
    return Findings(
        tables=[
            _load_table(drawn),
            _latency_table(drawn),
            *([_limit_table(drawn, limited)] if limited else []),
            _gains_table(drawn),
            _turns_table(drawn),
            _model_table(drawn),
        ],
        pictures=[_picture(drawn)],
        claims=list(_claims(drawn, published)),
        values=_values(drawn),
    )
