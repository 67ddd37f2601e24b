# SPDX-License-Identifier: Apache-2.0
"""Charts under each other in one SVG, PDF or PNG, the same to the byte each time.

Needs matplotlib: ``pip install hoplab[plot]``. (The pages' Plotly draws in a browser only.)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hoplab.model.errors import MissingTool, ResultsError, ScenarioError
from hoplab.show.paper.chart import Chart, Series
from hoplab.show.paper.form import Form, Kind
from hoplab.show.report.figures import COLOURS

try:
    from matplotlib import font_manager, rc_context
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator
except ModuleNotFoundError:
    raise MissingTool(
        "matplotlib: is not installed; SVG, PDF and PNG need it: pip install 'hoplab[plot]'; "
        "a page, --out NAME.html, does not"
    ) from None

MM_PER_INCH, POINTS_PER_INCH = 25.4, 72
PANEL_MM, ALONE_MM = 42.0, 60.0
"""Usual height of a panel, and of a figure with one."""
LEGEND_ROW = 1.9
"""Height of a legend's row, in heights of the font."""
DPI = 300
MOST_MARKED = 40
"""Points of a line beyond which it has no markers."""
MOST_TICKS = 10
MOST_LETTERS = 28
"""Of all names below a panel, beyond which they are turned."""
BARS = 0.8
"""Share of a name's room below the axis that its bars take."""
MARKERS = ("o", "s", "D", "^", "x", "+", "*", "v")
DASHES = ("-", "--", "-.", ":")
"""Beside the colours, so that lines differ on grey paper too."""
GRID = "#e4e7eb"
DASHED = "#616e7c"
"""In the legend, of the dashed lines of all colours."""
METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
}
"""Without what differs from one day or one version to the next."""


def write(charts: Sequence[Chart], path: Path, form: Form) -> None:
    """Draw ``charts`` into ``path``, whose suffix says the format. Raises `ResultsError`, and
    `MissingTool` for a font that is not here."""
    _require(form.family)
    settings: Any = {
        "font.size": form.font_pt,
        "font.family": form.family,
        "axes.titlesize": form.font_pt,
        "lines.linewidth": 1.0,
        "lines.markersize": 3.0,
        "axes.linewidth": 0.6,
        "text.parse_math": False,  # names are names
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "hoplab",
        "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    }
    suffix = path.suffix.lower()
    with rc_context(settings):
        figure = _figure(charts, form)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of letters that the font lacks
                warnings.filterwarnings("error", "constrained_layout")
                figure.savefig(path, format=suffix[1:], dpi=DPI, metadata=METADATA[suffix])
        except UserWarning:  # no room is left for the axes
            raise ScenarioError(
                f"--size: {figure.get_figwidth() * MM_PER_INCH:.3g} x "
                f"{figure.get_figheight() * MM_PER_INCH:.3g} mm have no room for "
                f"{len(charts)} panels with their names; take more, or a smaller --font-size"
            ) from None
        except OSError as error:
            raise ResultsError(
                f"{path}: cannot be written: {error.strerror}; name another"
            ) from None


def _require(family: str) -> None:
    generic = ("sans-serif", "serif", "monospace", "cursive", "fantasy")
    if family not in generic and family not in font_manager.get_font_names():
        raise MissingTool(
            f"--font: there is no {family!r} here; expected serif, sans-serif, monospace, or the "
            "name of an installed font"
        )


def _figure(charts: Sequence[Chart], form: Form) -> Figure:
    figure = Figure(layout="constrained")
    axes = figure.subplots(len(charts), squeeze=False)[:, 0]
    groups: dict[str, int] = {}
    for chart in charts:
        for one in chart.series:
            groups.setdefault(one.group or one.name, len(groups))
    marks: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for chart, axis in zip(charts, axes, strict=True):
        for series, mark in _draw(axis, chart, groups, form):
            marks[series.dashed].setdefault(series.name, mark)
    rows = _legend(figure, marks[False] | marks[True], form)
    usual_mm = ALONE_MM if len(charts) == 1 else PANEL_MM * len(charts)
    # Panels keep their height beside a legend of many rows.
    usual_mm += max(0, rows - 1) * LEGEND_ROW * form.font_pt / POINTS_PER_INCH * MM_PER_INCH
    height_mm = form.height_mm or usual_mm
    figure.set_size_inches(form.width_mm / MM_PER_INCH, height_mm / MM_PER_INCH)
    return figure


def _legend(figure: Figure, marks: dict[str, Any], form: Form) -> int:
    """Add the legend. Returns its rows."""
    if len(marks) < 2:
        return 0
    # As many in a row as the width has room for: a letter is half as wide as high.
    widest_pt = form.font_pt * (4 + 0.55 * max(map(len, marks)))
    width_pt = form.width_mm / MM_PER_INCH * POINTS_PER_INCH
    columns = max(1, min(len(marks), int(width_pt / widest_pt)))
    figure.legend(
        list(marks.values()),
        list(marks),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=2.2,
        columnspacing=1.0,
    )
    return -(-len(marks) // columns)


def _draw(
    axis: Axes, chart: Chart, groups: dict[str, int], form: Form
) -> Iterator[tuple[Series, Any]]:
    """Draw a panel. Yields each series with its mark for the legend."""
    axis.set(xlabel=chart.x_label, ylabel=chart.y_label, title=chart.title)
    axis.grid(color=GRID, linewidth=0.5)
    axis.set_axisbelow(True)
    words = chart.words
    if "x" in form.log and not words:
        axis.set_xscale("log")
        _decades(axis.xaxis)
    if "y" in form.log:
        axis.set_yscale("log")
        _decades(axis.yaxis)
    for place, one in enumerate(chart.series):
        colour = groups[one.group or one.name]
        if chart.kind == "bars":
            paint = COLOURS[colour % len(COLOURS)]
            yield one, _bars(axis, one, words, place, len(chart.series), paint)
        else:
            yield one, _line(axis, one, words, colour, chart.kind)
    if words:
        turned = sum(map(len, words)) > MOST_LETTERS
        how: Any = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        axis.set_xticks(range(len(words)), words, **how)
        axis.grid(visible=False, axis="x")
    elif chart.kind == "lines":
        _ticks(axis, chart)
    if chart.kind == "cdf":
        axis.set_ylim(0, 1)
    elif "y" not in form.log:
        lowest = min(0.0, *axis.get_ylim())
        known = [value for one in chart.series for value in one.y if value]
        axis.set_ylim(lowest, None if known else 1.0)


def _decades(axis: Axis) -> None:
    """Write 1, 2 and 5 of each decade as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def _ticks(axis: Axes, chart: Chart) -> None:
    """Put ticks at the values themselves where those are few."""
    values = sorted({float(x) for one in chart.series for x in one.x})
    if len(values) > MOST_TICKS:
        return
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_locator(FixedLocator(values))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _line(axis: Axes, one: Series, words: list[str], colour: int, kind: Kind) -> Any:
    x = [words.index(str(value)) for value in one.x] if words else list(one.x)
    y = [math.nan if value is None else value for value in one.y]
    marked = kind == "lines" and len(x) <= MOST_MARKED
    style: dict[str, Any] = {
        "color": COLOURS[colour % len(COLOURS)],
        "linestyle": (DASHES[1] if one.dashed else "-") if one.joined and not words else "none",
        "marker": MARKERS[colour % len(MARKERS)] if marked or words else "",
    }
    if kind == "cdf":
        style["linestyle"] = DASHES[colour % len(DASHES)]
        return axis.plot(x, y, drawstyle="steps-post", **style)[0]
    if one.dashed:
        axis.plot(x, y, **style)
        return Line2D([], [], color=DASHED, linestyle="--")
    if one.half_widths is not None and any(one.half_widths):
        return axis.errorbar(x, y, list(one.half_widths), capsize=2, elinewidth=0.7, **style)
    return axis.plot(x, y, **style)[0]


def _bars(axis: Axes, one: Series, words: list[str], place: int, count: int, colour: str) -> Any:
    width = BARS / count
    x = [words.index(str(value)) + (place - (count - 1) / 2) * width for value in one.x]
    y = [math.nan if value is None else value for value in one.y]
    intervals = one.half_widths is not None and any(one.half_widths)
    error = list(one.half_widths or ()) if intervals else None
    look: Any = {"elinewidth": 0.7, "capthick": 0.7}
    return axis.bar(x, y, width, color=colour, yerr=error, capsize=2, error_kw=look)
