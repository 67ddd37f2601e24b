# SPDX-License-Identifier: Apache-2.0
"""Refuse radios' own channels on which sending is not possible, or which overlap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.medium_document import channel_mhz
from hoplab.model.scenario.radio import (
    CHANNELS_OF_STANDARD,
    DSSS_MBPS,
    LAST_2_GHZ_CHANNEL,
    RATES_OF_STANDARD,
    Radio,
)

FIRST_5_GHZ_CHANNEL, FIRST_ABOVE_5_7_GHZ, LAST_5_GHZ_CHANNEL = 36, 149, 165
DSSS_WIDTH_MHZ = 22
"""IEEE 802.11-2020 15.4.4.3: width of the mask to the first zero."""


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
    assert radio.channel is not None
    known = CHANNELS_OF_STANDARD[str(radio.standard)]
    low = radio.channel <= LAST_2_GHZ_CHANNEL
    band = [each for each in known if (each <= LAST_2_GHZ_CHANNEL) == low]
    if channel not in band:
        raise ScenarioError(
            f"{key}: {channel} is no channel of radio.channel's band on which {radio.standard} "
            f"may send here; one of {', '.join(map(str, band))}"
        )
    widest = widest_mhz(channel)
    if (radio.width_mhz or 20) > widest:
        raise ScenarioError(
            f"{key}: {channel} has neighbours for {widest} MHz at most, and radio.width_mhz is "
            f"{radio.width_mhz}; use another channel"
        )


def widest_mhz(channel: int) -> int:
    """Return the widest channel that contains this one (IEEE 802.11-2020 annex E, table E-4)."""
    if channel == LAST_5_GHZ_CHANNEL:
        return 20
    if channel <= LAST_2_GHZ_CHANNEL:
        return 40
    return 160 if channel < FIRST_ABOVE_5_7_GHZ else 80


def span_mhz(radio: Radio, channel: int) -> tuple[float, float]:
    """Return the frequencies that radios on ``channel`` use, from and to, in MHz."""
    width = radio.width_mhz or 20
    centre = channel_mhz(channel)
    if channel <= LAST_2_GHZ_CHANNEL:
        dsss = set(DSSS_MBPS) & set(RATES_OF_STANDARD[str(radio.standard)])
        primary = DSSS_WIDTH_MHZ if dsss else 20
        # The second half may be above or below the first.
        half = primary / 2 + width - 20
        return centre - half, centre + half
    first = FIRST_5_GHZ_CHANNEL if channel < FIRST_ABOVE_5_7_GHZ else FIRST_ABOVE_5_7_GHZ
    lowest = channel_mhz(first) - 10
    low = lowest + (centre - lowest) // width * width
    return low, low + width


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
