# SPDX-License-Identifier: Apache-2.0
"""Frequencies of channels."""

from __future__ import annotations

from hoplab.model.keys.radio import (
    BAND_2_GHZ,
    BAND_5_GHZ,
    BAND_6_GHZ,
    BANDS_OF_STANDARD,
    CHANNELS_OF_BAND,
    DSSS_MBPS,
    LAST_2_GHZ_CHANNEL,
    LAST_5_GHZ_CHANNEL,
    LAST_6_GHZ_CHANNEL,
    RATES_OF_STANDARD,
)
from hoplab.model.keys.resolved import ResolvedRadio

START_MHZ = {BAND_2_GHZ: 2407, BAND_5_GHZ: 5000, BAND_6_GHZ: 5950}
"""Where a band's channels are counted from, in steps of 5 MHz (IEEE 802.11-2020 15.4.4.3,
17.3.8.4.2, 802.11ax-2021 27.3.23.2)."""
LAST_2_GHZ_MHZ = 2484
FIRST_5_GHZ_CHANNEL, FIRST_ABOVE_5_7_GHZ, FIRST_6_GHZ_CHANNEL = 36, 149, 1
LAST_OF_80_MHZ_AT_6_GHZ = 221
LAST_OF_320_MHZ_AT_6_GHZ = 189
"""Of those that begin at channel 1 (802.11be-2024 table E-4, 320 MHz-1)."""
DSSS_WIDTH_MHZ = 22
"""IEEE 802.11-2020 15.4.4.3: width of the mask to the first zero."""


def channels_of(standard: str, band_ghz: float | None = None) -> tuple[int, ...]:
    """Return the channels on which a radio of ``standard`` may begin to send. Without a band they
    are those of the bands that a channel's number tells apart."""
    bands = (BAND_2_GHZ, BAND_5_GHZ) if band_ghz is None else (band_ghz,)
    own = BANDS_OF_STANDARD[standard]
    return tuple(each for band in bands if band in own for each in CHANNELS_OF_BAND[band])


def listed(channels: tuple[int, ...]) -> str:
    """Return channels as a message names them, the many of 6 GHz in short."""
    if channels == CHANNELS_OF_BAND[BAND_6_GHZ]:
        return f"1, 5, 9, … {LAST_6_GHZ_CHANNEL}"
    return ", ".join(map(str, channels))


def channel_mhz(band_ghz: float, channel: int) -> int:
    """Return the centre of a channel."""
    if band_ghz == BAND_2_GHZ and channel == LAST_2_GHZ_CHANNEL:
        return LAST_2_GHZ_MHZ
    return START_MHZ[band_ghz] + 5 * channel


def centre_mhz(band_ghz: float, channel: int, width_mhz: int) -> int:
    """Return the centre of the channel of this width that has ``channel`` in it (IEEE 802.11-2020
    annex E, table E-4)."""
    if width_mhz == 20:
        return channel_mhz(band_ghz, channel)
    apart, first = width_mhz // 5, _first(band_ghz, channel)
    lowest = first + (channel - first) // apart * apart
    return channel_mhz(band_ghz, lowest) + width_mhz // 2 - 10


def grid_mhz(band_ghz: float, channel: int) -> int:
    """Return where the channels of 40 to 160 MHz begin to which this one belongs."""
    return channel_mhz(band_ghz, _first(band_ghz, channel)) - 10


def _first(band_ghz: float, channel: int) -> int:
    if band_ghz == BAND_6_GHZ:
        return FIRST_6_GHZ_CHANNEL
    return FIRST_5_GHZ_CHANNEL if channel < FIRST_ABOVE_5_7_GHZ else FIRST_ABOVE_5_7_GHZ


def widest_mhz(band_ghz: float, channel: int) -> int:
    """Return the widest channel that contains this one (IEEE 802.11-2020 annex E, table E-4)."""
    if band_ghz == BAND_2_GHZ:
        return 40
    if band_ghz == BAND_6_GHZ:
        if channel == LAST_6_GHZ_CHANNEL:
            return 20
        if channel <= LAST_OF_320_MHZ_AT_6_GHZ:
            return 320
        return 160 if channel <= LAST_OF_80_MHZ_AT_6_GHZ else 40
    if channel == LAST_5_GHZ_CHANNEL:
        return 20
    return 160 if channel < FIRST_ABOVE_5_7_GHZ else 80


def span_mhz(
    radio: ResolvedRadio, channel: int, width_mhz: int | None = None
) -> tuple[float, float]:
    """Return the frequencies that radios on ``channel`` use, from and to, in MHz. Without a width
    it is that of ``radio``."""
    width = width_mhz or radio.width_mhz
    if radio.band == BAND_2_GHZ:
        dsss = set(DSSS_MBPS) & set(RATES_OF_STANDARD[radio.standard])
        primary = DSSS_WIDTH_MHZ if dsss else 20
        centre = channel_mhz(radio.band, channel)
        # The second half may be above or below the first.
        half = primary / 2 + width - 20
    else:
        centre, half = centre_mhz(radio.band, channel, width), width / 2
    return centre - half, centre + half


def signal_mhz(radio: ResolvedRadio, channel: int, width_mhz: int) -> tuple[float, float]:
    """Return the frequencies that a signal of ``radio`` takes, from and to, in MHz. Unlike
    `span_mhz` this is no room for two ways to use it."""
    if radio.band != BAND_2_GHZ:
        return span_mhz(radio, channel, width_mhz)
    width: float = DSSS_WIDTH_MHZ if radio.is_dsss else width_mhz
    centre = channel_mhz(radio.band, channel)
    return centre - width / 2, centre + width / 2


def overlaps(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two spans of `span_mhz` share frequencies."""
    return one[0] < other[1] and other[0] < one[1]
