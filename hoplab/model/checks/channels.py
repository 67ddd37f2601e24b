# SPDX-License-Identifier: Apache-2.0
"""Refuse radios' own channels on which sending is not possible, or which overlap where the medium
cannot have that."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import given
from hoplab.model.keys.radio import BAND_2_GHZ
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.network.channels import channels_of, listed, overlaps, span_mhz, widest_mhz


class Place(NamedTuple):
    """The channel and the width that a table names. It has those of `[radio]` else."""

    table: str
    channel: int | None
    width_mhz: int | None = None


def check_channels(radio: ResolvedRadio, places: Sequence[Place]) -> None:
    """Raise `ScenarioError` for the first of these whose channel is wrong. No station can send on
    it, or it shares frequencies with another that has them in another way."""
    known = [
        Place(where, channel or radio.channel, width or radio.width_mhz)
        for where, channel, width in places
    ]
    for place, whole in zip(places, known, strict=True):
        if whole.channel != radio.channel or place.width_mhz is not None:
            _possible(radio, whole)
    for first, second in combinations(known, 2):
        _together(radio, first, second)


def _together(radio: ResolvedRadio, first: Place, second: Place) -> None:
    """Two on one channel have one width. Two whose channels overlap need secondary channels, which
    the rules of 802.11n and later have at 5 and 6 GHz. At 2.4 GHz they leak to each other."""
    if first.channel == second.channel:
        if first.width_mhz != second.width_mhz:
            raise ScenarioError(
                f"{second.table}.width_mhz: {second.width_mhz}, but {first.table} is on channel "
                f"{first.channel} too, with {first.width_mhz} MHz; use the same, or another channel"
            )
        return
    spans = [span_mhz(radio, given(place.channel), place.width_mhz) for place in (first, second)]
    if not overlaps(*spans) or (radio.rules == "edca" and radio.band != BAND_2_GHZ):
        return
    where = (
        f"{second.table}.channel: {second.channel} overlaps {first.channel} of "
        f"{first.table}.channel"
    )
    if radio.band != BAND_2_GHZ:
        raise ScenarioError(
            f"{where}, and channels are the same or apart; use one that is further away, or the "
            "same"
        )
    if radio.leakage != "mask":
        raise ScenarioError(
            f'{where}; set radio.leakage = "mask", or use one that is further away, or the same'
        )


def _possible(radio: ResolvedRadio, place: Place) -> None:
    key, channel = f"{place.table}.channel", given(place.channel)
    band = channels_of(radio.standard, radio.band)
    if channel not in band:
        raise ScenarioError(
            f"{key}: {channel} is no channel of radio.channel's band on which {radio.standard} "
            f"may send here; one of {listed(band)}"
        )
    widest, width = widest_mhz(radio.band, channel, radio.secondary), given(place.width_mhz)
    if width > radio.width_mhz:
        raise ScenarioError(
            f"{place.table}.width_mhz: {width} is more than radio.width_mhz, {radio.width_mhz}; "
            "raise that one"
        )
    if width > widest:
        own = width != radio.width_mhz
        raise ScenarioError(
            f"{key}: {channel} has neighbours for {widest} MHz at most, and "
            f"{place.table if own else 'radio'}.width_mhz is {width}; use another channel"
        )
