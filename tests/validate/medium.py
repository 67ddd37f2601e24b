# SPDX-License-Identifier: Apache-2.0
"""The medium through the real kernel, held against theory and published tables."""

from __future__ import annotations

from collections.abc import Iterator

from tests.validate import chain, contention, exactness, terminals, throughput
from tests.validate.figures import Figure


def items() -> Iterator[Figure]:
    """Every figure of the medium."""
    yield from throughput.items()
    yield from contention.items()
    yield from terminals.items()
    yield from exactness.items()
    yield from chain.hv99("static")
    yield from chain.stock("static")
