# SPDX-License-Identifier: Apache-2.0
"""A measured figure beside its reference, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hoplab.host.statistics.samples import Sample, difference

Verdict = Literal["ok", "FAIL", "info"]
HEADING = "verdict name measured reference deviation limit"


@dataclass(frozen=True)
class Figure:
    """``limit`` is the largest relative deviation from ``reference`` that is ok.

    With a reference of 0, a count that must be zero, the deviation is the measured value itself.
    Without a limit the reference is only information, and nothing is decided.

    If either side was drawn several times, the 95 % interval of the deviation decides. It must lie
    within the limits. Or it must contain 0, that is, the reference, and be no wider to either side
    than the limit. A wider interval has shown nothing and fails.
    """

    name: str
    measured: Sample
    reference: Sample
    limit: float | None

    @property
    def deviation(self) -> Sample:
        """Relative to the reference, signed."""
        whole = difference(self.measured, self.reference)
        scale = abs(self.reference.mean) or 1.0
        return Sample(whole.mean / scale, whole.error / scale, whole.n)

    @property
    def verdict(self) -> Verdict:
        if self.limit is None:
            return "info"
        mean, half = self.deviation.mean, self.deviation.half_width
        inside = abs(mean) + half <= self.limit
        around = abs(mean) <= half <= self.limit
        return "ok" if inside or around else "FAIL"

    def __str__(self) -> str:
        spread = self.deviation.half_width
        return " ".join(
            [
                f"{self.verdict:4}",
                self.name,
                _told(self.measured),
                _told(self.reference),
                f"{100 * self.deviation.mean:+.1f}" + (f"±{100 * spread:.1f}%" if spread else "%"),
                "-" if self.limit is None else f"{100 * self.limit:g}%",
            ]
        )

    def row(self) -> dict[str, Any]:
        """Return the figure for JSON: means, half-widths of 95 % intervals, numbers of draws."""
        return {
            "name": self.name,
            "measured": self.measured.mean,
            "measured_half_width": self.measured.half_width,
            "measured_n": self.measured.n,
            "reference": self.reference.mean,
            "reference_half_width": self.reference.half_width,
            "reference_n": self.reference.n,
            "deviation": self.deviation.mean,
            "deviation_half_width": self.deviation.half_width,
            "limit": self.limit,
            "verdict": self.verdict,
        }


def _told(sample: Sample) -> str:
    mean = f"{sample.mean:.4g}"
    return mean if sample.n == 1 else f"{mean}±{sample.half_width:.2g}(n={sample.n})"


def figure(
    name: str,
    measured: float | Sequence[float] | Sample,
    reference: float | Sequence[float] | Sample,
    limit: float | None,
) -> Figure:
    """Return a figure of fixed values, or of independent draws."""
    return Figure(name, _sample(measured), _sample(reference), limit)


def _sample(value: float | Sequence[float] | Sample) -> Sample:
    if isinstance(value, Sample):
        return value
    return Sample.of(value) if isinstance(value, Sequence) else Sample(float(value))
