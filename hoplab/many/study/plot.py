# SPDX-License-Identifier: Apache-2.0
"""Panels of points as one SVG for pages and papers, equal to the byte on every computer.

Needs matplotlib: ``pip install hoplab[study]``. (The report's Plotly draws in a browser only.)
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hoplab.model.errors import MissingTool

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise MissingTool(
        "matplotlib: is not installed; plots need it: pip install 'hoplab[study]'"
    ) from None

COLUMNS = 2
MOST_IN_A_ROW = 8
"""Entries of a legend."""
LETTERS_BELOW = 60
"""Letters of all names below a panel; longer names are turned upright."""
STYLES = {
    "sent": ("#1f5fa8", "."),
    "sent again": ("#d95f02", "s"),
    "acknowledgement": ("#9aa5b1", ","),
    "lost": ("#c0182b", "x"),
    "PFTK": ("#d95f02", "x"),
    "square root": ("#9aa5b1", "s"),
    "tahoe": ("#7a4fa3", "s"),
    "reno": ("#1f5fa8", "o"),
    "newreno": ("#2a9d8f", "o"),
    "sack": ("#d95f02", "o"),
    "vegas": ("#c0182b", "x"),
    "westwood": ("#5b8c2a", "s"),
    "tcpw": ("#111111", "x"),
    "model": ("#9aa5b1", "."),
    "engine": ("#d95f02", "s"),
    "kernel": ("#1f5fa8", "o"),
    "published": ("#111111", "x"),
    "ns-2": ("#d95f02", "s"),
    "ns-2, no link fails": ("#f2b26b", "s"),
    "static routes": ("#7fb0e0", "o"),
    "DSR": ("#1f5fa8", "o"),
    "ns-2.35": ("#d95f02", "x"),
    "Hoplab": ("#1f5fa8", "s"),
}
"""Colour and marker by kind of point."""
SETTINGS: Any = {
    "font.size": 8,
    "lines.markersize": 3.5,
    "svg.fonttype": "none",
    # Makes the names of the file's parts deterministic.
    "svg.hashsalt": "hoplab",
}


FURTHER = ("#1f5fa8", "#d95f02", "#5b8c2a", "#7a4fa3", "#c0182b", "#2a9d8f", "#9aa5b1")
"""Colours of kinds that `STYLES` lacks, in the order in which a panel adds them."""


@dataclass(frozen=True)
class Curve:
    """Points of one kind; ``errors`` are half-heights of their bars."""

    kind: str
    points: list[tuple[float, float]]
    line: str
    errors: list[float] | None
    style: tuple[str, str]


@dataclass
class Panel:
    """One plot: ranges of x and y, and points by kind.

    ``x_label`` and ``y_label`` replace those of the picture; ``ticks`` names values of x.
    """

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    logarithmic: bool | Literal["x", "y"] = False
    x_label: str = ""
    y_label: str = ""
    ticks: Mapping[float, str] | None = None
    curves: list[Curve] = field(default_factory=list)

    @property
    def is_crowded(self) -> bool:
        """Whether its names lack room side by side."""
        return self.ticks is not None and sum(map(len, self.ticks.values())) > LETTERS_BELOW

    def add(
        self,
        kind: str,
        points: list[tuple[float, float]],
        line: str = "",
        errors: list[float] | None = None,
        style: tuple[str, str] | None = None,
    ) -> None:
        """Add points without a line, or joined by matplotlib's ``line`` ("-", "--", ":"). ``style``
        is colour and marker; by default it comes from `STYLES`."""
        further = (FURTHER[len(self.curves) % len(FURTHER)], "o")
        self.curves.append(Curve(kind, points, line, errors, style or STYLES.get(kind, further)))


def svg(panels: list[Panel], x_label: str, y_label: str, title: str) -> str:
    """The panels two in a row, under a title and a legend."""
    with rc_context(SETTINGS):
        return _svg(panels, x_label, y_label, title)


def _svg(panels: list[Panel], x_label: str, y_label: str, title: str) -> str:
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    height = (4.3 if any(panel.is_crowded for panel in panels) else 2.7) * rows + 0.6
    figure = Figure(figsize=(4.4 * columns, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for panel, axis in zip(panels, axes.flat, strict=False):
        _draw(panel, axis, x_label, y_label)
    for spare in list(axes.flat)[len(panels) :]:
        spare.axis("off")
    marks: dict[Any, Any] = {}
    for axis in axes.flat:
        marks |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.suptitle(title)
    figure.legend(
        list(marks.values()),
        list(marks),
        loc="outside lower center",
        ncols=min(len(marks), MOST_IN_A_ROW),
        frameon=False,
    )
    output = io.StringIO()
    figure.savefig(output, format="svg", metadata={"Date": None})
    return output.getvalue()


def _draw(panel: Panel, axis: Any, x_label: str, y_label: str) -> None:
    if panel.logarithmic in (True, "x"):
        axis.set(xscale="log")
    if panel.logarithmic in (True, "y"):
        axis.set(yscale="log")
    labels = {"xlabel": panel.x_label or x_label, "ylabel": panel.y_label or y_label}
    axis.set(title=panel.title, xlim=panel.x, ylim=panel.y, **labels)
    if panel.ticks is not None:
        names = list(panel.ticks.values())
        axis.set_xticks(list(panel.ticks), names, rotation=90 if panel.is_crowded else 0)
    axis.grid(color="#e4e7eb", linewidth=0.6)
    for curve in panel.curves:
        colour, marker = curve.style
        x, y = zip(*curve.points, strict=True)
        if curve.errors is not None:
            axis.errorbar(x, y, curve.errors, fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
        form = {"linestyle": curve.line or "none", "linewidth": 1.0}
        axis.plot(x, y, marker=marker, color=colour, label=curve.kind, **form)
