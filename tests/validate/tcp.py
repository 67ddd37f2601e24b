# SPDX-License-Identifier: Apache-2.0
"""The TCP variants through the real kernel, held against papers, formulas and ns-2."""

from __future__ import annotations

from collections.abc import Iterator

from tests.validate import dumbbell, estimates, fall_floyd, loss_law
from tests.validate.figures import Figure


def items() -> Iterator[Figure]:
    """Every figure of TCP."""
    yield from fall_floyd.items()
    yield from estimates.items()
    yield from loss_law.items()
    yield from dumbbell.items()
