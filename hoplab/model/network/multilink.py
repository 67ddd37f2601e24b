# SPDX-License-Identifier: Apache-2.0
"""Further links of multi-link devices, with the values that a file leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from hoplab.model.keys.multilink import FurtherLink
from hoplab.model.keys.resolved import ResolvedLink


@dataclass(frozen=True)
class Emlsr:
    """What a device announces that has one radio for its links (802.11be-2024 35.3.17), in us."""

    padding_us: int
    transition_us: int


def completed(link: FurtherLink, width_mhz: int, band_ghz: float) -> ResolvedLink:
    """Return a link that has this width and band where it names none."""
    return ResolvedLink(
        channel=link.channel,
        width_mhz=link.width_mhz or width_mhz,
        band_ghz=link.band_ghz or band_ghz,
        punct_bitmap=link.punct_bitmap,
    )
