# SPDX-License-Identifier: Apache-2.0
"""OUT/index.html: a sweep's key figures, plots over its parameters, its table, links to its runs.

A link leads to ``runs/KEY/report.html`` beside the page. That report exists if the sweep kept its
runs' folders. Otherwise `hoplab store serve` makes it when the link is followed, and
`hoplab store report` on command. A run is made again within seconds, so a million runs need no
folders.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hoplab.host.machine.sealed import SHORT
from hoplab.many.sweep.points import Sweep
from hoplab.many.sweep.summary import MOST_LINKS, Combined, Summary, told
from hoplab.model.errors import ResultsError
from hoplab.show.report.figures import library
from hoplab.show.report.multiples import MOST_PANELS, Group, small_multiples
from hoplab.show.report.page import cards_in_row, environment, number_text

RUNS = "runs"
MOST_ROWS = 2000
FOLD = 20
MOST_LINKS_A_ROW = 50


def write(folder: Path, sweep: Sweep, summary: Summary, facts: dict[str, Any]) -> Path:
    """Write the page. ``facts`` are what the command knows beside the results."""
    path = folder / "index.html"
    partial = folder / ".index.html.partial"
    try:
        partial.write_text(_page(folder, sweep, summary, facts), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ResultsError(
            f"{path}: cannot be written: {error.strerror}; make room there, or name another folder "
            "with --out: the runs are in the store"
        ) from None
    return path


def _page(folder: Path, sweep: Sweep, summary: Summary, facts: dict[str, Any]) -> str:
    metrics = summary.metrics()
    rows = list(summary.rows())
    flows = list(dict.fromkeys(flow for _, flow, _ in rows))
    names = [*sweep.parameters, *(["flow"] if len(flows) > 1 else [])]
    groups = [
        Group((*group.parameters.values(), *([flow] if len(flows) > 1 else [])), samples)
        for group, flow, samples in rows
    ]
    figure = small_multiples(names, groups, metrics)
    cards = _cards(summary, facts)
    return (
        environment(Path(__file__).parent)
        .get_template("sweep.html.j2")
        .render(
            title=sweep.name,
            facts=facts,
            cards=cards,
            cards_in_row=cards_in_row(len(cards)),
            plotly=library() if figure else Markup(),
            figure=figure,
            most_panels=MOST_PANELS,
            names=names,
            metrics=metrics,
            rows=[
                _row(folder, group, flow, samples, names)
                for group, flow, samples in rows[:MOST_ROWS]
            ],
            rows_left_out=max(0, len(rows) - MOST_ROWS),
            ruled=sweep.rule is not None,
            rule=sweep.file.stop_when,
            fold=FOLD,
            failures=summary.failures,
            failed=summary.failed,
            warnings=summary.warnings(),
            left_out=summary.left_out,
            linked=summary.done <= MOST_LINKS,
            most_links=MOST_LINKS,
            runs=RUNS,
            short=SHORT,
            source=facts.get("text", ""),
        )
    )


def _row(
    folder: Path, group: Combined, flow: str, samples: dict[str, Any], names: list[str]
) -> dict[str, Any]:
    values = [group.parameters.get(name) for name in names]
    if len(names) > len(group.parameters):
        values[-1] = flow
    links = [
        {"seed": seed, "key": key[:SHORT], "kept": (folder / RUNS / key[:SHORT]).is_dir()}
        for seed, key in sorted(group.runs.items())[:MOST_LINKS_A_ROW]
    ]
    return {
        "values": ["" if value is None else value for value in values],
        "samples": {name: _spaced(told(sample)) for name, sample in samples.items()},
        "runs": group.done,
        "failed": group.failed,
        "enough": group.enough,
        "links": links,
    }


def _spaced(texts: list[str]) -> list[str]:
    return [text.replace(",", "\u202f").replace("-", "\u2212") for text in texts]


def _cards(summary: Summary, facts: dict[str, Any]) -> list[dict[str, str]]:
    made = summary.done - summary.from_store
    cards = [
        ("Runs", number_text(summary.done), "", _of(facts.get("total"), summary.done)),
        ("Made now", number_text(made), "", f"{summary.from_store} were in the store"),
        ("Failed", number_text(summary.failed), "", ""),
        ("Wall time", number_text(facts["wall_s"]), "s", _rate(made, facts["wall_s"])),
    ]
    return [dict(zip(("label", "value", "unit", "note"), card, strict=True)) for card in cards]


def _of(total: int | None, done: int) -> str:
    return "" if total is None or total <= done else f"of {total}: the sweep was stopped"


def _rate(made: int, wall_s: float) -> str:
    return f"{made / wall_s:.2f} runs a second" if made and wall_s else ""
