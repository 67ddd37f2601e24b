# SPDX-License-Identifier: Apache-2.0
"""The keys of a further link of a multi-link device (802.11be-2024 35.3)."""

from __future__ import annotations

from typing import Annotated

from hoplab.model.keys.declare import Integer, Table, key, one_of
from hoplab.model.keys.radio import LAST_6_GHZ_CHANNEL, Band, PunctBitmap, Width

MAX_FURTHER_LINKS = 2
EMLSR = "emlsr"
"""One radio for all links (35.3.17)."""
Padding = Annotated[int, *one_of((0, 32, 64, 128, 256), "padding delay of EMLSR in us")]
"""802.11be-2024 table 9-417i."""
Transition = Annotated[int, *one_of((0, 16, 32, 64, 128, 256), "transition delay of EMLSR in us")]
"""802.11be-2024 table 9-417j."""
PADDING_US, TRANSITION_US = 32, 64
"""Those that Linux's driver of Intel's cards announces (iwlwifi, `IWL_MLD_EMLSR_CAPA`)."""


class FurtherLink(Table):
    """A channel that a cell's stations use beside the cell's own."""

    channel: Integer = key(..., "another one than the cell's", ge=1, le=LAST_6_GHZ_CHANNEL)
    width_mhz: Width | None = key(None, "default: the cell's", unit="MHz")
    punct_bitmap: PunctBitmap | None = key(
        None, "20 MHz subchannels of it that are left out, as the cell's key of this name"
    )
    band_ghz: Band | None = key(None, "5 or 6; default: `radio.channel`'s", unit="GHz")
