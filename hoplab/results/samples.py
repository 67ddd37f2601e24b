# SPDX-License-Identifier: Apache-2.0
"""Means of independent draws with their 95 % confidence intervals (Student 1908, Welch 1947)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % quantile of Student's t for 1, 2, 3, … degrees of freedom."""


def t_95(freedom: float) -> float:
    """Quantile for ``freedom`` degrees of freedom, rounded down to a whole number of them."""
    whole = max(1, math.floor(freedom))
    if whole <= len(T_95):
        return T_95[whole - 1]
    # Cornish and Fisher's expansion about the normal quantile: to 0.0005 beyond 30.
    z = 1.959964
    return z + (z**3 + z) / (4 * whole) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * whole**2)


@dataclass(frozen=True)
class Sample:
    """What is known of a quantity: the mean of ``n`` draws and the standard error of that mean.

    A value that is not drawn, such as a published one, has an error of 0.
    """

    mean: float
    error: float = 0.0
    n: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """The mean of independent draws. Raises `ValueError` where there is none.

        A single draw says nothing of its own spread: it counts as a fixed value.
        """
        if not values:
            raise ValueError("a sample needs at least one value")
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(fmean(values), error, len(values))

    @property
    def half_width(self) -> float:
        """Of the 95 % interval about the mean."""
        return t_95(self.n - 1) * self.error if self.error else 0.0

    @property
    def positive(self) -> bool:
        """Above 0 beyond chance, which a single draw never shows."""
        return self.n > 1 and self.mean > self.half_width

    def scaled(self, factor: float) -> Sample:
        """``factor`` times the quantity."""
        return Sample(factor * self.mean, abs(factor) * self.error, self.n)


def combined(samples: Sequence[Sample], weights: Sequence[float]) -> Sample:
    """The weighted sum of independent samples, with as many draws as give Welch's and
    Satterthwaite's degrees of freedom. One that was not drawn adds no error."""
    parts = [(weight * one.error) ** 2 for one, weight in zip(samples, weights, strict=True)]
    mean = sum(weight * one.mean for one, weight in zip(samples, weights, strict=True))
    variance = sum(parts)
    if not variance:
        return Sample(mean)
    freedom = variance**2 / sum(
        part**2 / (one.n - 1) for one, part in zip(samples, parts, strict=True) if part
    )
    return Sample(mean, math.sqrt(variance), math.floor(freedom + 1e-9) + 1)


def difference(a: Sample, b: Sample) -> Sample:
    """a - b of independent samples."""
    return combined((a, b), (1.0, -1.0))


def relative(a: Sample, b: Sample) -> Sample:
    """a / b - 1 of independent samples, its error to first order."""
    ratio = a.mean / b.mean
    spread = combined((a, b), (1 / b.mean, -ratio / b.mean))
    return Sample(ratio - 1, spread.error, spread.n)


def jain(rates: Sequence[float]) -> float:
    """Fairness index of Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2)."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0
