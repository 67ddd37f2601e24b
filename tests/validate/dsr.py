# SPDX-License-Identifier: Apache-2.0
"""DSR through the real kernel, held against published tables and against ns-2.35's DSR."""

from __future__ import annotations

from collections.abc import Iterator

from tests.validate import chain, collapse, mobile
from tests.validate.figures import Figure


def items() -> Iterator[Figure]:
    """Every figure of DSR."""
    yield from chain.hv99("dsr")
    yield from collapse.items()
    yield from mobile.items()
