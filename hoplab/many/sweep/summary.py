# SPDX-License-Identifier: Apache-2.0
"""Results of a sweep: for each combination and flow, means over the seeds with their intervals.

The summary is updated as runs end. It grows with the combinations, of which it keeps the first
`MOST_GROUPS`. The Parquet dataset has all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hoplab.host.statistics.samples import Sample
from hoplab.many.sweep.engine import Done
from hoplab.many.sweep.points import Sweep
from hoplab.model.keys import variants
from hoplab.show.report.multiples import Metric

METRICS = (
    Metric("goodput_kbps", "Goodput", "kbit/s"),
    Metric("retransmits", "Retransmits", "segments"),
    Metric("timeouts", "Timeouts"),
    Metric("rtt_ms_mean", "Mean RTT", "ms"),
    Metric("rtt_ms_max", "Highest RTT", "ms"),
    Metric("rate_per_s", "Transactions", "1/s"),
    Metric("lost", "Lost", "packets"),
    Metric("latency_ms_mean", "Mean delay", "ms"),
    Metric("latency_ms_p95", "95 % delay", "ms"),
    Metric("jitter_ms", "Jitter", "ms"),
    Metric("energy_j", "Energy, all radios", "J"),
)
ENERGY = tuple(f"energy_{state}_j" for state in ("tx", "rx", "idle", "sleep"))
MOST_GROUPS = 20_000
MOST_FAILURES = 1000
MOST_LINKS = 2000


class Moments:
    """Mean and deviation of values that arrive one by one (Welford 1962)."""

    __slots__ = ("mean", "n", "squares")

    def __init__(self) -> None:
        self.n, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, value: float) -> None:
        self.n += 1
        off = value - self.mean
        self.mean += off / self.n
        self.squares += off * (value - self.mean)

    @property
    def sample(self) -> Sample:
        if self.n < 2:
            return Sample(self.mean, 0.0, self.n)
        return Sample(self.mean, math.sqrt(self.squares / (self.n - 1) / self.n), self.n)


@dataclass
class Combined:
    """A combination: its flows' metrics, its runs by seed, and the number of failed runs. A run has
    a key, and says whether its folder is kept. It also says whether a rule found its seeds enough
    (None without a rule)."""

    parameters: Mapping[str, Any]
    flows: dict[str, dict[str, Moments]] = field(default_factory=dict)
    runs: dict[int, str] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    enough: bool | None = None


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    label: str
    key: str
    error: str


def energy_j(done: Done) -> float | None:
    """Return the energy that all radios of a run used; None without a radio."""
    rows = done.rows("radios")
    values = [row[name] for row in rows for name in ENERGY if row[name] is not None]
    return math.fsum(values) if values else None


class Summary:
    """Takes runs as they end."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._order = _order(sweep)
        self._groups: dict[tuple[Any, ...], Combined] = {}
        self.failures: list[Failure] = []
        self._sack: dict[tuple[str | None, int | None], None] = {}
        """Variants of the flows, with their SACK."""
        self.done = self.from_store = self.failed = self.links = 0
        self.left_out = 0

    def add(self, done: Done) -> None:
        """Add a run that has ended."""
        self.done += 1
        self.from_store += done.from_store
        key = tuple(done.point.parameters.values())
        group = self._groups.get(key)
        if group is None and len(self._groups) < MOST_GROUPS:
            group = self._groups[key] = Combined(done.point.parameters)
        if done.error is not None:
            self.failed += 1
            if len(self.failures) < MOST_FAILURES:
                self.failures.append(Failure(done.point.label, done.key, done.error))
        if group is None:
            self.left_out += 1
            return
        group.done += 1
        if self.links < MOST_LINKS:
            self.links += 1
            group.runs[done.point.seed] = done.key
        if done.error is not None:
            group.failed += 1
            return
        spent_j = energy_j(done)
        for row in done.rows("flows"):
            self._sack[row.get("congestion_control"), row.get("sack")] = None
            flow = group.flows.setdefault(str(row["flow"]), {})
            for metric in METRICS:
                value = spent_j if metric.name == "energy_j" else row[metric.name]
                if value is not None:
                    flow.setdefault(metric.name, Moments()).add(float(value))

    def warnings(self) -> list[str]:
        """Return what to know before comparing the combinations."""
        differ = variants.difference(self._sack)
        return [] if differ is None else [differ]

    def combinations(self) -> list[Combined]:
        """Return the combinations in the order of the axes."""
        rule = self._sweep.rule
        for group in self._groups.values():
            if rule is not None:
                flows = [m for f, m in group.flows.items() if rule.flow in (None, f)]
                samples = [m[rule.column].sample for m in flows if rule.column in m]
                group.enough = bool(samples) and all(map(rule.narrow, samples))
        return [self._groups[key] for key in sorted(self._groups, key=self._order)]

    def metrics(self) -> list[Metric]:
        """Return the metrics that have a value."""
        found = {name for g in self._groups.values() for flow in g.flows.values() for name in flow}
        return [metric for metric in METRICS if metric.name in found]

    def rows(self) -> Iterator[tuple[Combined, str, dict[str, Sample]]]:
        """Yield a row for each combination and flow."""
        for group in self.combinations():
            for flow, metrics in group.flows.items():
                yield group, flow, {name: moments.sample for name, moments in metrics.items()}

    def as_json(self) -> list[dict[str, Any]]:
        """Return the combinations, for programs."""
        return [
            {
                "parameters": dict(group.parameters),
                "runs": group.done,
                "failed": group.failed,
                **({} if group.enough is None else {"enough": group.enough}),
                "flows": {
                    flow: {name: _sample(moments.sample) for name, moments in metrics.items()}
                    for flow, metrics in group.flows.items()
                },
            }
            for group in self.combinations()
        ]


def _sample(sample: Sample) -> dict[str, Any]:
    return {"mean": sample.mean, "half_width": sample.half_width, "n": sample.n}


def told(sample: Sample) -> list[str]:
    """Return a mean, and the half-width of its interval with two significant digits."""
    if sample.n < 2:
        return [f"{sample.mean:,.1f}"]
    half = sample.half_width
    digits = 1 if half == 0 else min(4, max(0, 1 - math.floor(math.log10(half))))
    return [f"{sample.mean:,.{digits}f}", f"{half:,.{digits}f}"]


def _order(sweep: Sweep) -> Any:
    """Return a key that sorts combinations' values in the order of the sweep's axes."""
    places: list[dict[str, int]] = []
    for name in sweep.parameters:
        labels = sweep.values(name)
        places.append({repr(label): i for i, label in enumerate(labels)})

    def place(values: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(
            order.get(repr(value), len(order)) for order, value in zip(places, values, strict=True)
        )

    return place
