# SPDX-License-Identifier: Apache-2.0
"""What the sessions of a run got, how unfair that is, and who held the channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from hoplab.host.statistics.samples import Sample, jain
from hoplab.many.study.swept import Run, Runs

CAPTURED = 0.9
"""Share of a second's octets from which on others have the channel for themselves."""
PERIOD_S = 8
"""`scenario-failing.toml`: its link is broken for the last two seconds of each."""


def goodputs(run: Run) -> dict[str, float]:
    """kbit/s by session; one that never came about has 0."""
    return {row["flow"]: float(row["goodput_kbps"] or 0.0) for row in run.rows("flows")}


def rate_of(name: str) -> Callable[[Run], float]:
    """Reads a session's kbit/s."""
    return lambda run: goodputs(run)[name]


def total_kbps(run: Run) -> float:
    return sum(goodputs(run).values())


def gap(rates: Sequence[float]) -> float:
    """|T1 - T2| / max(T1, T2), the mean over all pairs of sessions; 0 where neither has any."""
    gaps = [abs(a - b) / max(a, b) if max(a, b) else 0.0 for a, b in combinations(rates, 2)]
    return sum(gaps) / len(gaps)


def unfairness(rates: Sequence[float]) -> float:
    """1 less Jain's index, scaled so that 1 is one session that has all."""
    return (1 - jain(rates)) * len(rates) / (len(rates) - 1)


def by_second(run: Run) -> dict[str, list[float]]:
    """kbit/s of each session in each second, from the samples of its receiver."""
    found: dict[str, list[float]] = {}
    before: dict[str, int] = {}
    for row in run.rows("tcp"):
        name, octets = row["flow"], int(row["delivered_bytes"])
        found.setdefault(name, []).append(8e-3 * (octets - before.get(name, 0)))
        before[name] = octets
    return found


def starved(name: str) -> Callable[[Run], float]:
    """Reads the share of the seconds in which others have nearly all that arrives, not ``name``."""

    def share(run: Run) -> float:
        rates = by_second(run)
        seconds = list(zip(rates[name], map(sum, zip(*rates.values(), strict=False)), strict=False))
        served = [(own, whole) for own, whole in seconds if whole]
        return sum(own <= (1 - CAPTURED) * whole for own, whole in served) / len(served)

    return share


def within(
    runs: Runs, plain: str, split: object, axis: str, read: Callable[[Run], float]
) -> list[tuple[float, float]]:
    """What ``read`` gives without and with proxies, seed by seed."""
    before: Mapping[int, Run] = {run.seed: run for run in runs.where(**{axis: plain})}
    after = runs.where(**{axis: split})
    return [(read(before[run.seed]), read(run)) for run in after if run.seed in before]


def ratio(pairs: Sequence[tuple[float, float]]) -> Sample:
    return Sample.of([after / before for before, after in pairs])


def change(pairs: Sequence[tuple[float, float]]) -> Sample:
    return Sample.of([after - before for before, after in pairs])


def held_by(node: str) -> Callable[[Run], float]:
    """Reads most segments that the proxy ``node`` held in each of the link's periods, the mean."""

    def held(run: Run) -> float:
        most: dict[int, int] = {}
        for row in run.rows("split"):
            if row["node"] == node and row["role"] == "proxy":
                period = int(row["t_s"] // PERIOD_S)
                most[period] = max(most.get(period, 0), row["buffered"])
        return sum(most.values()) / len(most) if most else 0.0

    return held
