# SPDX-License-Identifier: Apache-2.0
"""A run of `protocol = "rrul"` as a data file of flent, for its plots (format 4, flent 2)."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.resolve.rrul import LEAD_S, STEP_S, names

VERSION = 4
SUFFIX = "flent.gz"
DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""Of time 0: a run has none, and the file is the same twice."""
COMPUTED = (
    ("TCP upload avg", "TCP upload", fmean),
    ("TCP upload sum", "TCP upload", sum),
    ("TCP download avg", "TCP download", fmean),
    ("TCP download sum", "TCP download", sum),
    ("TCP totals", "TCP", sum),
    ("Ping (ms) avg", "Ping", fmean),
)
Values = list[tuple[float, float]]


def document(run: Results, name: str | None) -> dict[str, Any]:
    """Return the test of this name, or the only one. Raises `ResultsError` if there is none."""
    there = {flow.name: flow for flow in run.resolved.flow}
    tests = sorted(one.removesuffix("-ping-icmp") for one in there if one.endswith("-ping-icmp"))
    if name is None and len(tests) == 1:
        (name,) = tests
    if name not in tests:
        raise ResultsError(
            f"--flow: {name or 'not given'}; one of: "
            f"{', '.join(tests) or 'none, the run has no rrul'}"
        )
    echo = there[f"{name}-ping-icmp"]
    begin_s, end_s = echo.start_s, echo.stop_s
    known = names(name)
    raw: dict[str, Values] = {series: [] for series in known.values()}
    _echoes(run, known, raw)
    _transfers(run, known, raw)
    steps = round((end_s - begin_s) / STEP_S)
    times = [round(step * STEP_S, 6) for step in range(steps + 1)]
    results = {series: _at(values, begin_s, times) for series, values in raw.items()}
    own = list(results)
    for series, prefix, of in COMPUTED:
        columns = [results[one] for one in own if one.startswith(prefix)]
        parts = [[v for v in row if v is not None] for row in zip(*columns, strict=True)]
        results[series] = [of(row) if row else None for row in parts]
    return {
        "version": VERSION,
        "metadata": _metadata(run, echo.destination, begin_s, end_s),
        "x_values": times,
        "results": results,
        "raw_values": {
            series: [{"t": DATE.timestamp() + t_s, "val": value} for t_s, value in values]
            for series, values in raw.items()
        },
    }


def packed(run: Results, name: str | None) -> bytes:
    """Return the data file's content."""
    text = json.dumps(document(run, name), sort_keys=True)
    return gzip.compress(text.encode(), mtime=0)


def _echoes(run: Results, known: dict[str, str], raw: dict[str, Values]) -> None:
    for row in run.rows("exchanges"):
        series = known.get(row["flow"])
        if series is not None and row["rtt_ms"] is not None:
            raw[series].append((row["sent_s"], row["rtt_ms"]))


def _transfers(run: Results, known: dict[str, str], raw: dict[str, Values]) -> None:
    """Rates between two samples, Mbit/s, at the later one."""
    samples: dict[str, Values] = {}
    for row in run.rows("tcp"):
        if row["flow"] in known:
            samples.setdefault(row["flow"], []).append((row["t_s"], row["delivered_bytes"]))
    for flow, values in samples.items():
        for (before_s, before), (t_s, now) in pairwise(values):
            raw[known[flow]].append((t_s, 8e-6 * (now - before) / (t_s - before_s)))


def _at(values: Values, begin_s: float, times: list[float]) -> list[float | None]:
    """Return the mean of the values of each step, which ends at its time."""
    found: list[list[float]] = [[] for _ in times]
    for t_s, value in values:
        step = round((t_s - begin_s) / STEP_S)
        if 0 <= step < len(found):
            found[step].append(value)
    return [fmean(each) if each else None for each in found]


def _metadata(run: Results, host: str, begin_s: float, end_s: float) -> dict[str, Any]:
    begin = DATE + timedelta(seconds=begin_s)
    title = run.resolved.title or ""
    return {
        "NAME": "rrul",
        "TITLE": title,
        "HOST": host,
        "HOSTS": [host],
        "LOCAL_HOST": "hoplab",
        "NOTE": "virtual time; echoes of ICMP with the marks of the UDP series",
        "TIME": begin.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "T0": begin.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "LENGTH": end_s - begin_s - 2 * LEAD_S,
        "TOTAL_LENGTH": end_s - begin_s,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {},
        "FLENT_VERSION": "2.0.0",
        "DATA_FILENAME": f"rrul.{SUFFIX}",
        "SERIES_META": {},
    }
