# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[backbone]]`: stations that reach each other by separate radios."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hoplab.model.scenario.keys import Integer, Name, Table, key


class Backbone(Table):
    """A wireless network without an access point: among access points, or along a chain."""

    name: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")] | None = (
        key(None, "in errors and records; backbone0, backbone1, … where it is not given")
    )
    stations: tuple[Name, ...] = key(
        ...,
        "who is in it, by a radio each: a station in several cells and backbones has as many "
        "radios, wlan0, wlan1, …",
        min_length=2,
    )
    mode: Literal["mesh", "ad-hoc"] = key(
        "mesh",
        "mesh: 802.11s, where the kernel finds paths over several hops (HWMP); ad-hoc: one hop by "
        "the radio, several by static routes",
    )
    channel: Integer | None = key(
        None, "its own, in the band of radio.channel; that one where it is not given", ge=1, le=165
    )

    @model_validator(mode="after")
    def _check(self) -> Backbone:
        if len(set(self.stations)) < len(self.stations):
            raise ValueError("stations: one is given twice")
        return self
