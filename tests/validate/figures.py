# SPDX-License-Identifier: Apache-2.0
"""A measured figure beside its reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """``limit`` is the largest relative deviation from ``reference`` that is ok.

    From a reference of 0, a count that must be none, the deviation is the measured value itself.
    """

    name: str
    measured: float
    reference: float
    limit: float

    @property
    def deviation(self) -> float:
        """Relative, signed."""
        return (self.measured - self.reference) / (self.reference or 1.0)

    @property
    def ok(self) -> bool:
        return abs(self.deviation) <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.name} {self.measured:.4g} {self.reference:.4g} "
            f"{100 * self.deviation:+.1f}% {100 * self.limit:g}% {'ok' if self.ok else 'FAIL'}"
        )
