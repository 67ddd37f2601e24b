# SPDX-License-Identifier: Apache-2.0
"""Refuse radios' own channels on which sending is not possible, or which overlap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.channels import channels_of, listed, span_mhz, widest_mhz
from hoplab.model.scenario.radio import Radio


def check_channels(radio: Radio, own: Sequence[tuple[str, int | None]]) -> None:
    """Raise `ScenarioError` for the first of these keys whose channel is wrong. Either no station
    can send on it, or it shares frequencies with another. A key without a channel has that of
    `[radio]`."""
    assert radio.channel is not None
    channels = {key: radio.channel if channel is None else channel for key, channel in own}
    for key, channel in channels.items():
        if channel != radio.channel:
            _possible(radio, key, channel)
    for (key, first), (other, second) in combinations(channels.items(), 2):
        if first != second and _overlap(span_mhz(radio, first), span_mhz(radio, second)):
            raise ScenarioError(
                f"{other}: {second} overlaps {first} of {key}, and channels are the same or "
                "apart; use one that is further away, or the same"
            )


def _possible(radio: Radio, key: str, channel: int) -> None:
    band = channels_of(str(radio.standard), radio.band)
    if channel not in band:
        raise ScenarioError(
            f"{key}: {channel} is no channel of radio.channel's band on which {radio.standard} "
            f"may send here; one of {listed(band)}"
        )
    widest = widest_mhz(radio.band, channel)
    if (radio.width_mhz or 20) > widest:
        raise ScenarioError(
            f"{key}: {channel} has neighbours for {widest} MHz at most, and radio.width_mhz is "
            f"{radio.width_mhz}; use another channel"
        )


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
