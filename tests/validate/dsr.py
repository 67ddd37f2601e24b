# SPDX-License-Identifier: Apache-2.0
"""DSR through the real kernel, held against published tables."""

from __future__ import annotations

from collections.abc import Iterator

from tests.validate import chain
from tests.validate.figures import Figure


def items() -> Iterator[Figure]:
    """Every figure of DSR."""
    yield from chain.hv99("dsr")
