# SPDX-License-Identifier: Apache-2.0
"""The picture of the page of accuracy: each figure's deviation from its reference, with its limit.

    python -m tests.validate.accuracy [FILE…]

A FILE is what ``python -m tests.validate --json FILE`` wrote: its figures replace those of the
same parts in ``docs/figures/accuracy.json``, from which ``docs/figures/accuracy.svg`` is drawn.
A part of which figures are missing keeps its older ones. Without a FILE the picture is drawn anew.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from hoplab.many.study.plot import SETTINGS
from tests.validate.__main__ import PARTS, expected

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
DATA, PICTURE = FOLDER / "accuracy.json", FOLDER / "accuracy.svg"

Row = dict[str, Any]
Rows = dict[str, list[Row]]

INSIDE, OUTSIDE, ALLOWED = "#1f5fa8", "#c0182b", "#dde3ea"
"""Colours of figures that are ok, of those that are not, and of what their limits allow."""
LINEAR_PERCENT = 1.0
"""The axis is linear up to here and logarithmic beyond, on both sides."""
WIDEST_PERCENT = 200.0
"""Ends of the axis, unless a figure lies further out."""
TICKS_PERCENT = (-100, -10, -1, 0, 1, 10, 100)
LETTERS = 150
"""In a line below the axis."""
ROW_POINTS = 1.4
GAP_ROWS = 12
"""Empty rows above a part, for its name."""
NAMED_ROWS = 7
"""Of a figure that is outside: as high as its name."""
WIDTH_INCHES, MARGIN_INCHES = 7.4, 0.9
SMALL = 7.5
"""Points, of the name beside a figure that is outside."""
POINTS_PER_INCH = 72


def merged(old: Rows, new: Sequence[Row], names: dict[str, list[str]]) -> tuple[Rows, list[str]]:
    """``old`` with the parts of ``new`` replaced, in the order of `PARTS`; and what is refused.

    A part that lacks a figure keeps its older ones: half a part would hide what could not be
    measured. So does a figure that no part is expected to give.
    """
    part_of = {name: part for part, own in names.items() for name in own}
    found: Rows = {}
    refused = []
    for row in new:
        if row["name"] in part_of:
            found.setdefault(part_of[row["name"]], []).append(row)
        else:
            refused.append(f"{row['name']}: is in no part of expected.txt; see --expect")
    both = dict(old)
    for part, rows in found.items():
        if missing := set(names[part]) - {row["name"] for row in rows}:
            refused.append(
                f"{part}: lacks {len(missing)} of {len(names[part])} figures, {min(missing)} one "
                "of them; measure the whole part"
            )
        else:
            both[part] = rows
    return {part: both[part] for part in PARTS if part in both}, refused


def relative(rows: Sequence[Row]) -> list[Row]:
    """Those with a limit and a reference to be relative to: a reference of 0 has no percentage."""
    return [row for row in rows if row["limit"] is not None and row["reference"]]


def title(part: str, rows: Sequence[Row]) -> str:
    """What a part's heading says: how many figures decide, are inside, and are not drawn."""
    decided = [row for row in rows if row["limit"] is not None]
    inside = sum(row["verdict"] == "ok" for row in decided)
    undrawn = len(decided) - len(relative(rows))
    told = f"{part}: {inside} of {len(decided)} inside"
    return f"{told} ({undrawn} with reference 0 not drawn)" if undrawn else told


def svg(parts: Rows) -> str:
    """The picture, the same to the byte wherever it is drawn."""
    rows = max(1, sum(GAP_ROWS + sum(map(_rows, relative(own))) for own in parts.values()))
    height = 2 * MARGIN_INCHES + rows * ROW_POINTS / POINTS_PER_INCH
    with rc_context(SETTINGS):
        drawing = Drawing(figsize=(WIDTH_INCHES, height))
        edge = MARGIN_INCHES / height
        axes = drawing.add_axes((0.03, edge, 0.94, 1 - 2 * edge))
        _scale(axes, rows, _widest(parts))
        below = 0
        for part, own in parts.items():
            below = _part(axes, below, part, own)
        drawing.legend(handles=_legend(), loc="upper center", ncols=3, frameon=False, fontsize=7.5)
        drawing.text(0.03, 0.1 / height, _absent(parts), size=7, va="bottom")
        out = io.StringIO()
        drawing.savefig(out, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _scale(axes: Axes, rows: int, widest: float) -> None:
    axes.set_xscale("symlog", linthresh=LINEAR_PERCENT, linscale=1.0)
    axes.set_xlim(-widest, widest)
    axes.set_ylim(rows + 1, 0)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(FixedLocator(TICKS_PERCENT))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:+g} %" if x else "0"))
    axes.tick_params(top=True, labeltop=True)
    axes.grid(axis="x", color="#eef1f4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(0, color="#5a6672", linewidth=0.6)
    axes.set_xlabel(
        "deviation from the reference, (measured - reference) / reference; "
        f"linear up to {LINEAR_PERCENT:g} %, logarithmic beyond"
    )


def _widest(parts: Rows) -> float:
    """Percent to either side that show every figure's interval and limit."""
    reaches: list[float] = [
        100 * max(abs(row["deviation"]) + row["deviation_half_width"], row["limit"])
        for own in parts.values()
        for row in relative(own)
    ]
    return max([WIDEST_PERCENT, *reaches])


def _rows(row: Row) -> int:
    return 1 if row["verdict"] == "ok" else NAMED_ROWS


def _part(axes: Axes, below: int, part: str, rows: Sequence[Row]) -> int:
    """Its heading and its figures, the largest deviations last; where the next part begins."""
    left = axes.get_yaxis_transform()
    axes.text(0.01, below + GAP_ROWS - 2, title(part, rows), weight="bold", transform=left)
    drawn = sorted(relative(rows), key=lambda row: abs(row["deviation"]))
    top = below + GAP_ROWS
    for row in drawn:
        y = top + (_rows(row) - 1) / 2
        top += _rows(row)
        limit, mean = 100 * row["limit"], 100 * row["deviation"]
        half = 100 * row["deviation_half_width"]
        colour = INSIDE if row["verdict"] == "ok" else OUTSIDE
        axes.barh(y, 2 * limit, left=-limit, height=1.0, color=ALLOWED, linewidth=0)
        axes.plot([mean - half, mean + half], [y, y], color=colour, linewidth=0.5)
        axes.plot(mean, y, color=colour, marker="o", markersize=1.8, markeredgewidth=0)
        if row["verdict"] != "ok":
            name = row["name"].removeprefix(f"{part}/")
            # On the side where its point is not.
            x, side = (0.01, "left") if mean > 0 else (0.99, "right")
            axes.text(x, y, name, size=SMALL, color=colour, ha=side, va="center", transform=left)
    return top


def absent(parts: Rows) -> list[str]:
    """Parts that have no recorded run."""
    return [part for part in PARTS if part not in parts]


def _absent(parts: Rows) -> str:
    return textwrap.fill(f"Without a recorded run: {', '.join(absent(parts)) or 'none'}", LETTERS)


def _legend() -> list[Line2D | Patch]:
    points = {INSIDE: "inside its limit", OUTSIDE: "outside, or too wide to decide"}
    return [
        *(
            Line2D([], [], color=colour, marker="o", linewidth=0.7, label=f"{told} (95 % interval)")
            for colour, told in points.items()
        ),
        Patch(color=ALLOWED, label="what the figure's limit allows"),
    ]


def main(arguments: list[str], data: Path = DATA, picture: Path = PICTURE) -> int:
    parser = argparse.ArgumentParser(prog="accuracy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    names = expected()
    parts: Rows = json.loads(data.read_text(encoding="utf-8")) if data.exists() else {}
    refused: list[str] = []
    for file in options.files:
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            refused.append(f"{file}: is not what validate --json writes: {error}")
            continue
        parts, complaints = merged(parts, rows, names)
        refused += complaints
    for complaint in refused:
        print(f"accuracy: {complaint}", file=sys.stderr)
    data.write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")
    picture.write_text(svg(parts), encoding="utf-8")
    print(f"{len(parts)} of {len(PARTS)} parts; not recorded: {', '.join(absent(parts)) or 'none'}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
