# SPDX-License-Identifier: Apache-2.0
"""What tools answer about runs: values for a model to read, never more than fit."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.host.runs import compare
from hoplab.many.sweep.conditions import Condition
from hoplab.model.errors import ScenarioError
from hoplab.model.records.schema import TABLES

Answer = dict[str, Any]
FATES = ("collided", "weak", "capture_lost", "error_model", "deaf", "off")
WORST = 10
"""Links, radios and kinds of events to tell."""
MOST_DIFFERENCES = 200
LOSSY = 0.02
"""Smallest share of a link's frames that a fate is reported with."""


def explained(run: Results) -> Answer:
    """Return what a run's tables tell about its goodput: warnings, flows, what became of frames,
    what was dropped and by whom."""
    return {
        "digest": run.manifest.digest,
        "status": run.manifest.verdict.status,
        "error": run.manifest.verdict.error,
        "warnings": run.manifest.verdict.warnings,
        "flows": [_told(row) for row in run.rows("flows")],
        "links_that_lose_frames": _links(run),
        "radios": _radios(run),
        "events": _events(run),
        "routing": _routing(run),
        "queues_full": _queues(run),
    }


def _links(run: Results) -> list[Answer]:
    found = []
    for row in run.rows("links"):
        shares = {fate: row[fate] / row["frames"] for fate in FATES if row["frames"]}
        lost = {fate: round(share, 3) for fate, share in shares.items() if share >= LOSSY}
        if lost:
            found.append({"src": row["src"], "dst": row["dst"], "frames": row["frames"], **lost})
    return sorted(found, key=lambda link: -link["frames"])[:WORST]


def _radios(run: Results) -> list[Answer]:
    names = ("node", "tx_frames", "retries", "retry_limit", "queue_full", "busy_s")
    rows = [{name: row[name] for name in names} for row in run.rows("radios")]
    return sorted(rows, key=lambda row: -row["tx_frames"])[:WORST]


def _events(run: Results) -> list[Answer]:
    table = run.table("events")
    counts = Counter(zip(*(table[name].to_pylist() for name in EVENT), strict=True))
    told = [dict(zip(EVENT, key, strict=True)) | {"count": n} for key, n in counts.most_common()]
    return told[: 3 * WORST]


EVENT = ("source", "kind", "node")


def _routing(run: Results) -> dict[str, float]:
    totals: Counter[str] = Counter()
    for row in run.rows("routing"):
        totals[row["counter"]] += row["value"] or 0
    return {name: value for name, value in totals.items() if value}


def _queues(run: Results) -> list[Answer]:
    """Return the wired interfaces that dropped, with their last counter."""
    last = {(row["node"], row.get("interface")): row for row in run.rows("queues")}
    return [_told(row) for row in last.values() if row.get("dropped")][:WORST]


def rows(run: Results, table: str, columns: list[str], where: str | None, most: int) -> Answer:
    """Return rows of a table that fit a condition, and how many more there are."""
    if table not in TABLES:
        raise ScenarioError(f"{table[:64]!r}: is no table; one of: {', '.join(TABLES)}")
    found = run.table(table)
    for name in columns:
        if name not in found.column_names:
            known = ", ".join(found.column_names)
            raise ScenarioError(f"columns: no column {name[:64]!r}; one of: {known}")
    condition = None if where is None else Condition(where, found.column_names, "where")
    fitting = (
        row
        for batch in found.to_batches()
        for row in batch.to_pylist()
        if condition is None or condition.holds(row)
    )
    shown = [_told({name: row[name] for name in columns or row}) for row in islice(fitting, most)]
    return {"rows": shown, "more": sum(1 for _ in fitting)}


def listed(run: Results) -> Answer:
    """Return the tables that have rows, with their number."""
    counts = {name: run.table(name).num_rows for name in TABLES}
    return {name: count for name, count in counts.items() if count}


def compared(first: Results, second: Results) -> Answer:
    """Return what two runs differ in, as ``hoplab diff`` has it."""
    found = list(compare.runs(first, second))
    told = [vars(one) | {"change": one.change} for one in found[:MOST_DIFFERENCES]]
    return {"equal": not found, "differences": told, "more": len(found) - len(told)}


def _told(row: Answer) -> Answer:
    """Return a row without what JSON has no form for."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
        if not isinstance(value, bytes)
    }
