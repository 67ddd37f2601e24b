# SPDX-License-Identifier: Apache-2.0
"""The study's figures."""

from __future__ import annotations

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import plot
from hoplab.many.study.findings import Picture
from hoplab.many.study.swept import Run, Runs

from . import sessions

NONE = "none"
DISTANCES = {
    1: ("#1f5fa8", "o"),
    2: ("#d95f02", "o"),
    3: ("#5b8c2a", "o"),
    4: ("#7a4fa3", "s"),
    5: ("#c0182b", "s"),
}
LONG, SHORT = ("#1f5fa8", "o"), ("#d95f02", "s")
LASTS_S = 48
"""The run with a link that fails."""
MOST_KBPS = 2500.0
"""Of ten sessions between moving stations."""
PLAIN = ("#9aa5b1", "s")


def crossing(chains: Runs, crossings: Runs) -> Picture:
    """What proxies gain on a chain, and what they do to two sessions that cross."""
    hops = [int(str(h)) for (h,) in chains.groups("hops")]
    gain = plot.Panel(
        "a chain: goodput over plain TCP's, a proxy every …",
        (min(hops) - 0.5, max(hops) + 0.5),
        (0.85, 1.15),
    )
    gain.x_label, gain.y_label = "hops", "goodput, ratio"
    for number, (distance, style) in enumerate(DISTANCES.items()):
        points: list[tuple[float, Sample]] = []
        for h in hops:
            own = chains.where(hops=h)
            pairs = sessions.within(own, NONE, distance, "every", sessions.total_kbps)
            if pairs:
                points.append((h + 0.08 * (number - 2), sessions.ratio(pairs)))
        if points:
            errors = [sample.half_width for _, sample in points]
            means = [(x, sample.mean) for x, sample in points]
            gain.add(f"every {distance}", means, "-", errors, style)
    gain.add("plain", [(0.0, 1.0), (20.0, 1.0)], "--", style=("#111111", ","))
    splits = [str(split) for (split,) in crossings.groups("split")]
    ticks = {float(i): split.replace(", ", ",\n") for i, split in enumerate(splits)}
    both = plot.Panel(
        "two sessions that cross, of six and two hops",
        (-0.5, len(splits) - 0.5),
        (0, 450),
        ticks=ticks,
    )
    both.y_label = "kbit/s"
    for kind, style, shift in (("long", LONG, -0.08), ("short", SHORT, 0.08)):
        read = sessions.rate_of(kind)
        rates = [crossings.where(split=split).sample(read) for split in splits]
        points_of = [(i + shift, rate.mean) for i, rate in enumerate(rates)]
        errors = [rate.half_width for rate in rates]
        both.add(kind, points_of, "", errors, style)
    return Picture("gain", plot.svg([gain, both], "", "", "What proxies gain, and for whom"))


def seconds(crossings: Runs) -> Picture:
    """Both sessions second by second, without proxies and with one every three hops."""
    panels = []
    for split in (NONE, "long, every 3"):
        run = crossings.where(split=split)[0]
        rates = sessions.by_second(run)
        last = max(len(own) for own in rates.values())
        panel = plot.Panel(f"proxies: {split}", (0, last), (0, 1200), y_label="kbit/s")
        for kind, style in (("long", LONG), ("short", SHORT)):
            points = [(i + 1.0, kbps) for i, kbps in enumerate(rates[kind])]
            panel.add(f"{kind} session", points, "-", style=style)
        panels.append(panel)
    return Picture("seconds", plot.svg(panels, "s", "", "Crossing sessions, second by second"))


def failing(runs: Runs, node: str) -> Picture:
    """What arrives, and what the proxy before the link holds, as the link fails."""
    arrived = plot.Panel("delivered", (0, LASTS_S), (0, 1600), y_label="kB")
    for every, style in ((NONE, PLAIN), (2, LONG)):
        run = runs.where(link="failing", every=every)[0]
        points = [(row["t_s"], row["delivered_bytes"] / 1000) for row in run.rows("tcp")]
        kind = "plain" if every == NONE else "a proxy every 2"
        arrived.add(kind, points, "-", style=style)
    held = plot.Panel(f"held by the proxy before the link, {node}", (0, LASTS_S), (0, 70))
    held.y_label = "segments"
    run = runs.where(link="failing", every=2)[0]
    held.add("a proxy every 2", _held(run, node), "-", style=LONG)
    for panel, top in ((arrived, 1600.0), (held, 70.0)):
        for end in range(sessions.PERIOD_S, LASTS_S + 1, sessions.PERIOD_S):
            edges = [(end - 2.0, 0.0), (end - 2.0, top), (float(end), top), (float(end), 0.0)]
            panel.add("link broken", edges, ":", style=("#c0182b", ","))
    return Picture("failing", plot.svg([arrived, held], "s", "", "A link that fails"))


def _held(run: Run, node: str) -> list[tuple[float, float]]:
    rows = [r for r in run.rows("split") if r["node"] == node and r["role"] == "proxy"]
    return [(row["t_s"], float(row["buffered"])) for row in rows]


def mobile(runs: Runs) -> Picture:
    """A point a pattern: with proxies over without."""
    total = plot.Panel("sum of ten sessions, kbit/s", (0, MOST_KBPS), (0, MOST_KBPS))
    unfair = plot.Panel("unfairness, 1 - Jain's index, rescaled", (0, 1), (0, 1))
    for panel, top in ((total, MOST_KBPS), (unfair, 1.0)):
        panel.add("equal", [(0.0, 0.0), (top, top)], "--", style=("#9aa5b1", ","))
    for every in (e for (e,) in runs.groups("every") if isinstance(e, int)):
        style = DISTANCES[every]
        rates = sessions.within(runs, NONE, every, "every", sessions.total_kbps)
        shares = sessions.within(
            runs,
            NONE,
            every,
            "every",
            lambda run: sessions.unfairness(list(sessions.goodputs(run).values())),
        )
        total.add(f"a proxy every {every}", rates, style=style)
        unfair.add(f"a proxy every {every}", shares, style=style)
    svg = plot.svg([total, unfair], "plain TCP", "with proxies", "Fifty moving stations")
    return Picture("mobile", svg)
