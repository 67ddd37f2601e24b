# SPDX-License-Identifier: Apache-2.0
"""Small multiples: means with their 95 % intervals over a parameter. There is a line for each value
of a second parameter, and a panel for each combination of the others. Where words are along x,
bars stand in place of lines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup
from plotly.subplots import make_subplots

from hoplab.host.statistics.samples import Sample
from hoplab.show.report.figures import AXIS_PX, COLOURS, LEGEND_PX, for_page

MOST_PANELS = 24
MOST_LINES = len(COLOURS)
COLUMNS = 3
ALONE_PX, PANEL_PX, GAP_PX, TOP_PX, TITLE_PX = 420, 230, 74, 84, 26
LEGEND_COLUMNS = 6
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
WHISKER = "#5a6576"
"""Of a bar's interval, on light and dark pages."""
LONGEST_TITLE = 44
MOST_TICKS = 12
LOG_SPAN = 20
"""A parameter whose values span this factor, and lie more evenly on a logarithmic axis, has one."""
FLOW = "flow"
"""The dimension of flows."""
HOVER = "%{y:.5g} \u00b1 %{error_y.array:.3g}"


@dataclass(frozen=True)
class Metric:
    """A quantity that the menu offers."""

    name: str
    title: str
    unit: str = ""

    @property
    def label(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True)
class Group:
    """``at``: a value of each dimension; ``samples`` by metric."""

    at: tuple[Any, ...]
    samples: dict[str, Sample]


@dataclass(frozen=True)
class Roles:
    """The dimension for each role, by index; None if there is no such dimension."""

    x: int | None
    line: int | None
    panels: tuple[int, ...]


def roles(values: Sequence[Sequence[Any]], flow: int | None = None) -> Roles:
    """Choose the roles from the ``values`` of each dimension. The x axis gets the one with the most
    numbers, and lines stand for words. The dimension ``flow`` is of flows, which no axis orders: it
    is along x only where nothing else varies."""
    varying = [i for i, found in enumerate(values) if len(found) > 1]
    if not varying:
        return Roles(None, None, ())
    numeric = [i for i in varying if all(is_number(value) for value in values[i])]
    ordered = numeric or [i for i in varying if i != flow] or varying
    x = max(ordered, key=lambda i: len(values[i]))
    others = [i for i in varying if i != x and len(values[i]) <= MOST_LINES]
    words = [i for i in others if i not in numeric]
    line = max(words or others, key=lambda i: len(values[i]), default=None)
    return Roles(x, line, tuple(i for i in varying if i not in (x, line)))


def is_number(value: Any) -> bool:
    """Return whether an axis can show it by its place; a switch is a word."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def small_multiples(
    names: Sequence[str], groups: Sequence[Group], metrics: Sequence[Metric]
) -> Markup:
    """Return the figure, with a menu of ``metrics``. ``names`` are the dimensions' names. Their
    values are drawn in the order of ``groups``, in at most `MOST_PANELS` panels."""
    if not groups or not metrics:
        return Markup()
    values = [list(dict.fromkeys(group.at[i] for group in groups)) for i in range(len(names))]
    drawn = roles(values, names.index(FLOW) if FLOW in names else None)
    panels: dict[tuple[Any, ...], dict[Any, list[Group]]] = {}
    for group in groups:
        panel = panels.setdefault(tuple(group.at[i] for i in drawn.panels), {})
        line = None if drawn.line is None else group.at[drawn.line]
        panel.setdefault(line, []).append(group)
    shown = list(panels.items())[:MOST_PANELS]
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    panel_px = ALONE_PX if len(shown) == 1 else PANEL_PX
    plots_px = panel_px * rows + GAP_PX * (rows - 1)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all",
        vertical_spacing=GAP_PX / plots_px if rows > 1 else 0,
        horizontal_spacing=0.04,
        subplot_titles=[_title([names[i] for i in drawn.panels], at) for at, _ in shown],
    )
    figure.update_annotations(font={"size": 13}, yshift=4)
    lines = [None] if drawn.line is None else values[drawn.line]
    traces: list[tuple[go.Scatter | go.Bar, list[Group]]] = []
    for number, (_, panel) in enumerate(shown):
        for line, found in panel.items():
            trace = _trace(lines.index(line), said(line), found, drawn, metrics[0])
            trace.showlegend = line is not None and not any(t.name == trace.name for t, _ in traces)
            place = {"row": number // columns + 1, "col": number % columns + 1}
            traces.append((trace, found))
            figure.add_trace(trace, **place)
    _axes(figure, names, values, drawn, columns, len(shown))
    _menu(figure, [found for _, found in traces], metrics)
    top_px = TOP_PX if len(shown) > 1 else TOP_PX - TITLE_PX
    below_px = AXIS_PX + 16 + LEGEND_PX * math.ceil(len(lines) / LEGEND_COLUMNS)
    figure.update_layout(
        height=top_px + plots_px + below_px,
        showlegend=drawn.line is not None,
        legend={
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "title": {
                "text": "" if drawn.line is None else f"{names[drawn.line]}  ",
                "font": {"size": 13},
            },
        },
    )
    return for_page(figure, "Means over the parameters", top_px, below_px)


def _trace(
    place: int, name: str, groups: list[Group], drawn: Roles, metric: Metric
) -> go.Scatter | go.Bar:
    x = [0 if drawn.x is None else group.at[drawn.x] for group in groups]
    y, half_widths = _drawn(groups, metric)
    colour = COLOURS[place % len(COLOURS)]
    common: dict[str, Any] = {
        "y": y,
        "error_y": {"type": "data", "array": half_widths, "thickness": 1.2, "width": 3},
        "name": name,
        "legendgroup": name,
        "hovertemplate": f"{name} %{{x}}: {HOVER}<extra></extra>",
    }
    if not all(map(is_number, x)):
        words = [said(value) for value in x]
        common["error_y"]["color"] = WHISKER
        return go.Bar(x=words, marker={"color": colour}, offsetgroup=name, **common)
    return go.Scatter(
        x=x,
        mode="lines+markers",
        line={"color": colour, "width": 1.6},
        marker={"symbol": MARKERS[place % len(MARKERS)], "size": 6},
        **common,
    )


def is_logarithmic(values: Sequence[float]) -> bool:
    """Return whether an axis of these values shows them better in a logarithm: they are positive,
    span `LOG_SPAN`, and lie more evenly so."""
    known = sorted(values)
    if len(known) < 3 or known[0] <= 0 or known[-1] < LOG_SPAN * known[0]:
        return False
    return _unevenness([math.log(value) for value in known]) < _unevenness(known)


def _unevenness(values: Sequence[float]) -> float:
    """Return the largest step as a share of the whole."""
    return max(b - a for a, b in itertools.pairwise(values)) / (values[-1] - values[0])


def _drawn(groups: list[Group], metric: Metric) -> tuple[list[float | None], list[float]]:
    """Return means, and half-widths of their intervals."""
    samples = [group.samples.get(metric.name) for group in groups]
    return (
        [None if sample is None else sample.mean for sample in samples],
        [0.0 if sample is None else sample.half_width for sample in samples],
    )


def _axes(
    figure: go.Figure,
    names: Sequence[str],
    values: list[list[Any]],
    drawn: Roles,
    columns: int,
    panels: int,
) -> None:
    figure.update_yaxes(rangemode="tozero", zeroline=False)
    if drawn.x is None:
        figure.update_xaxes(showticklabels=False)
        return
    if not all(map(is_number, values[drawn.x])):
        order = [said(value) for value in values[drawn.x]]
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    else:
        if is_logarithmic(values[drawn.x]):
            figure.update_xaxes(type="log")
        if len(values[drawn.x]) <= MOST_TICKS:
            ticks = values[drawn.x]
            figure.update_xaxes(tickvals=ticks, ticktext=[said(value) for value in ticks])
    # The last panel of each column, which may be above the last row.
    for column in range(columns):
        row = (panels - 1 - column) // columns + 1
        place = {"row": row, "col": column + 1}
        title = {"text": names[drawn.x], "font": {"size": 13}}
        figure.update_xaxes(title=title, showticklabels=True, **place)


def _menu(figure: go.Figure, traces: list[list[Group]], metrics: Sequence[Metric]) -> None:
    buttons = []
    for metric in metrics:
        found = [_drawn(groups, metric) for groups in traces]
        change = {"y": [y for y, _ in found], "error_y.array": [widths for _, widths in found]}
        buttons.append({"label": metric.label, "method": "restyle", "args": [change]})
    axes = [str(axis.plotly_name) for axis in figure.select_yaxes()]
    scales = [
        {
            "label": f"y {told}",
            "method": "relayout",
            "args": [{f"{axis}.type": kind for axis in axes}],
        }
        for told, kind in (("linear", "linear"), ("logarithmic", "log"))
    ]
    common = {
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 26 if len(figure.layout.annotations) else 8},
        "showactive": True,
    }
    figure.update_layout(
        updatemenus=[
            {"buttons": buttons, "x": 0, "xanchor": "left", **common},
            {"buttons": scales, "x": 1, "xanchor": "right", **common},
        ]
    )


def _title(names: list[str], at: tuple[Any, ...]) -> str:
    text = ", ".join(
        f"{name} {said(value)}" for name, value in zip(names, at, strict=True) if value is not None
    )
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "\u2026"


def said(value: Any) -> str:
    """Return a parameter's value as a person reads it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
