# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[backbone]]`: stations that reach each other by separate radios."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from hoplab.model.keys.declare import Integer, Label, Name, Table, key
from hoplab.model.keys.radio import LAST_6_GHZ_CHANNEL, PunctBitmap


class Backbone(Table):
    """A wireless network without an access point: among access points, or along a chain."""

    name: Label | None = key(None, "in errors and records; default `backbone0`, `backbone1`, …")
    stations: tuple[Name, ...] = key(
        ...,
        "members; a station has a radio (`wlan0`, `wlan1`, …) for each of its cells and backbones",
        min_length=2,
    )
    mode: Literal["mesh", "ad-hoc"] = key(
        "mesh",
        "`mesh`: 802.11s with the kernel's multi-hop paths (HWMP); `ad-hoc`: one hop by "
        "radio, several by static routes",
    )
    channel: Integer | None = key(
        None, "in the band of `radio.channel`, the default", ge=1, le=LAST_6_GHZ_CHANNEL
    )
    punct_bitmap: PunctBitmap | None = key(
        None, "20 MHz subchannels that are left out, as a cell's key of this name"
    )

    @model_validator(mode="after")
    def _check(self) -> Backbone:
        if len(set(self.stations)) < len(self.stations):
            raise ValueError("stations: one is given twice")
        return self
