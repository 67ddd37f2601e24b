# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[wall]]` and `[[floor]]`: what takes a part of the signals that go through it."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from hoplab.model.keys.declare import MAX_COORDINATE_M, Coordinate, Number, Table, key

Material = Literal[
    "concrete", "brick", "plasterboard", "wood", "glass", "chipboard", "plywood", "marble"
]
MAX_WALLS, MAX_FLOORS = 2000, 100
MAX_CORNERS = 1000
MAX_SEGMENTS = 10_000
"""Straight pieces of all walls. Each frame of a moving station looks at all of them."""
MOST_DB = 200.0


class Slab(Table):
    """A layer of one material, or one whose loss is known."""

    material: Material | None = key(
        None, "sets the loss at `radio.frequency_mhz`, by `thickness_m` (ITU-R P.2040-3)"
    )
    thickness_m: Number | None = key(
        None, "default by material: `docs/medium.md`", unit="m", gt=0, le=10
    )
    loss_db: Number | None = key(
        None, "loss of a signal, instead of a material", unit="dB", ge=0, le=MOST_DB
    )

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Slab:
        if (self.material is None) == (self.loss_db is None):
            said = "both are given" if self.material else "neither is given"
            raise ValueError(f"needs material or loss_db; {said}")
        if self.thickness_m is not None and self.material is None:
            raise ValueError("thickness_m is of a material; remove it, or replace loss_db")
        return self


class Wall(Slab):
    """Straight walls from corner to corner."""

    corners: tuple[tuple[Coordinate, Coordinate], ...] = key(
        ...,
        "`[[x_m, y_m], …]`: a wall from each to the next",
        min_length=2,
        max_length=MAX_CORNERS,
    )
    bottom_m: Coordinate = key(-MAX_COORDINATE_M, "height at which it stands", unit="m")
    top_m: Coordinate = key(MAX_COORDINATE_M, "height at which it ends", unit="m")

    @model_validator(mode="after")
    def _stands(self) -> Wall:
        if self.top_m <= self.bottom_m:
            raise ValueError(f"top_m {self.top_m:g} is not above bottom_m {self.bottom_m:g}")
        return self


class Floor(Slab):
    """A floor of all the building."""

    height_m: Coordinate = key(..., "its height; stations have `z_m`", unit="m")
