# SPDX-License-Identifier: Apache-2.0
"""Quantiles of Student's t (Student 1908)."""

from __future__ import annotations

import math

STEPS = 60
"""Steps of bisection, to the last digit of a float."""


def quantile(share: float, freedom: int) -> float:
    """Return the t that a draw stays below with probability ``share`` (0.5 to 1, exclusive).

    Raises `ValueError` for another share and for fewer than one degree of freedom.
    """
    if not 0.5 <= share < 1 or freedom < 1:
        raise ValueError(f"share {share}, {freedom} degrees: expected 0.5 to 1 and 1 or more")
    low, high = 0.0, math.pi / 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < 2 * share - 1 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _inside(theta: float, freedom: int) -> float:
    """P(|T| < t) with t = sqrt(freedom) tan theta (Abramowitz and Stegun 1964, 26.7.3, 26.7.4)."""
    cosine = math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total
