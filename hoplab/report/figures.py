# SPDX-License-Identifier: Apache-2.0
"""The report's figures, drawn by Plotly: panels over one time axis, and the map."""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#b0568f", "#b98000", "#2b98d4", "#5a6576", "#7a4fbf"),
    *("#7fb2d6", "#a33c00", "#6cc7ab", "#7d2f61", "#d9b45c", "#14527a", "#9aa5b1", "#b59ae0"),
)
"""Okabe and Ito's colour-blind safe set, then lighter and darker ones of the same hues."""
PANEL_PX = 190
GAP_PX = 62
"""Between panels: ticks above, the title below."""
TITLE_PX, AXIS_PX, LEGEND_PX = 40, 50, 30
MAP_PX, CONTROLS_PX = 400, 190
LEGEND_COLUMNS = 8
MAP_STEPS = 120
MANY_STATIONS = 12
FONT = {"family": "system-ui, Segoe UI, Roboto, Liberation Sans, sans-serif", "size": 13}


def library() -> Markup:
    """Plotly's script, for inlining: the page must work offline."""
    return Markup(get_plotlyjs())


def over_time(data: dict[str, Any]) -> Markup:
    """All panels of `hoplab.report.data.figures` above each other, zooming together."""
    panels = data["panels"]
    if not panels:
        return Markup()
    plots_px = PANEL_PX * len(panels) + GAP_PX * (len(panels) - 1)
    figure = make_subplots(
        rows=len(panels),
        shared_xaxes=True,
        vertical_spacing=GAP_PX / plots_px,
        subplot_titles=[f"{panel['title']} ({panel['unit']})" for panel in panels],
    )
    figure.update_annotations(x=0, xanchor="left", yshift=6, font={"size": 14})
    groups: dict[str, str] = {}
    for row, panel in enumerate(panels, start=1):
        for line in panel["lines"]:
            group = line["group"]
            shown = group not in groups
            colour = groups.setdefault(group, COLOURS[len(groups) % len(COLOURS)])
            figure.add_trace(
                go.Scatter(
                    x=line["t"],
                    y=line["y"],
                    name=group,
                    legendgroup=group,
                    showlegend=shown,
                    mode="lines",
                    line={
                        "color": colour,
                        "width": 1.6,
                        "dash": "dash" if line.get("dashed") else "solid",
                    },
                    hovertemplate=f"{group} {line['label']} %{{y}} {panel['unit']}<extra></extra>",
                ),
                row=row,
                col=1,
            )
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    for mark in data["marks"]:
        figure.add_vline(x=mark["t"], line={"color": "#d0602a", "width": 1, "dash": "dot"})
    figure.update_xaxes(range=[0, data["duration_s"]])
    figure.update_xaxes(title_text="virtual time (s)", row=len(panels), col=1)
    rows = math.ceil(len(groups) / LEGEND_COLUMNS)
    below_px = AXIS_PX + LEGEND_PX * rows
    figure.update_layout(
        height=TITLE_PX + plots_px + below_px,
        hovermode="x unified",
        # Below everything, however many there are: the page's width decides on its rows.
        legend={
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "xanchor": "left",
            "itemwidth": 30,
        },
    )
    return _html(figure, TITLE_PX, below_px)


def station_map(data: dict[str, Any]) -> Markup:
    """Stations, the links that carried frames, reception range; a slider where they move."""
    network = data["map"]
    stations = network["stations"]
    if not stations:
        return Markup()
    moving = moves(data)
    figure = go.Figure()
    if not moving:
        _links(figure, network)
    for station in stations if moving else ():
        _, x, y = zip(*station["track"], strict=True)
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                line={"width": 1, "color": "rgba(90,101,118,.3)"},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    figure.add_trace(_places(stations, 0.0))
    if moving:
        _animate(figure, stations, data["duration_s"])
    elif network["range_m"] and len(stations) <= MANY_STATIONS:
        for station in stations:
            if station["radio"]:
                _circle(figure, station["track"][0], network["range_m"])
    figure.update_xaxes(title_text="x (m)", zeroline=False)
    figure.update_yaxes(title_text="y (m)", scaleanchor="x", scaleratio=1, zeroline=False)
    below_px = CONTROLS_PX if moving else AXIS_PX
    figure.update_layout(height=MAP_PX + below_px, showlegend=False)
    return _html(figure, bottom_px=below_px)


def moves(data: dict[str, Any]) -> bool:
    """Whether any station does."""
    return any(
        point[1:] != station["track"][0][1:]
        for station in data["map"]["stations"]
        for point in station["track"]
    )


def _links(figure: go.Figure, network: dict[str, Any]) -> None:
    places = {station["name"]: station["track"][0] for station in network["stations"]}
    busiest = max((link["frames"] for link in network["links"]), default=1)
    lines = [
        (
            (link["src"], link["dst"]),
            f"{link['src']} → {link['dst']}: {link['frames']} frames, "
            f"{100 * link['ratio']:.1f} % delivered",
            {"color": "#2b98d4", "width": 1 + 5 * link["frames"] / busiest},
        )
        for link in network["links"]
    ]
    lines += [
        (tuple(ends), f"{ends[0]} to {ends[1]}: wired", {"color": "#5a6576", "width": 2})
        for ends in network["wired"]
    ]
    for (source, destination), text, style in lines:
        (_, x0, y0), (_, x1, y1) = places[source], places[destination]
        figure.add_trace(
            go.Scatter(
                x=[x0, (x0 + x1) / 2, x1],
                y=[y0, (y0 + y1) / 2, y1],
                mode="lines",
                line=style,
                opacity=0.6,
                text=text,
                hoverinfo="text",
            )
        )


def _circle(figure: go.Figure, place: list[float], radius_m: float) -> None:
    _, x, y = place
    figure.add_shape(
        type="circle",
        x0=x - radius_m,
        x1=x + radius_m,
        y0=y - radius_m,
        y1=y + radius_m,
        line={"color": "rgba(0,114,178,.35)", "width": 1, "dash": "dot"},
        layer="below",
    )


def _places(stations: list[dict[str, Any]], t_s: float) -> go.Scatter:
    at = [_at(station["track"], t_s) for station in stations]
    return go.Scatter(
        x=[x for x, _ in at],
        y=[y for _, y in at],
        text=[station["name"] for station in stations],
        mode="markers+text",
        textposition="top center",
        marker={
            "size": 12,
            "color": [COLOURS[0] if station["radio"] else COLOURS[6] for station in stations],
            "symbol": ["circle" if station["radio"] else "square" for station in stations],
        },
        hovertemplate="%{text}: %{x:.1f} m, %{y:.1f} m<extra></extra>",
    )


def _at(track: list[list[float]], t_s: float) -> tuple[float, float]:
    """Linear between the track's points, at rest before and after."""
    previous = track[0]
    for point in track:
        if point[0] > t_s:
            span = point[0] - previous[0]
            part = (t_s - previous[0]) / span if span > 0 else 0.0
            return (
                previous[1] + part * (point[1] - previous[1]),
                previous[2] + part * (point[2] - previous[2]),
            )
        previous = point
    return previous[1], previous[2]


def _animate(figure: go.Figure, stations: list[dict[str, Any]], duration_s: float) -> None:
    last = len(figure.data) - 1
    times = [duration_s * i / MAP_STEPS for i in range(MAP_STEPS + 1)]
    figure.frames = [
        go.Frame(name=f"{t:.1f}", data=[_places(stations, t)], traces=[last]) for t in times
    ]
    still = {"frame": {"duration": 0, "redraw": False}, "mode": "immediate"}
    play = {"frame": {"duration": 100, "redraw": False}, "fromcurrent": True}
    figure.update_layout(
        updatemenus=[
            {
                "type": "buttons",
                "direction": "left",
                "showactive": False,
                "x": 0,
                "y": 0,
                "pad": {"t": 140},
                "xanchor": "left",
                "yanchor": "top",
                "buttons": [
                    {"label": "Play", "method": "animate", "args": [None, play]},
                    {"label": "Pause", "method": "animate", "args": [[None], still]},
                ],
            }
        ],
        sliders=[
            {
                "x": 0,
                "len": 1,
                "y": 0,
                "pad": {"t": 56},
                "currentvalue": {"prefix": "t = ", "suffix": " s"},
                "steps": [
                    {"label": frame.name, "method": "animate", "args": [[frame.name], still]}
                    for frame in figure.frames
                ],
            }
        ],
    )


def _html(figure: go.Figure, top_px: int = 20, bottom_px: int = 50) -> Markup:
    figure.update_layout(
        template="plotly_white",
        font=FONT,
        margin={"l": 60, "r": 20, "t": top_px, "b": bottom_px},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    return Markup(
        figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            config={"displayModeBar": False, "responsive": True},
        )
    )
