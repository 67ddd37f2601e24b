# SPDX-License-Identifier: Apache-2.0
"""The report's figures, drawn by Plotly: panels over one time axis, and the map."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from markupsafe import Markup
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from hoplab.show.report import on_map, units

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#b0568f", "#b98000", "#2b98d4", "#5a6576", "#7a4fbf"),
    *("#7fb2d6", "#a33c00", "#6cc7ab", "#7d2f61", "#d9b45c", "#14527a", "#9aa5b1", "#b59ae0"),
)
"""Okabe and Ito's colour-blind safe set, then lighter and darker ones of the same hues."""
FEW_SAMPLES = 3
PANEL_PX = 190
GAP_PX = 62
"""Pixels between panels: ticks above, the title below."""
TITLE_PX, AXIS_PX, LEGEND_PX = 40, 50, 30
MAP_PX, LEAST_MAP_PX, MAP_ACROSS_PX, CONTROLS_PX = 400, 180, 800, 160
LEGEND_COLUMNS = 8
MAP_STEPS = 120
"""Most moments of a map of moving stations."""
MANY_STATIONS = 12
CONFIG = {"displayModeBar": False, "responsive": True}
"""Configuration of every figure for Plotly's script."""
KINDS = "scatter", "bar"
"""Kinds of traces in all figures."""
UNUSED = "coloraxis", "colorscale", "geo", "map", "mapbox", "polar", "scene", "ternary"
"""Parts of a template's layout for other kinds."""
FONT = {"family": "system-ui, Segoe UI, Roboto, Liberation Sans, sans-serif", "size": 13}


BUNDLE = Path(__file__).with_name("plotly-basic.min.js")
"""Plotly with only lines and bars, a quarter of the whole; `scripts/plotly` fetches it."""


def library() -> Markup:
    """Return Plotly's script, for inlining: the page must work offline. An installation from a bare
    checkout has only the whole script."""
    return Markup(BUNDLE.read_text(encoding="utf-8") if BUNDLE.exists() else get_plotlyjs())


def over_time(data: dict[str, Any]) -> Markup:
    """Return `over_time_figure` for a page, or nothing without a panel."""
    if not data["panels"]:
        return Markup()
    return _html(over_time_figure(units.of_data(data)), "Over time")


def over_time_figure(data: dict[str, Any]) -> go.Figure:
    """Draw all panels of `hoplab.show.report.data.figures` above each other, zooming together. Each
    line of each panel makes a trace, in their order."""
    panels = data["panels"]
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
                    # A line of a few samples is too short to be seen.
                    mode="lines" if len(line["t"]) > FEW_SAMPLES else "lines+markers",
                    connectgaps=panel.get("connected", False),
                    line={
                        "color": colour,
                        "width": 1.6,
                        "dash": "dash" if line.get("dashed") else "solid",
                    },
                    hovertemplate=(
                        f"{line.get('name', group)} {line['label']} %{{y}} {panel['unit']}"
                        "<extra></extra>"
                    ),
                ),
                row=row,
                col=1,
            )
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    for mark in data["marks"]:
        figure.add_vline(x=mark["t"], line={"color": "#d0602a", "width": 1, "dash": "dot"})
    figure.update_xaxes(range=[0, data["duration_s"]])
    figure.update_xaxes(title_text="time (s)", row=len(panels), col=1)
    rows = math.ceil(len(groups) / LEGEND_COLUMNS)
    below_px = AXIS_PX + LEGEND_PX * rows
    figure.update_layout(
        height=TITLE_PX + plots_px + below_px,
        hovermode="x unified",
        # The legend stands below all panels; the page's width decides on its rows.
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
    return _dressed(figure, TITLE_PX, below_px)


def station_map(data: dict[str, Any]) -> Markup:
    """Draw stations, the links that carried frames, and the reception range. Moving stations get a
    slider."""
    network = data["map"]
    different = {tuple(spot[1:]) for station in network["stations"] for spot in station["track"]}
    if len(different) < min(2, len(network["stations"])):
        return Markup()  # positions count for nothing here
    moving = moves(data)
    figure = go.Figure(layout=on_map.axes())
    stations = network["stations"]
    places = _places(stations, 0.0)
    if moving:
        for station in stations:
            _track(figure, station["track"])
    else:
        figure.add_traces(on_map.links(places, network["links"]))
        figure.add_trace(on_map.wires(places, network["wired"]))
    around_m = on_map.ROUND * network["range_m"] if circles_fit(data) else 0.0
    spots = [(x, y) for station in stations for _, x, y in station["track"]]
    spots += [(x, y) for wall in network["walls"] for x, y in wall]
    others = network["interferers"]
    spots += [(x, y) for one in others for _, x, y in one["track"]]
    metres = on_map.metres(spots, around_m)
    shapes = on_map.walls(network["walls"])
    if others:
        for one in others:
            _track(figure, one["track"])
        figure.add_trace(_interferers(others, 0.0))
    figure.add_trace(_stations(stations, 0.0, metres))
    if moving:
        _animate(figure, network, data["duration_s"], metres)
    elif around_m:
        radios = [places[station["name"]] for station in stations if station["radio"]]
        shapes += on_map.circles(radios, network["range_m"])
    figure.update_layout(shapes=shapes)
    across, up = on_map.extent(spots, around_m)
    figure.update_xaxes(range=across)
    figure.update_yaxes(range=up)
    below_px = CONTROLS_PX if moving else AXIS_PX
    # Stations in a row need no room above and below them.
    high_px = MAP_ACROSS_PX * (up[1] - up[0]) / (across[1] - across[0])
    figure.update_layout(height=min(MAP_PX, max(LEAST_MAP_PX, round(high_px))) + below_px)
    return _html(_dressed(figure, bottom_px=below_px), "Map of the stations")


def circles_fit(data: dict[str, Any]) -> bool:
    """Return whether the map shows how far each station reaches: with few stations at rest, if
    their distances compare to that."""
    network = data["map"]
    stations, range_m = network["stations"], network["range_m"]
    if not range_m or len(stations) > MANY_STATIONS or moves(data):
        return False
    spots = [(x, y) for station in stations for _, x, y in station["track"]]
    return on_map.fits(spots, on_map.ROUND * range_m)


def live_map(
    places: dict[str, on_map.Place],
    radios: Collection[str],
    around_m: float,
    also: Collection[on_map.Place] = (),
) -> go.Figure:
    """Draw the map of a run in progress, with traces and shapes that change: links, wires,
    stations. The map's extent is fixed. It holds ``places`` and ``also``, with ``around_m`` around
    them."""
    figure = go.Figure(layout=on_map.axes())
    figure.add_traces([*on_map.links(places, ()), on_map.wires(places, ())])
    metres = on_map.metres([*places.values(), *also], around_m)
    figure.add_trace(on_map.stations(places, radios, (), metres))
    across, up = on_map.extent([*places.values(), *also], around_m)
    figure.update_xaxes(range=across)
    figure.update_yaxes(range=up)
    figure.update_layout(height=MAP_PX + AXIS_PX, dragmode=False)
    return _dressed(figure)


def lost_frames(counts: Mapping[str, int]) -> Markup:
    """Return `losses_figure` for a page, or nothing without lost frames."""
    return _html(losses_figure(counts), "Frames lost by cause") if counts else Markup()


def losses_figure(counts: Mapping[str, int]) -> go.Figure:
    """Draw a bar for each cause that `hoplab.show.report.on_map.lost` counted."""
    figure = go.Figure(on_map.losses(counts))
    figure.update_xaxes(title_text="frames", rangemode="tozero")
    figure.update_yaxes(automargin=True, ticksuffix=" ")
    figure.update_layout(height=on_map.losses_px(counts), bargap=0.3)
    return _dressed(figure)


def moves(data: dict[str, Any]) -> bool:
    """Return whether any station moves."""
    return any(
        point[1:] != station["track"][0][1:]
        for station in data["map"]["stations"]
        for point in station["track"]
    )


def _track(figure: go.Figure, track: on_map.Track) -> None:
    _, x, y = zip(*track, strict=True)
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


def _places(stations: list[dict[str, Any]], t_s: float) -> dict[str, on_map.Place]:
    return {station["name"]: on_map.place_at(station["track"], t_s) for station in stations}


def _stations(stations: list[dict[str, Any]], t_s: float, metres: float) -> dict[str, Any]:
    radios = {station["name"] for station in stations if station["radio"]}
    return on_map.stations(_places(stations, t_s), radios, (), metres)


def _interferers(others: list[dict[str, Any]], t_s: float) -> dict[str, Any]:
    return on_map.interferers(_places(others, t_s), {one["name"]: one["kind"] for one in others})


def _animate(figure: go.Figure, network: dict[str, Any], duration_s: float, metres: float) -> None:
    stations, others = network["stations"], network["interferers"]
    last = len(figure.data) - 1

    def at(t_s: float) -> list[dict[str, Any]]:
        moved = [_interferers(others, t_s)] if others else []
        return [*moved, _stations(stations, t_s, metres)]

    traces = [last - 1, last] if others else [last]
    figure.frames = [
        go.Frame(name=f"{t:g}", data=at(t), traces=traces) for t in moments(duration_s)
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
                "pad": {"t": 112},
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
                "currentvalue": {
                    "prefix": "t = ",
                    "suffix": f" s of {duration_s:g} s",
                    "font": {"size": FONT["size"]},
                },
                # Plotly labels every n-th step, whatever its time; the value above says it.
                "ticklen": 0,
                "minorticklen": 0,
                "font": {"size": 1, "color": "rgba(0,0,0,0)"},
                "steps": [
                    {"label": frame.name, "method": "animate", "args": [[frame.name], still]}
                    for frame in figure.frames
                ],
            }
        ],
    )


def moments(duration_s: float) -> list[float]:
    """Return at most `MAP_STEPS` round times of a run, after 0, and its end."""
    least_s = duration_s / (MAP_STEPS - 1)
    decade = 10.0 ** math.floor(math.log10(least_s))
    step_s = next(m * decade for m in (1, 2, 5, 10) if m * decade >= least_s * (1 - 1e-9))
    whole = [round(i * step_s, 9) for i in range(math.ceil(duration_s / step_s - 1e-9))]
    return [*whole, duration_s]


@cache
def _template() -> go.layout.Template:
    """Return what lines and bars need of Plotly's template "plotly_white". Each figure copies its
    template several times, and the page has a copy for each."""
    whole = pio.templates["plotly_white"]
    layout = {key: value for key, value in whole.layout._props.items() if key not in UNUSED}
    return go.layout.Template(data={kind: whole.data[kind] for kind in KINDS}, layout=layout)


def _dressed(figure: go.Figure, top_px: int = 20, bottom_px: int = 50) -> go.Figure:
    """Give a figure the page's fonts and margins; the page's script adds its colours."""
    figure.update_layout(
        template=_template(),
        font=FONT,
        margin={"l": 60, "r": 20, "t": top_px, "b": bottom_px},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    return figure


def for_page(figure: go.Figure, label: str, top_px: int, bottom_px: int) -> Markup:
    """Return another module's figure in the page's style, for a page that has `library`."""
    return _html(_dressed(figure, top_px, bottom_px), label)


def _html(figure: go.Figure, label: str) -> Markup:
    drawn = Markup(figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG))
    return Markup('<div role="figure" aria-label="{}">{}</div>').format(label, drawn)
