# SPDX-License-Identifier: Apache-2.0
"""Means of independent draws with their 95 % confidence intervals (Student 1908, Welch 1947)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev

from hoplab.results import student


@cache
def t_95(freedom: int) -> float:
    """The 97.5 % quantile of Student's t for ``freedom`` degrees of freedom, 1 at least."""
    return student.quantile(0.975, freedom)


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


def difference(a: Sample, b: Sample) -> Sample:
    """a - b of independent samples, with as many draws as give Welch's degrees of freedom."""
    variance = a.error**2 + b.error**2
    if not variance:
        return Sample(a.mean - b.mean)
    freedom = variance**2 / sum(
        sample.error**4 / (sample.n - 1) for sample in (a, b) if sample.error
    )
    return Sample(a.mean - b.mean, math.sqrt(variance), math.floor(freedom + 1e-9) + 1)


def jain(rates: Sequence[float]) -> float:
    """Fairness index of Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2)."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0
