# SPDX-License-Identifier: Apache-2.0
"""Small scatter plots as SVG, without a plotting library, so that they are the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from math import log10

WIDTH, HEIGHT = 440, 260
LEFT, TOP, RIGHT, BOTTOM = 48, 34, 12, 38
COLUMNS = 2
STYLES = {
    "sent": ("#1f5fa8", "dot"),
    "sent again": ("#d95f02", "square"),
    "acknowledgement": ("#9aa5b1", "small"),
    "lost": ("#c0182b", "cross"),
    "PFTK": ("#d95f02", "cross"),
    "square root": ("#9aa5b1", "square"),
    "tahoe": ("#7a4fa3", "square"),
    "reno": ("#1f5fa8", "dot"),
    "newreno": ("#2a9d8f", "dot"),
    "sack": ("#d95f02", "dot"),
    "vegas": ("#c0182b", "cross"),
    "westwood": ("#5b8c2a", "square"),
    "tcpw": ("#111111", "cross"),
    "measured": ("#1f5fa8", "dot"),
    "reference": ("#d95f02", "cross"),
    "model": ("#9aa5b1", "small"),
    "engine": ("#d95f02", "square"),
    "kernel": ("#1f5fa8", "dot"),
}


@dataclass
class Panel:
    """One plot: ranges of x and y, and points by the kind that `STYLES` knows.

    Logarithmic axes begin and end at powers of ten.
    """

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    logarithmic: bool = False
    points: list[tuple[str, list[tuple[float, float]]]] = field(default_factory=list)

    def add(self, kind: str, points: list[tuple[float, float]]) -> None:
        self.points.append((kind, points))


def svg(panels: list[Panel], x_label: str, y_label: str, title: str) -> str:
    """The panels two in a row, under a title and a legend."""
    rows = -(-len(panels) // COLUMNS)
    width, height = WIDTH * min(COLUMNS, len(panels)), HEIGHT * rows + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="16" font-size="13">{escape(title)}</text>',
    ]
    kinds = list(dict.fromkeys(kind for panel in panels for kind, _ in panel.points))
    spacing = min(125, (width - 16) / len(kinds))
    for i, kind in enumerate(kinds):
        parts += [_mark(kind, 16 + spacing * i, 31), _text(24 + spacing * i, 35, kind)]
    for i, panel in enumerate(panels):
        left, top = WIDTH * (i % COLUMNS), 44 + HEIGHT * (i // COLUMNS)
        parts.append(
            f'<g transform="translate({left} {top})">{_panel(panel, x_label, y_label)}</g>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, x_label: str, y_label: str) -> str:
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + _fraction(panel, x, panel.x) * inner_width,
            HEIGHT - BOTTOM - _fraction(panel, y, panel.y) * inner_height,
        )

    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{inner_width}" height="{inner_height}" fill="none" '
        'stroke="#444444"/>',
        _text(LEFT, TOP - 6, panel.title),
        _text(LEFT + inner_width / 2, HEIGHT - 6, x_label, "middle"),
        f'<text transform="translate(12 {TOP + inner_height / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>',
    ]
    for x in _ticks(panel, panel.x):
        parts.append(_text(place(x, panel.y[0])[0], HEIGHT - BOTTOM + 14, f"{x:g}", "middle"))
    for y in _ticks(panel, panel.y):
        parts.append(_text(LEFT - 5, place(panel.x[0], y)[1] + 4, f"{y:g}", "end"))
    for kind, points in panel.points:
        for x, y in points:
            if panel.x[0] <= x <= panel.x[1] and panel.y[0] <= y <= panel.y[1]:
                parts.append(_mark(kind, *place(x, y)))
    return "\n".join(parts)


def _fraction(panel: Panel, value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    if panel.logarithmic:
        return log10(value / low) / log10(high / low)
    return (value - low) / (high - low)


def _ticks(panel: Panel, ends: tuple[float, float]) -> list[float]:
    low, high = ends
    if panel.logarithmic:
        return [low * 10**i for i in range(round(log10(high / low)) + 1)]
    return [low + (high - low) * step / 5 for step in range(6)]


def _mark(kind: str, x: float, y: float) -> str:
    colour, shape = STYLES[kind]
    if shape == "cross":
        return (
            f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" '
            'stroke-width="1.6"/>'
        )
    if shape == "square":
        return f'<rect x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5" fill="{colour}"/>'
    radius = 1.0 if shape == "small" else 1.8
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
