# SPDX-License-Identifier: Apache-2.0
"""Frequencies of channels."""

from __future__ import annotations

from hoplab.model.scenario.radio import DSSS_MBPS, LAST_2_GHZ_CHANNEL, RATES_OF_STANDARD, Radio

FIRST_5_GHZ_CHANNEL, FIRST_ABOVE_5_7_GHZ, LAST_5_GHZ_CHANNEL = 36, 149, 165
DSSS_WIDTH_MHZ = 22
"""IEEE 802.11-2020 15.4.4.3: width of the mask to the first zero."""


def channel_mhz(channel: int) -> int:
    """Centre of a channel (IEEE 802.11-2020 15.4.4.3, 17.3.8.4.2)."""
    if channel < LAST_2_GHZ_CHANNEL:
        return 2407 + 5 * channel
    return 2484 if channel == LAST_2_GHZ_CHANNEL else 5000 + 5 * channel


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
