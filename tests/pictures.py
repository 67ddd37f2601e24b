# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.pictures [NAME…]``: draws the pictures of docs/examples, all by default.

Each example runs as it is and with one setting changed, under seed 1; its picture has one panel of
the report from both runs.
"""

from __future__ import annotations

import math
import sys
import tempfile
import textwrap
from itertools import accumulate
from pathlib import Path
from typing import Any

import hoplab
from hoplab.many.study import plot
from hoplab.model.resources import PROJECT
from hoplab.show.report import data
from tests.emulation.test_examples import EXAMPLES, FOUND, page_times_s

FIGURES = PROJECT / "docs" / "figures" / "examples"
GOODPUT, RTT, PAGES = "Goodput", "Round-trip time", "Pages"
ECHOES = "Echoes and transactions"
PANELS = {
    **dict.fromkeys(("window", "red", "home"), RTT),
    "bufferbloat": ECHOES,
    "page": PAGES,
    "quic": PAGES,
}
"""What an example's picture shows, where that is not goodput."""
SHORT = {"home"}
"""Those that are over in a second are sampled every 10 ms."""
COLOURS = plot.FURTHER
MOST_POINTS = 100
HEADING_LETTERS = 48
Lines = dict[str, list[tuple[float, float]]]


def _lines(run: hoplab.Run, title: str) -> tuple[str, Lines]:
    """The unit and the lines of a panel of a run's report, or how many pages a browser has."""
    if title == PAGES:
        times = list(accumulate(page_times_s(run), initial=0.0))
        return "pages", {"browser": [(t, float(i)) for i, t in enumerate(times)]}
    for panel in data.figures(run)["panels"]:
        if panel["title"] == title:
            return panel["unit"], {
                line["label"] or line["name"]: _points(line) for line in panel["lines"]
            }
    raise SystemExit(f"{run.run_dir}: its report has no panel {title!r}")


def _points(line: dict[str, Any]) -> list[tuple[float, float]]:
    step = max(1, len(line["t"]) // MOST_POINTS)
    values = [math.nan if y is None else y for y in line["y"]]
    return list(zip(line["t"], values, strict=True))[::step]


def picture(name: str) -> str:
    """The SVG of an example."""
    title = PANELS.get(name, GOODPUT)
    found: list[tuple[str, Lines]] = []
    with tempfile.TemporaryDirectory() as folder:
        for i, changed in enumerate(({}, FOUND[name].changed)):
            run = hoplab.run(
                EXAMPLES / f"{name}.toml",
                seed=1,
                set={
                    **changed,
                    **({"measure.interval_s": 0.01} if name in SHORT else {}),
                },
                out=Path(folder) / str(i),
            )
            unit, lines = _lines(run, title)
            changes = ", ".join(f"{key} = {_toml(value)}" for key, value in changed.items())
            changes = textwrap.fill(changes, HEADING_LETTERS)
            found.append((changes or "as it is", lines))
    points = [point for _, lines in found for line in lines.values() for point in line]
    ends = max(t for t, _ in points), 1.05 * max(y for _, y in points if not math.isnan(y))
    panels = []
    for head, lines in found:
        panels.append(plot.Panel(head, (0.0, ends[0]), (0.0, ends[1])))
        for line, colour in zip(lines, COLOURS, strict=False):
            panels[-1].add(line, lines[line], "-", style=(colour, ""))
    value = title.lower() if unit == title.lower() else f"{title.lower()} in {unit}"
    return plot.svg(panels, "time in s", value, name)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("kind"))
    return str(value).lower() if isinstance(value, bool) else str(value)


def main(names: list[str]) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    for name in names or FOUND:
        (FIGURES / f"{name}.svg").write_text(picture(name), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
