# SPDX-License-Identifier: Apache-2.0
"""Small scatter plots as SVG, without a plotting library, so that they are the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 440, 260
LEFT, TOP, RIGHT, BOTTOM = 48, 34, 12, 38
COLUMNS = 2
STYLES = {
    "sent": ("#1f5fa8", "dot"),
    "sent again": ("#d95f02", "square"),
    "acknowledgement": ("#9aa5b1", "small"),
    "lost": ("#c0182b", "cross"),
    "measured": ("#1f5fa8", "dot"),
    "reference": ("#d95f02", "cross"),
    "Hoplab": ("#1f5fa8", "square"),
    "ns-2.35": ("#d95f02", "cross"),
}


@dataclass
class Panel:
    """One plot: ranges of x and y, and points by the kind that `STYLES` knows."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
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
    for i, kind in enumerate(kinds):
        parts += [_mark(kind, 16 + 110 * i, 31), _text(24 + 110 * i, 35, kind)]
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
            LEFT + (x - panel.x[0]) / (panel.x[1] - panel.x[0]) * inner_width,
            HEIGHT - BOTTOM - (y - panel.y[0]) / (panel.y[1] - panel.y[0]) * inner_height,
        )

    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{inner_width}" height="{inner_height}" fill="none" '
        'stroke="#444444"/>',
        _text(LEFT, TOP - 6, panel.title),
        _text(LEFT + inner_width / 2, HEIGHT - 6, x_label, "middle"),
        f'<text transform="translate(12 {TOP + inner_height / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>',
    ]
    for step in range(6):
        x = panel.x[0] + (panel.x[1] - panel.x[0]) * step / 5
        y = panel.y[0] + (panel.y[1] - panel.y[0]) * step / 5
        parts.append(_text(place(x, 0)[0], HEIGHT - BOTTOM + 14, f"{x:g}", "middle"))
        parts.append(_text(LEFT - 5, place(0, y)[1] + 4, f"{y:g}", "end"))
    for kind, points in panel.points:
        for x, y in points:
            if panel.x[0] <= x <= panel.x[1] and panel.y[0] <= y <= panel.y[1]:
                parts.append(_mark(kind, *place(x, y)))
    return "\n".join(parts)


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
