# SPDX-License-Identifier: Apache-2.0
"""Places for the names of points, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

USUAL = "top center"
AROUND = {
    USUAL: (-0.5, 1.0),
    "bottom center": (-0.5, -1.0),
    "middle right": (0.0, 0.0),
    "middle left": (-1.0, 0.0),
    "top right": (0.0, 1.0),
    "top left": (-1.0, 1.0),
    "bottom right": (0.0, -1.0),
    "bottom left": (-1.0, -1.0),
}
"""By Plotly's name: the text's left edge in widths of the text, and its side of the point."""
LETTER_PX, HEIGHT_PX, POINT_PX = 8.0, 15.0, 6.0
MOST = 80
"""Points beyond which no name is placed."""

Box = tuple[float, float, float, float]


def placed(points: Sequence[tuple[str, float, float]], metres: float) -> list[str | None]:
    """Return, for each point, the free side for its text, or None if no side is free. A point has a
    text and a place in m. A pixel is ``metres`` wide."""
    if len(points) > MOST:
        return [None] * len(points)
    centres = [(x / metres, y / metres) for _, x, y in points]
    dots = [(x - POINT_PX, y - POINT_PX, x + POINT_PX, y + POINT_PX) for x, y in centres]
    taken: list[Box] = []
    found: list[str | None] = []
    for (text, _, _), (x, y), own in zip(points, centres, dots, strict=True):
        others = [*taken, *(dot for dot in dots if dot is not own)]
        sides = ((side, _box(text, x, y, side)) for side in AROUND)
        free = ((side, box) for side, box in sides if not any(_meet(box, o) for o in others))
        side, box = next(free, (None, None))
        found.append(side)
        if box is not None:
            taken.append(box)
    return found


def _box(text: str, x: float, y: float, side: str) -> Box:
    left, up = AROUND[side]
    width = LETTER_PX * len(text)
    # Beside the point, a text keeps clear of it. Above and below, the point's radius separates
    # them.
    west = x + left * width + POINT_PX * (2 * left + 1)
    south = y - HEIGHT_PX / 2 + up * (HEIGHT_PX / 2 + POINT_PX)
    return (west, south, west + width, south + HEIGHT_PX)


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
