# SPDX-License-Identifier: Apache-2.0
"""Plotly's map, and the lost frames by cause, of one moment of a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from hoplab.model.network.wlans import station_of
from hoplab.show.report import labels

RADIO, WIRED, DOWN = "#0072b2", "#5a6576", "#9aa5b1"
LINK, WALL, INTERFERER = "#2b98d4", "#4a4036", "#c2410c"
WIDTHS_PX = (1.0, 2.0, 3.0, 4.5, 6.0)
"""Widths of links by their share of the busiest link's frames. Each width is a trace, so a map of
30 stations does not have hundreds of traces."""
CAUSES = (
    ("collided", "collided"),
    ("weak", "too weak"),
    ("capture_lost", "lost to capture"),
    ("deaf", "receiver was sending"),
    ("error_model", "loss model"),
    ("off", "radio was off"),
)
"""Columns of table `links`, with the words for a frame lost in this way."""
CAUSE_COLOURS = ("#d55e00", "#b98000", "#b0568f", "#7a4fbf", "#5a6576", "#9aa5b1")
MARGIN = 0.15
MOST_MARGIN = 1.5
"""Least and most margin around stations, as shares of the longer side that they take. Stations of a
home stay apart on the map, however far they reach."""
ROUND = 1.05
"""Room for a circle, in its radius."""
ALONE_M = 10.0
"""Margin around stations at one place, at least."""
BARS_PX, AROUND_BARS_PX = 34, 76
"""Pixels for each bar of lost frames, and around all of them."""
ACROSS_PX, UP_PX = 640.0, 340.0
"""Pixels of a map on a narrow screen."""

Place = tuple[float, float]
Track = Sequence[Sequence[float]]


def place_at(track: Track, t_s: float) -> Place:
    """Return a place, linear between the track's points [t, x, y], at rest before and after."""
    low, high = 0, len(track)
    while low < high:
        middle = (low + high) // 2
        if track[middle][0] > t_s:
            high = middle
        else:
            low = middle + 1
    if low == 0:
        return track[0][1], track[0][2]
    previous = track[low - 1]
    if low == len(track):
        return previous[1], previous[2]
    point = track[low]
    span = point[0] - previous[0]
    part = (t_s - previous[0]) / span if span > 0 else 0.0
    return (
        previous[1] + part * (point[1] - previous[1]),
        previous[2] + part * (point[2] - previous[2]),
    )


def stations(
    places: Mapping[str, Place],
    radios: Collection[str],
    down: Collection[str] = (),
    metres: float = 1.0,
) -> dict[str, Any]:
    """Return the trace of all stations: circles, squares if only wired, crosses if off. A pixel is
    ``metres`` wide. Names without room appear only under the pointer."""
    names = list(places)
    told = {n: f"{n} (off)" if n in down else n for n in names}
    at = labels.placed([(told[n], *places[n]) for n in names], metres)
    colours = [DOWN if n in down else RADIO if n in radios else WIRED for n in names]
    symbols = ["x" if n in down else "circle" if n in radios else "square" for n in names]
    return {
        "type": "scatter",
        "x": [round(x, 2) for x, _ in places.values()],
        "y": [round(y, 2) for _, y in places.values()],
        "text": ["" if where is None else told[n] for n, where in zip(names, at, strict=True)],
        "hovertext": list(told.values()),
        "mode": "markers+text",
        "textposition": [where or labels.USUAL for where in at],
        "marker": {"size": 12, "color": colours, "symbol": symbols},
        "hovertemplate": "%{hovertext}: %{x:.1f} m, %{y:.1f} m<extra></extra>",
        "showlegend": False,
    }


def interferers(places: Mapping[str, Place], told: Mapping[str, str]) -> dict[str, Any]:
    """Return the trace of other transmitters by name. ``told`` says what each is."""
    return {
        "type": "scatter",
        "x": [round(x, 2) for x, _ in places.values()],
        "y": [round(y, 2) for _, y in places.values()],
        "text": list(places),
        "hovertext": [f"{name} ({told[name]})" for name in places],
        "mode": "markers+text",
        "textposition": labels.USUAL,
        "textfont": {"color": INTERFERER},
        "marker": {"size": 13, "color": INTERFERER, "symbol": "star-triangle-up"},
        "hovertemplate": "%{hovertext}: %{x:.1f} m, %{y:.1f} m<extra></extra>",
        "showlegend": False,
    }


def wires(places: Mapping[str, Place], ends: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Return the trace of all wired links."""
    line = {"color": WIRED, "width": 2}
    pairs = [((a, b), f"{a} to {b}: wired") for a, b in ends]
    return _segments(places, pairs, line)


def links(places: Mapping[str, Place], used: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one trace for each of `WIDTHS_PX`. ``used`` holds ``src``, ``dst``, ``frames`` and
    ``ratio``, the share delivered. Both directions are one line."""
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for link in used:
        if link["frames"]:
            one, other = sorted((station_of(link["src"]), station_of(link["dst"])))
            pairs.setdefault((one, other), []).append(link)
    carried = {ends: sum(link["frames"] for link in both) for ends, both in pairs.items()}
    busiest = max(carried.values(), default=1)
    classes: list[list[tuple[tuple[str, str], str]]] = [[] for _ in WIDTHS_PX]
    for ends, both in pairs.items():
        told = "<br>".join(
            f"{link['src']} → {link['dst']}: {link['frames']} frames, "
            f"{100 * link['ratio']:.1f} % delivered"
            for link in both
        )
        share = math.ceil(len(WIDTHS_PX) * carried[ends] / busiest) - 1
        classes[max(0, share)].append((ends, told))
    return [
        {**_segments(places, found, {"color": LINK, "width": width}), "opacity": 0.6}
        for found, width in zip(classes, WIDTHS_PX, strict=True)
    ]


def _segments(
    places: Mapping[str, Place],
    pairs: Iterable[tuple[Sequence[str], str]],
    line: dict[str, Any],
) -> dict[str, Any]:
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for (a, b), told in pairs:
        (x0, y0), (x1, y1) = places[a], places[b]
        # The point in the middle responds to the pointer.
        xs += [round(x0, 2), round((x0 + x1) / 2, 2), round(x1, 2), None]
        ys += [round(y0, 2), round((y0 + y1) / 2, 2), round(y1, 2), None]
        texts += [told, told, told, ""]
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "text": texts,
        "mode": "lines",
        "line": line,
        "hoverinfo": "text",
        "showlegend": False,
    }


def circles(places: Iterable[Place], radius_m: float) -> list[dict[str, Any]]:
    """Return shapes that show how far each place reaches."""
    return [
        {
            "type": "circle",
            "x0": round(x - radius_m, 2),
            "x1": round(x + radius_m, 2),
            "y0": round(y - radius_m, 2),
            "y1": round(y + radius_m, 2),
            "line": {"color": "rgba(64,150,210,.55)", "width": 1, "dash": "dot"},
            "layer": "below",
        }
        for x, y in places
    ]


def walls(corners: Iterable[Sequence[Place]]) -> list[dict[str, Any]]:
    """Return shapes of walls from corner to corner, whatever their height."""
    return [
        {
            "type": "line",
            "x0": round(x0, 2),
            "y0": round(y0, 2),
            "x1": round(x1, 2),
            "y1": round(y1, 2),
            "line": {"color": WALL, "width": 3},
            "layer": "below",
        }
        for wall in corners
        for (x0, y0), (x1, y1) in itertools.pairwise(wall)
    ]


def axes() -> dict[str, Any]:
    """Return the map's layout: metres with the same scale on both axes."""
    return {
        "xaxis": {"title": {"text": "x (m)"}, "zeroline": False},
        "yaxis": {
            "title": {"text": "y (m)"},
            "scaleanchor": "x",
            "scaleratio": 1,
            "zeroline": False,
        },
        "showlegend": False,
    }


def extent(places: Iterable[Place], around_m: float) -> tuple[Place, Place]:
    """Return ranges of both axes that hold all ``places``, with ``around_m`` around them as far as
    the stations remain apart."""
    xs, ys = zip(*places, strict=True)
    span = max(max(xs) - min(xs), max(ys) - min(ys))
    margin = max(MARGIN * span, min(around_m, MOST_MARGIN * span)) or max(ALONE_M, around_m)
    return (min(xs) - margin, max(xs) + margin), (min(ys) - margin, max(ys) + margin)


def fits(places: Collection[Place], around_m: float) -> bool:
    """Return whether a map of ``places`` shows ``around_m`` around all of them."""
    across, _ = extent(places, around_m)
    return across[0] + around_m <= min(x for x, _ in places)


def metres(places: Iterable[Place], around_m: float = 0.0) -> float:
    """Return the width in m of a pixel, on a map that holds all ``places``."""
    (west, east), (south, north) = extent(places, around_m)
    return max((east - west) / ACROSS_PX, (north - south) / UP_PX)


def lost(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the lost frames of all links by cause, from rows of table `links`. Causes without any
    are left out."""
    sums = dict.fromkeys((column for column, _ in CAUSES), 0)
    for row in rows:
        for column in sums:
            sums[column] += int(row[column] or 0)
    return {told: sums[column] for column, told in CAUSES if sums[column]}


def losses_px(counts: Mapping[str, int]) -> int:
    """Return the height of the bars of `losses`, each as thick as the others."""
    return BARS_PX * max(1, len(counts)) + AROUND_BARS_PX


def losses(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the trace of lost frames by cause, from the result of `lost`."""
    colours = dict(zip((told for _, told in CAUSES), CAUSE_COLOURS, strict=True))
    causes = list(counts)[::-1]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [counts[cause] for cause in causes],
        "y": causes,
        "text": [f"{counts[cause]:,}".replace(",", "\u202f") for cause in causes],
        "textposition": "auto",
        "marker": {"color": [colours[cause] for cause in causes]},
        "hovertemplate": "%{y}: %{x} frames<extra></extra>",
        "showlegend": False,
    }
