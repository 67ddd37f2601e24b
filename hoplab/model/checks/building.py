# SPDX-License-Identifier: Apache-2.0
"""Refuse walls, floors and interferers that have no effect, or of which no value is known."""

from __future__ import annotations

from collections.abc import Collection

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.building import MAX_SEGMENTS
from hoplab.model.keys.resolved import Resolved, ResolvedMedium, ResolvedRadio
from hoplab.model.network.obstacles import VALID_MHZ
from hoplab.model.network.powers import sensing_dbm


def check_surroundings(described: Resolved | ResolvedMedium, names: Collection[str]) -> None:
    """Raise `ScenarioError` for the first wall, floor or interferer that cannot act. ``names`` are
    the stations'."""
    radio = described.radio
    _materials(described)
    _energy(radio, bool(described.interferer))
    if described.snr:
        for key in ("wall", "floor", "interferer"):
            if getattr(described, key):
                raise ScenarioError(
                    f"{key}: acts on nothing, because [[snr]] gives the links' ratios and places "
                    "count for nothing; remove one"
                )
    seen = set(names)
    for i, one in enumerate(described.interferer):
        if one.name in seen:
            raise ScenarioError(f"interferer.{i}.name: {one.name!r} is taken; choose another")
        seen.add(one.name)


def _materials(described: Resolved | ResolvedMedium) -> None:
    mhz = described.radio.frequency_mhz
    for key in ("wall", "floor"):
        for i, slab in enumerate(getattr(described, key)):
            if slab.material is not None and not VALID_MHZ[0] <= mhz <= VALID_MHZ[1]:
                raise ScenarioError(
                    f"{key}.{i}.material: values are known from {VALID_MHZ[0]:g} to "
                    f"{VALID_MHZ[1]:g} MHz, and radio.frequency_mhz is {mhz:g}; give loss_db"
                )
    pieces = sum(len(wall.corners) - 1 for wall in described.wall)
    if pieces > MAX_SEGMENTS:
        raise ScenarioError(f"wall: {pieces} straight pieces in all; at most {MAX_SEGMENTS}")


def _energy(radio: ResolvedRadio, disturbed: bool) -> None:
    """By ns-2's rules a radio knows frames and no energy."""
    asks = [
        ('radio.leakage: "mask"', radio.leakage == "mask"),
        ("radio.ed_threshold_dbm", radio.ed_threshold_dbm is not None),
        ("interferer", disturbed),
    ]
    for what, is_asked in asks:
        if is_asked and radio.rules == "ns-2":
            raise ScenarioError(
                f'{what}: radio.rules is "ns-2", where radios sense frames alone; set radio.rules '
                '= "802.11", or remove it'
            )
    least_dbm = sensing_dbm(radio)
    if radio.ed_threshold_dbm is not None and radio.ed_threshold_dbm < least_dbm:
        raise ScenarioError(
            f"radio.ed_threshold_dbm: {radio.ed_threshold_dbm:g} is below the carrier-sense "
            f"threshold, {least_dbm:.4g} dBm; raise it"
        )
