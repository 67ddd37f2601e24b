# SPDX-License-Identifier: Apache-2.0
"""Charts of runs: over time, as distributions of the samples, as bars of table `flows`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.model.errors import ScenarioError
from hoplab.model.records.schema import TABLES
from hoplab.show.paper.chart import Chart, Series, distribution
from hoplab.show.paper.form import Kind
from hoplab.show.report.overlay import overlaid

COLUMN = "goodput_kbps"
TIME = "time (s)"
SHARE = "share of samples"


def charts(runs: Mapping[str, Results], kind: Kind, wanted: Sequence[str]) -> list[Chart]:
    """Return the charts of ``runs`` by name. ``wanted`` are panels by name, as `panel_name` has
    it, or columns of table `flows` for bars; all panels, or the goodput, by default. Raises
    `ScenarioError` for others."""
    if kind == "bars":
        return [_bars(runs, column) for column in wanted or (COLUMN,)]
    panels = overlaid(runs, whole=kind == "cdf")["panels"]
    known = {panel_name(panel["title"]): panel for panel in panels}
    if not known:
        raise ScenarioError(f"{', '.join(runs)}: no flow was sampled over time; try --kind bars")
    for name in wanted:
        if name not in known:
            raise ScenarioError(
                f"--y: {name!r} is no panel of these runs; one of: {', '.join(known)}"
            )
    return [_panel(known[name], kind) for name in wanted or known]


def panel_name(title: str) -> str:
    """Return a panel's name on the command line: "round-trip-time"."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _panel(panel: dict[str, Any], kind: Kind) -> Chart:
    label = f"{panel['title']} ({panel['unit']})"
    if kind == "cdf":
        chart = Chart(label, SHARE, kind)
        for line in panel["lines"]:
            if not line.get("dashed"):
                x, y = distribution(line["y"])
                chart.series.append(Series(line["group"], x, y))
        return chart
    chart = Chart(TIME, label, kind)
    for line in panel["lines"]:
        dashed = bool(line.get("dashed"))
        name = line["label"] if dashed else line["group"]
        chart.series.append(Series(name, line["t"], line["y"], None, line["group"], dashed))
    return chart


def _bars(runs: Mapping[str, Results], column: str) -> Chart:
    """A bar for each flow, a colour for each run; a bar for each run if they have one flow."""
    label = number_column(TABLES["flows"].columns, column, "flows")
    rows = {name: run.rows("flows") for name, run in runs.items()}
    single = all(len(found) <= 1 for found in rows.values())
    chart = Chart("", label, "bars")
    if single:
        values = [row[column] for found in rows.values() for row in found]
        names = [name for name, found in rows.items() if found]
        chart.series.append(Series("", names, values))
        return chart
    for name, found in rows.items():
        flows = [str(row["flow"]) for row in found]
        chart.series.append(Series(name, flows, [row[column] for row in found]))
    return chart


def number_column(columns: Sequence[Any], name: str, where: str) -> str:
    """Return the label of a column of numbers. Raises `ScenarioError` if there is none."""
    numbers = {column.name: column for column in columns if column.type in ("integer", "float")}
    if name not in numbers:
        raise ScenarioError(
            f"--y: {name!r} is no column of numbers of {where}; one of: {', '.join(numbers)}"
        )
    return labelled(name, numbers[name].unit)


def labelled(name: str, unit: str) -> str:
    """Return a column's name in words, with its unit."""
    words = name
    for end in ("_kbps", "_bytes", "_per_s", "_ms", "_s", "_j", "_m"):
        words = words.removesuffix(end)
    for inside in ("_ms_", "_s_", "_dbm_"):
        words = words.replace(inside, "_")
    words = words.replace("_", " ")
    return f"{words} ({unit})" if unit else words
