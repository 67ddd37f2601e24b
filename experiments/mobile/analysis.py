# SPDX-License-Identifier: Apache-2.0
"""Moving stations: measured beside expected throughput, with ELFN and other remedies and without.

Every pattern runs at every speed and both ways, so differences are taken within a pattern.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from hoplab.host.statistics.samples import Sample, t_95
from hoplab.many.study import plot
from hoplab.many.study.findings import Beside, Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

from . import expected_throughput

PATTERNS = 50
"""The study's."""
LEAST = 3
"""Patterns of which a claim may be made."""
HEADERS = 1460 / 1420
"""The study counts whole packets of 1460 octets; goodput here is payload."""
STARVED, GOOD = 0.25, 0.9
"""Of the expected throughput: what counts as near nothing, and as near the diagonal."""
STYLES = {"base": ("#c0182b", "x"), "ELFN": ("#1f5fa8", "o"), "expected": ("#9aa5b1", "s")}
DIAGONAL = ("#9aa5b1", "")
TOP_KBPS = 1600.0
CAUSES = {6: "ns-2 in 20 runs: 226 ± 4; here DSR's first request succeeds"}
"""Why a chain of so many hops is far from the published one (`docs/medium-figures.md`)."""
Key = tuple[float, str]
"""A speed and a way."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    kbps: float
    timeouts: int
    standby_s: float
    drops: Mapping[str, int]
    """The connection's station's and others' packets that DSR dropped, by cause."""


def outcome(run: Run) -> Outcome:
    flow = run.rows("flows")[0]
    samples = run.rows("tcp")
    drops: Counter[str] = Counter()
    for event in run.rows("events"):
        if event["source"] == "dsr" and event["kind"] == "drop":
            drops[_cause(event["detail"])] += 1
    standby_s = samples[-1]["standby_s"] if samples else None
    return Outcome(
        HEADERS * (flow["goodput_kbps"] or 0.0),
        flow["timeouts"] or 0,
        standby_s or 0.0,
        drops,
    )


def _cause(detail: str) -> str:
    words = dict(word.split("=", 1) for word in detail.split() if "=" in word)
    return words.get("cause", "")


@dataclass(frozen=True)
class Field:
    """All runs of the two ways, and what the movement alone would give, by speed and pattern."""

    runs: Mapping[Key, Mapping[int, Outcome]]
    expected: Mapping[float, Mapping[int, float]]

    @property
    def speeds(self) -> list[float]:
        return list(self.expected)

    def patterns(self, *keys: Key) -> list[int]:
        """Those that have run under all of ``keys``."""
        return sorted(set.intersection(*(set(self.runs.get(key, ())) for key in keys)))

    def kbps(self, speed: float, way: str) -> Sample:
        return Sample.of([one.kbps for one in self.runs[speed, way].values()])

    def gain(self, speed: float, before: str = "base", after: str = "ELFN") -> Sample:
        """Within each pattern, in kbit/s."""
        there = self.patterns((speed, before), (speed, after))
        return Sample.of(
            [self.runs[speed, after][p].kbps - self.runs[speed, before][p].kbps for p in there]
        )

    def fall(self, way: str, slow: float, fast: float) -> Sample:
        """From one speed to another, within each pattern, in kbit/s."""
        there = self.patterns((slow, way), (fast, way))
        return Sample.of(
            [self.runs[slow, way][p].kbps - self.runs[fast, way][p].kbps for p in there]
        )

    def fall_beyond(self, way: str, slow: float, fast: float) -> Sample:
        """The same of what is missing to the expected: the movement itself is taken out."""
        there = self.patterns((slow, way), (fast, way))
        return Sample.of([self._missing(fast, way, p) - self._missing(slow, way, p) for p in there])

    def _missing(self, speed: float, way: str, pattern: int) -> float:
        return self.expected[speed][pattern] - self.runs[speed, way][pattern].kbps

    def ratios(self, speed: float, way: str) -> dict[int, float]:
        """Measured over expected, by pattern, where anything is expected."""
        return {
            p: one.kbps / self.expected[speed][p]
            for p, one in self.runs[speed, way].items()
            if self.expected[speed][p] > 0
        }

    def share(self, speed: float, way: str) -> float:
        """All that came over all that was expected."""
        own = self.runs[speed, way]
        return sum(one.kbps for one in own.values()) / sum(self.expected[speed][p] for p in own)


def chain(runs: Runs) -> dict[int, Sample]:
    """Throughput of static chains by hops, as the study counts it."""
    found = runs.part("chain").groups("hops")
    return {
        int(str(hops)): group.sample(lambda run: HEADERS * run.rows("flows")[0]["goodput_kbps"])
        for (hops,), group in found.items()
    }


def collect(runs: Runs, chain_kbps: Mapping[int, float], duration_s: float) -> Field:
    speeds: dict[float, dict[int, float]] = {}
    found: dict[Key, dict[int, Outcome]] = {}
    for run in runs:
        speed, pattern = float(run.at["speed"]), run.seed
        known = speeds.setdefault(speed, {})
        if pattern not in known:
            way = expected_throughput.hops(pattern, speed, duration_s)
            known[pattern] = expected_throughput.expected_kbps(way, chain_kbps)
        found.setdefault((speed, _way(run)), {})[pattern] = outcome(run)
    return Field(found, speeds)


def _way(run: Run) -> str:
    return str(run.at.get("tcp") or run.at["case"])


def duration_s(runs: Runs) -> float:
    flow = runs[0].rows("flows")[0]
    return float(flow["stop_s"] - flow["start_s"])


def _speed_table(field: Field) -> Table:
    heads = ("m/s", "patterns", "expected", "base", "ELFN", "ELFN - base", "of it: base", "ELFN")
    rows: list[Sequence[Cell]] = []
    for v in field.speeds:
        rows.append(
            (
                f"{v:g}",
                len(field.patterns((v, "base"), (v, "ELFN"))),
                Sample.of(list(field.expected[v].values())),
                field.kbps(v, "base"),
                field.kbps(v, "ELFN"),
                field.gain(v),
                f"{100 * field.share(v, 'base'):.0f} %",
                f"{100 * field.share(v, 'ELFN'):.0f} %",
            )
        )
    return Table("speed", "Throughput over speed, kbit/s; of the expected one", heads, rows)


def _pattern_table(field: Field) -> Table:
    heads = (
        *("m/s", "near the diagonal: base", "ELFN", "starving: base", "ELFN"),
        *("timeouts a run: base", "ELFN", "stand-by, s"),
    )
    rows: list[Sequence[Cell]] = []
    for v in field.speeds:
        counts = [list(field.ratios(v, way).values()) for way in ("base", "ELFN")]
        rows.append(
            (
                f"{v:g}",
                *(f"{sum(r >= GOOD for r in ratios)} of {len(ratios)}" for ratios in counts),
                *(sum(r < STARVED for r in ratios) for ratios in counts),
                *(fmean(o.timeouts for o in field.runs[v, w].values()) for w in ("base", "ELFN")),
                fmean(o.standby_s for o in field.runs[v, "ELFN"].values()),
            )
        )
    return Table("patterns", "Patterns and their timeouts", heads, rows)


def _fall_table(field: Field) -> Table:
    rows: list[Sequence[Cell]] = []
    for slow, fast in pairwise(field.speeds):
        deviation = _deviation(field, slow)
        rows.append(
            (
                f"{slow:g} to {fast:g}",
                field.fall("base", slow, fast),
                field.fall_beyond("base", slow, fast),
                field.fall_beyond("ELFN", slow, fast),
                deviation,
                t_95(PATTERNS - 1) * deviation / math.sqrt(PATTERNS),
            )
        )
    heads = (
        *("m/s", "fall of the base", "beyond the expected: base", "ELFN"),
        *("deviation of a pattern", f"half the interval of {PATTERNS} patterns' mean"),
    )
    return Table("fall", "What a rise of speed costs, kbit/s", heads, rows)


def _deviation(field: Field, speed: float) -> float:
    sample = field.kbps(speed, "base")
    return float(sample.error * sample.n**0.5)


def _chain_table(found: Mapping[int, Sample], published: Mapping[str, Any]) -> Table:
    rows: list[Sequence[Cell]] = [
        (str(n), kbps, published["chain"]["kbps"][n - 1], published["chain"]["ns2_kbps"][n - 1])
        for n, kbps in found.items()
    ]
    return Table("chain", "Static chains, kbit/s", ("hops", "here", "published", "ns-2.35"), rows)


def _remedies_table(field: Field, remedies: Field, speeds: Sequence[float]) -> Table:
    """Each against the base, or where ELFN is on against ELFN, over the same patterns."""
    cases = list(dict.fromkeys(way for _, way in remedies.runs))
    rows: list[Sequence[Cell]] = []
    for case in cases:
        against = "ELFN" if case.startswith("ELFN") else "base"
        cells: list[Cell] = []
        for v in speeds:
            own, other = remedies.runs.get((v, case), {}), field.runs[v, against]
            there = sorted(set(own) & set(other))
            cells += [
                len(there),
                fmean(own[p].kbps for p in there) if there else None,
                Sample.of([own[p].kbps - other[p].kbps for p in there]) if there else None,
            ]
        rows.append((case, against, *cells))
    heads = ["", "against"]
    for v in speeds:
        heads += [f"patterns, {v:g} m/s", "kbit/s", "difference"]
    return Table("remedies", "Remedies and variants", heads, rows)


def _drop_table(field: Field) -> Table:
    causes = sorted({c for runs in field.runs.values() for o in runs.values() for c in o.drops})
    rows: list[Sequence[Cell]] = [
        (f"{v:g}, {way}", *(fmean(o.drops.get(c, 0) for o in runs.values()) for c in causes))
        for (v, way), runs in field.runs.items()
    ]
    return Table("drops", "Packets that DSR drops in a run, by cause", ("", *causes), rows)


def _scatter(field: Field) -> Picture:
    panels = []
    for v in field.speeds:
        panel = plot.Panel(f"{v:g} m/s", (0, TOP_KBPS), (0, TOP_KBPS))
        panel.add("expected = measured", [(0, 0), (TOP_KBPS, TOP_KBPS)], "-", style=DIAGONAL)
        for way in ("base", "ELFN"):
            own = field.runs[v, way]
            points = [(field.expected[v][p], one.kbps) for p, one in own.items()]
            panel.add(way, points, style=STYLES[way])
        panels.append(panel)
    title = "A point a pattern"
    svg = plot.svg(panels, "expected throughput (kbit/s)", "measured (kbit/s)", title)
    return Picture("scatter", svg)


def _over_speed(field: Field) -> Picture:
    mean = plot.Panel("mean throughput", (0, 32), (0, 1300), y_label="kbit/s")
    gain = plot.Panel("ELFN - base within a pattern", (0, 32), (-100, 400), y_label="kbit/s")
    speeds = field.speeds
    curves = {"base": [field.kbps(v, "base") for v in speeds]}
    curves["ELFN"] = [field.kbps(v, "ELFN") for v in speeds]
    curves["expected"] = [Sample.of(list(field.expected[v].values())) for v in speeds]
    for i, (kind, samples) in enumerate(curves.items()):
        points = [(v + 0.3 * (i - 1), s.mean) for v, s in zip(speeds, samples, strict=True)]
        mean.add(kind, points, "-", [s.half_width for s in samples], STYLES[kind])
    gains = [field.gain(v) for v in speeds]
    points = [(v, g.mean) for v, g in zip(speeds, gains, strict=True)]
    gain.add("difference", points, "-", [g.half_width for g in gains], STYLES["ELFN"])
    gain.add("none", [(0, 0), (32, 0)], "-", style=DIAGONAL)
    svg = plot.svg([mean, gain], "speed (m/s)", "", "Thirty moving stations, one TCP connection")
    return Picture("speed", svg)


def _remedies_picture(field: Field, remedies: Field, speeds: Sequence[float]) -> Picture:
    panels = []
    for v in speeds:
        cases = [way for speed, way in remedies.runs if speed == v]
        ticks = {float(i): case for i, case in enumerate(cases)}
        panel = plot.Panel(f"{v:g} m/s", (-0.5, len(cases) - 0.5), (-200, 400), ticks=ticks)
        for against in ("base", "ELFN"):
            found = []
            for i, case in enumerate(cases):
                own, other = remedies.runs.get((v, case), {}), field.runs[v, against]
                there = sorted(set(own) & set(other))
                if case.startswith("ELFN") == (against == "ELFN") and there:
                    difference = [own[p].kbps - other[p].kbps for p in there]
                    found.append((float(i), Sample.of(difference)))
            if found:
                points = [(x, s.mean) for x, s in found]
                errors = [s.half_width for _, s in found]
                panel.add(f"beside {against}", points, "", errors, STYLES[against])
        panels.append(panel)
    return Picture("remedies", plot.svg(panels, "", "difference (kbit/s)", "Remedies"))


def _claims(field: Field, remedies: Field | None) -> list[Claim]:
    claims = [_elfn_claim(field), _diagonal_claim(field), _extremes_claim(field)]
    if {2.0, 10.0, 30.0} <= set(field.speeds):
        claims.insert(0, _fall_claim(field))
    if remedies is not None:
        claims += _cause_claims(field, remedies)
    return claims


def _fall_claim(field: Field) -> Claim:
    first, rest = field.fall_beyond("base", 2.0, 10.0), field.fall_beyond("base", 10.0, 30.0)
    falls = first.mean > first.half_width
    verdict: Verdict = "not" if not falls else "reproduced" if first.mean > rest.mean else "in part"
    return Claim(
        "fall",
        "throughput falls sharply from 2 to 10 m/s and little from 10 to 30",
        verdict,
        f"beyond the expected: 2 to 10 m/s {told(first)} kbit/s, 10 to 30 m/s {told(rest)} kbit/s",
    )


def _elfn_claim(field: Field) -> Claim:
    gains = {v: field.gain(v) for v in field.speeds}
    better = [v for v, gain in gains.items() if gain.mean > gain.half_width]
    every: Verdict = "reproduced" if len(better) == len(gains) else "in part" if better else "not"
    shown = ", ".join(
        f"{v:g} m/s {gain.mean:+.0f} ± {gain.half_width:.0f}" for v, gain in gains.items()
    )
    return Claim("elfn", "ELFN improves throughput at every speed", every, f"kbit/s: {shown}")


def _diagonal_claim(field: Field) -> Claim:
    speeds = (min(field.speeds), max(field.speeds))
    shares = {way: [field.share(v, way) for v in speeds] for way in ("base", "ELFN")}
    away = shares["base"][1] < shares["base"][0]
    nearer = shares["ELFN"][1] > shares["base"][1]
    both: Verdict = "reproduced" if away and nearer else "in part" if away or nearer else "not"
    told_shares = "; ".join(
        f"{way} {100 * slow:.0f} % at {speeds[0]:g} m/s, {100 * fast:.0f} % at {speeds[1]:g}"
        for way, (slow, fast) in shares.items()
    )
    return Claim(
        "diagonal",
        "points move away from the diagonal as speed grows, and cluster nearer to it with ELFN",
        both,
        f"of the expected throughput: {told_shares}",
    )


def _extremes_claim(field: Field) -> Claim:
    fastest = max(field.speeds)
    near = sum(r >= GOOD for r in field.ratios(fastest, "base").values())
    everywhere = [
        p
        for p in field.patterns(*((v, "base") for v in field.speeds))
        if all(field.ratios(v, "base").get(p, 0.0) < STARVED for v in field.speeds)
    ]
    some = sum(r < STARVED for v in field.speeds for r in field.ratios(v, "base").values())
    verdict: Verdict = "reproduced" if near and everywhere else "in part" if near or some else "not"
    return Claim(
        "extremes",
        "some patterns are near 0 at any speed, some near the diagonal even at 30 m/s",
        verdict,
        f"below {100 * STARVED:.0f} % of the expected: {len(everywhere)} patterns at all speeds, "
        f"{some} points in all; from {100 * GOOD:.0f} % on at {fastest:g} m/s: {near}",
    )


def _cause_claims(field: Field, remedies: Field) -> list[Claim]:
    found = []
    for name, case, sentence in (
        ("cached", "cached replies off", "stale routes come from replies out of caches"),
        ("arp", "no ARP", "ARP's queue of one packet drops packets or holds them"),
    ):
        gains = {}
        for v in remedies.speeds:
            own, other = remedies.runs.get((v, case), {}), field.runs[v, "base"]
            there = sorted(set(own) & set(other))
            if len(there) >= LEAST:
                gains[v] = Sample.of([own[p].kbps - other[p].kbps for p in there])
        if not gains:
            continue
        better = [v for v, gain in gains.items() if gain.mean > gain.half_width]
        verdict: Verdict = (
            "reproduced" if len(better) == len(gains) else "in part" if better else "not"
        )
        shown = ", ".join(
            f"{v:g} m/s {gain.mean:+.0f} ± {gain.half_width:.0f}" for v, gain in gains.items()
        )
        found.append(Claim(name, sentence, verdict, f"{case}: {shown} kbit/s"))
    return found


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    chains = chain(runs)
    main = runs.part()
    lasts_s = duration_s(main)
    means = {hops: sample.mean for hops, sample in chains.items()}
    field = collect(main, means, lasts_s)
    tables = [_speed_table(field), _pattern_table(field), _drop_table(field)]
    tables += [_fall_table(field), _chain_table(chains, published)]
    pictures = [_scatter(field), _over_speed(field)]
    others = runs.part("remedies")
    remedies = collect(others, means, lasts_s) if others else None
    if remedies is not None:
        tables.append(_remedies_table(field, remedies, remedies.speeds))
        pictures.append(_remedies_picture(field, remedies, remedies.speeds))
    beside = [
        Beside(
            f"{n} hops",
            kbps,
            published["chain"]["kbps"][n - 1],
            published["chain"]["ns2_kbps"][n - 1],
            CAUSES.get(n, ""),
        )
        for n, kbps in chains.items()
    ]
    values = {f"chain_{n}": kbps.mean for n, kbps in chains.items()}
    for v in field.speeds:
        values |= {
            f"{v:g}_base_share": field.share(v, "base"),
            f"{v:g}_elfn_share": field.share(v, "ELFN"),
            f"{v:g}_base_timeouts": fmean(o.timeouts for o in field.runs[v, "base"].values()),
        }
    return Findings(tables, pictures, _claims(field, remedies), beside, values)
