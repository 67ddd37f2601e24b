# SPDX-License-Identifier: Apache-2.0
"""The form of a figure on paper, as a user asks for it. Nothing here draws."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from hoplab.model.errors import ScenarioError

PAPER = (".svg", ".pdf", ".png")
PAGE = ".html"
MOST_MM = 2000.0
POINTS = (2.0, 72.0)
"""Smallest and largest font."""
SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:x(\d+(?:\.\d+)?))?")

Kind = Literal["lines", "bars", "cdf"]
KINDS: tuple[Kind, ...] = ("lines", "bars", "cdf")
Log = Literal["", "x", "y", "xy"]
LOGS: tuple[Log, ...] = ("x", "y", "xy")


@dataclass(frozen=True)
class Form:
    """Size in mm, font in points, logarithmic axes. Without a height each panel has a usual
    one."""

    width_mm: float = 88.0
    height_mm: float | None = None
    font_pt: float = 8.0
    family: str = "sans-serif"
    log: Log = ""


def suffix_of(path: Path) -> str:
    """Return the suffix of a figure's file. Raises `ScenarioError` for one that nothing writes."""
    suffix = path.suffix.lower()
    if suffix not in (PAGE, *PAPER):
        known = ", ".join((PAGE, *PAPER[:-1]))
        raise ScenarioError(
            f"--out: {path} names no format; expected a name that ends in {known} or {PAPER[-1]}"
        )
    return suffix


def form(size: str | None, font_pt: float, family: str, log: str | None) -> Form:
    """Return the form that options describe: ``size`` is "WIDTH" or "WIDTHxHEIGHT" in mm. Raises
    `ScenarioError`."""
    usual = Form()
    width, height = usual.width_mm, usual.height_mm
    if size is not None:
        found = SIZE.fullmatch(size)
        given = [float(number) for number in found.groups() if number] if found else []
        if not given or not all(0 < length <= MOST_MM for length in given):
            raise ScenarioError(
                f"--size: {size!r} is no size; expected WIDTH or WIDTHxHEIGHT in mm, such as "
                f"88x60, at most {MOST_MM:g}"
            )
        width, height = given[0], given[1] if len(given) > 1 else None
    if not (math.isfinite(font_pt) and POINTS[0] <= font_pt <= POINTS[1]):
        raise ScenarioError(
            f"--font-size: {font_pt:g} is not between {POINTS[0]:g} and {POINTS[1]:g} points"
        )
    return Form(width, height, font_pt, family, chosen("--log", log, LOGS) if log else "")


Word = TypeVar("Word", bound=str)


def chosen(option: str, word: str, known: Sequence[Word]) -> Word:
    """Return the one of ``known`` that is ``word``. Raises `ScenarioError` if none is."""
    for one in known:
        if one == word:
            return one
    raise ScenarioError(f"{option}: {word!r} is not known; one of: {', '.join(known)}")
