# SPDX-License-Identifier: Apache-2.0
"""A run's stream as it reaches the page."""

from __future__ import annotations

from collections.abc import Sequence

from hoplab.host.stream.sink import Batch, Sink
from hoplab.show.live.view import View


class PageSink(Sink):
    """Passes a stream's rows to a `View`."""

    name = "the live page"

    def __init__(self, view: View) -> None:
        self._view = view

    def take(self, batches: Sequence[Batch]) -> None:
        for table, rows in batches:
            self._view.add_all(table, rows)
