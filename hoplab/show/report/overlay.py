# SPDX-License-Identifier: Apache-2.0
"""One page with several runs over each other: what `hoplab plot` writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.show.report import units
from hoplab.show.report.data import figures
from hoplab.show.report.figures import library, over_time
from hoplab.show.report.page import FOLD, environment


def write(runs: Mapping[str, Results], path: Path) -> None:
    """Write the page of ``runs``. Each key is a run's name, which its lines bear. Raises
    `ResultsError`."""
    flows = [{"run": name, **flow} for name, run in runs.items() for flow in run.rows("flows")]
    page = environment().get_template("overlay.html.j2")
    text = page.render(
        runs=runs,
        flows=flows,
        rate=units.of_rates(flow["goodput_kbps"] for flow in flows),
        fold=FOLD,
        plotly=library(),
        over_time=over_time(overlaid(runs)),
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror}; name another") from None


def overlaid(runs: Mapping[str, Results], whole: bool = False) -> dict[str, Any]:
    """Return the data of `figures` for all runs together: a panel has every run's lines. They bear
    the names of several runs, or of one run's several flows. Changes of the network are marked if
    they are equal in all runs."""
    drawn = {name: figures(run, whole) for name, run in runs.items()}
    panels: dict[str, dict[str, Any]] = {}
    for name, data in drawn.items():
        for panel in data["panels"]:
            together = panels.setdefault(panel["title"], {**panel, "lines": []})
            alone = len({line["group"] for line in panel["lines"]}) == 1
            prefix = "" if len(runs) == 1 else f"{name}: "
            for line in panel["lines"]:
                group = name if alone else f"{prefix}{line['group']}"
                member = name if alone else f"{prefix}{line['name']}"
                together["lines"].append({**line, "name": member, "group": group})
    first, *others = (data["marks"] for data in drawn.values())
    return {
        "panels": list(panels.values()),
        "marks": first if all(marks == first for marks in others) else [],
        "duration_s": max(data["duration_s"] for data in drawn.values()),
    }
