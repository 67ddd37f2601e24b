# SPDX-License-Identifier: Apache-2.0
"""The differences of two runs: in scenario, machine and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.host.machine import compare as machines
from hoplab.host.machine.sealed import SHORT
from hoplab.host.results import digests
from hoplab.host.results.manifest import DIGESTS_BY_COLUMNS, Manifest
from hoplab.host.results.reader import Results

TABLES, ALTERED = "tables", "altered"
FIGURES = (
    *("goodput_kbps", "delivered_bytes", "retransmits", "timeouts", "rtt_ms_mean"),
    *("sent", "received", "lost", "latency_ms_mean"),
    *("latency_ms_p50", "latency_ms_p95", "latency_ms_p99", "jitter_ms"),
    *("rtt_ms_min", "rtt_ms_max", "rate_per_s", "first_octet_s"),
)
"""Columns of ``flows`` to compare."""


@dataclass(frozen=True)
class Difference:
    """A difference. ``what`` is a key of the scenario, a part of the machine, a table or
    ``flow column``. A value is None if a run lacks it. About ``altered``, it is what happened to
    the table after its run."""

    about: str
    what: str
    first: Any
    second: Any

    @property
    def change(self) -> float | None:
        """Change of the second relative to the first, for figures."""
        numbers = isinstance(self.first, int | float) and isinstance(self.second, int | float)
        if self.about != "results" or not numbers or not self.first:
            return None
        return float(self.second) / float(self.first) - 1


def runs(first: Results, second: Results) -> Iterator[Difference]:
    """Yield differences in the scenario, the machine and the results, in this order."""
    yield from scenarios("", first.scenario, second.scenario)
    yield from _machines(first.manifest, second.manifest)
    yield from _flows(first, second)
    yield from _tables(first, second)


def of_tables(found: Iterable[Difference]) -> bool:
    """Return whether tables differ, or one is no longer that of its run."""
    return any(one.about in (TABLES, ALTERED) for one in found)


def scenarios(key: str, first: Any, second: Any) -> Iterator[Difference]:
    """Yield the keys that differ, down to the innermost."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name in (*first, *(name for name in second if name not in first)):
            where = f"{key}.{name}" if key else str(name)
            yield from scenarios(where, first.get(name), second.get(name))
    elif isinstance(first, list) and isinstance(second, list) and _of_tables(first + second):
        for index in range(max(len(first), len(second))):
            entries = (rows[index] if index < len(rows) else None for rows in (first, second))
            yield from scenarios(f"{key}.{index}", *entries)
    elif first != second:
        yield Difference("scenario", key, first, second)


def _of_tables(values: list[Any]) -> bool:
    return any(isinstance(value, dict) for value in values)


def _machines(first: Manifest, second: Manifest) -> Iterator[Difference]:
    for name in ("machine", "hoplab_version", "kernel"):
        ones, others = getattr(first, name), getattr(second, name)
        if ones != others:
            yield Difference("machine", name, ones, others)
    lists = [manifest.packages or [] for manifest in (first, second)]
    for name, one, other in machines.of_packages(*lists):
        yield Difference("machine", name, one, other)
    hashes = [manifest.machine_parts or {} for manifest in (first, second)]
    for name, one, other in machines.of_parts(*hashes):
        yield Difference("machine", name, one, other)


def _flows(first: Results, second: Results) -> Iterator[Difference]:
    ones, others = ({row["flow"]: row for row in run.rows("flows")} for run in (first, second))
    for flow in (*ones, *(flow for flow in others if flow not in ones)):
        one, other = ones.get(flow, {}), others.get(flow, {})
        for column in FIGURES:
            if one.get(column) != other.get(column):
                yield Difference("results", f"{flow} {column}", one.get(column), other.get(column))


def _tables(first: Results, second: Results) -> Iterator[Difference]:
    """Yield tables whose values differ, by the digests of what is in their files now."""
    runs = first, second
    ones, others = (digests.on_disk(run.run_dir, run.manifest) for run in runs)
    for name in (*ones, *(name for name in others if name not in ones)):
        one, other = ones.get(name), others.get(name)
        if one != other:
            yield Difference(TABLES, name, _short(one), _short(other))
    then, since = (
        {} if run.manifest.version < DIGESTS_BY_COLUMNS else digests.altered(run.manifest, found)
        for run, found in zip(runs, (ones, others), strict=True)
    )
    for name in (*then, *(name for name in since if name not in then)):
        yield Difference(ALTERED, name, then.get(name), since.get(name))


def _short(digest: str | None) -> str | None:
    return digest if digest is None or digest in digests.REASONS else digest[:SHORT]
