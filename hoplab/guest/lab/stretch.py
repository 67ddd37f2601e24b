# SPDX-License-Identifier: Apache-2.0
"""How long the lab sleeps while the kernel takes samples."""

from __future__ import annotations

from collections.abc import Sequence

WARY = 8
"""Sleeps that must end as foreseen before they grow longer."""


class Stretch:
    """How many ``samples`` the next sleep may last, at first a second's.

    A sleep ends early when some of the host's time has passed (`hoplab.guest.probes.ends`). A guest
    that is held to a pace stops before that, and nobody sees what it has sampled until it goes on.
    In one that is not held, one sleep after the other ends as foreseen.
    """

    def __init__(self, second: int) -> None:
        self.samples = self._second = second
        self._foreseen = 0

    def ended(self, parts: Sequence[int]) -> None:
        """A sleep had so many samples in each of its parts. One part is what was foreseen."""
        if len(parts) > 1:
            self.samples = max(self._second, parts[0])
            self._foreseen = 0
            return
        self._foreseen += 1
        if self._foreseen >= WARY:
            self.samples = max(self.samples, 2 * parts[0])
