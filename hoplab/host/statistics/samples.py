# SPDX-License-Identifier: Apache-2.0
"""Means of independent draws with their 95 % confidence intervals (Student 1908, Welch 1947)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev

from hoplab.host.statistics import student


@cache
def t_95(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t for ``freedom`` degrees of freedom, at least 1."""
    return student.quantile(0.975, freedom)


@dataclass(frozen=True)
class Sample:
    """An estimate of a quantity: the mean of ``n`` draws and the standard error of that mean.

    A value that is not drawn, such as a published one, has an error of 0.
    """

    mean: float
    error: float = 0.0
    n: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return the mean of independent draws. Raises `ValueError` if there are none.

        A single draw shows nothing of its spread, so it counts as a fixed value.
        """
        if not values:
            raise ValueError("a sample needs at least one value")
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(fmean(values), error, len(values))

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval about the mean."""
        return t_95(self.n - 1) * self.error if self.error else 0.0

    @property
    def positive(self) -> bool:
        """Whether it is above 0 beyond chance, which a single draw never shows."""
        return self.n > 1 and self.mean > self.half_width

    def scaled(self, factor: float) -> Sample:
        """``factor`` times the quantity."""
        return Sample(factor * self.mean, abs(factor) * self.error, self.n)


def combined(samples: Sequence[Sample], weights: Sequence[float]) -> Sample:
    """Return the weighted sum of independent samples. Its number of draws follows from Welch's and
    Satterthwaite's degrees of freedom. A sample that was not drawn adds no error."""
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
