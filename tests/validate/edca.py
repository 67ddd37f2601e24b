# SPDX-License-Identifier: Apache-2.0
"""Access categories in saturation: windows by a slotted simulation, AIFS and TXOP by ns-3."""

from __future__ import annotations

from collections.abc import Iterator

from hoplab.many.study.figures import Figure
from tests.validate import classes, ns3


def items() -> Iterator[Figure]:
    yield from classes.items()
    yield from ns3.edca_items()
