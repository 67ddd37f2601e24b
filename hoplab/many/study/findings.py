# SPDX-License-Identifier: Apache-2.0
"""Results of a study's analysis: tables, pictures, claims with verdicts, values beside published
ones.

`docs/studies/README.md` explains how to make a study's folder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hoplab.host.statistics.samples import Sample
from hoplab.many.study.swept import Runs

Verdict = Literal["reproduced", "in part", "not"]
Cell = str | int | float | Sample | None
FAR = 0.15
"""A value beside a published one needs a cause from this relative deviation on."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; ``name`` is its mark in the study's page and the name of its file."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Picture:
    """An SVG; in the documentation it is ``docs/figures/STUDY-NAME.svg``."""

    name: str
    svg: str


@dataclass(frozen=True)
class Claim:
    """A conclusion of a study's authors, the verdict here, and the figures that show it."""

    name: str
    sentence: str
    verdict: Verdict
    shown_by: str


@dataclass(frozen=True)
class Beside:
    """A measured value beside the published one and, if known, ns-2's.

    ``cause`` says why it is far from the published one, as an experiment has shown. It is empty if
    the value is not far, or if the cause is unknown.
    """

    name: str
    measured: Sample
    published: float
    ns2: float | None = None
    cause: str = ""

    @property
    def deviation(self) -> float:
        """Relative and signed deviation of the mean from the published value."""
        return (self.measured.mean - self.published) / (abs(self.published) or 1.0)

    @property
    def far(self) -> bool:
        return abs(self.deviation) > FAR


@dataclass(frozen=True)
class Findings:
    """All findings of a study. ``values`` are those of the quick version in ``expected.json``."""

    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()
    beside: Sequence[Beside] = ()
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def unexplained(self) -> list[str]:
        """Values far from the published ones without a cause."""
        return [one.name for one in self.beside if one.far and not one.cause]


class Analysis(Protocol):
    """The module ``experiments/NAME/analysis.py``, which has this function.

    It is pure: its result depends only on the runs' tables and the published values. It must omit
    results for which the quick version has no runs.
    """

    def analyse(self, runs: Runs, published: Mapping[str, Any]) -> Findings:
        """Return the findings. ``runs`` are those of all sweeps; ``published`` is
        ``published.toml``."""


CLAIM_COLUMNS = ("claim", "verdict", "shown by")
BESIDE_COLUMNS = ("", "here", "published", "ns-2.35", "off by", "why")


def claims_table(findings: Findings) -> Table:
    rows = [(claim.sentence, claim.verdict, claim.shown_by) for claim in findings.claims]
    return Table("claims", "Claims", CLAIM_COLUMNS, rows)


def beside_table(findings: Findings) -> Table:
    rows = [
        (
            one.name,
            one.measured,
            one.published,
            one.ns2,
            f"{100 * one.deviation:+.0f} %",
            one.cause or ("unknown" if one.far else ""),
        )
        for one in findings.beside
    ]
    return Table("published", "Beside the published values", BESIDE_COLUMNS, rows)


def all_tables(findings: Findings) -> list[Table]:
    """Return the analysis's own tables, the table of claims, and the table beside the published
    values."""
    made = [claims_table(findings)] if findings.claims else []
    made += [beside_table(findings)] if findings.beside else []
    return [*findings.tables, *made]


def told(cell: Cell) -> str:
    """Return a table's cell as text: four significant digits, or a sample to the last digit of its
    95 % interval."""
    if cell is None:
        return ""
    if isinstance(cell, Sample):
        half = cell.half_width
        if cell.n == 1 or not 0 < half < math.inf:
            return f"{cell.mean:.4g}" + (f" ± {half:.2g}" if cell.n > 1 else "")
        digits = max(0, 1 - math.floor(math.log10(half)))
        return f"{cell.mean:.{digits}f} ± {half:.{digits}f}"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
