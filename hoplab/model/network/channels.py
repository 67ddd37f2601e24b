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
    DSSS_STANDARDS,
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
LAST_WITH_OFDM, FIRST_OF_SECONDARY_BELOW, LAST_OF_SECONDARY_ABOVE = 13, 5, 9
"""At 2.4 GHz, by table E-4: channel 14 is for DSSS (class 82). The other half is above channels 1
to 9 (class 83), or below channels 5 to 13 (class 84)."""
LAST_ABOVE_BY_ITSELF = 7
"""Up to here the other half above is on one of the world's 11 channels."""


def channels_of(standard: str, band_ghz: float | None = None) -> tuple[int, ...]:
    """Return the channels on which a radio of ``standard`` may begin to send. Without a band they
    are those of the bands that a channel's number tells apart."""
    bands = (BAND_2_GHZ, BAND_5_GHZ) if band_ghz is None else (band_ghz,)
    own = BANDS_OF_STANDARD[standard]
    return tuple(
        each
        for band in bands
        if band in own
        for each in CHANNELS_OF_BAND[band]
        if band != BAND_2_GHZ or each <= LAST_WITH_OFDM or standard in DSSS_STANDARDS
    )


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


def centre_mhz(band_ghz: float, channel: int, width_mhz: int, secondary: str | None = None) -> int:
    """Return the centre of the channel of this width that has ``channel`` in it (IEEE 802.11-2020
    annex E, table E-4). ``secondary`` is `radio.secondary`."""
    if width_mhz == 20:
        return channel_mhz(band_ghz, channel)
    if band_ghz == BAND_2_GHZ:
        above = is_above(channel, secondary)
        return channel_mhz(band_ghz, channel) + (10 if above else -10)
    apart, first = width_mhz // 5, _first(band_ghz, channel)
    lowest = first + (channel - first) // apart * apart
    return channel_mhz(band_ghz, lowest) + width_mhz // 2 - 10


def is_above(channel: int, secondary: str | None) -> bool:
    """Return whether the other half of 40 MHz at 2.4 GHz is above the primary channel."""
    return channel <= LAST_ABOVE_BY_ITSELF if secondary is None else secondary == "above"


def grid_mhz(band_ghz: float, channel: int) -> int:
    """Return where the channels of 40 to 160 MHz begin to which this one belongs."""
    return channel_mhz(band_ghz, _first(band_ghz, channel)) - 10


def _first(band_ghz: float, channel: int) -> int:
    if band_ghz == BAND_6_GHZ:
        return FIRST_6_GHZ_CHANNEL
    return FIRST_5_GHZ_CHANNEL if channel < FIRST_ABOVE_5_7_GHZ else FIRST_ABOVE_5_7_GHZ


def widest_mhz(band_ghz: float, channel: int, secondary: str | None = None) -> int:
    """Return the widest channel that contains this one (IEEE 802.11-2020 annex E, table E-4).
    ``secondary`` is `radio.secondary`."""
    if band_ghz == BAND_2_GHZ:
        if is_above(channel, secondary):
            return 40 if channel <= LAST_OF_SECONDARY_ABOVE else 20
        return 40 if FIRST_OF_SECONDARY_BELOW <= channel <= LAST_WITH_OFDM else 20
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
        half = max(DSSS_WIDTH_MHZ if dsss else 20, width) / 2
    else:
        half = width / 2
    centre = centre_mhz(radio.band, channel, width, radio.secondary)
    return centre - half, centre + half


def signal_mhz(radio: ResolvedRadio, channel: int, width_mhz: int) -> tuple[float, float]:
    """Return the frequencies that a signal of ``radio`` takes, from and to, in MHz. Unlike
    `span_mhz` these are not those of DSSS where a radio also has that."""
    if radio.band != BAND_2_GHZ or radio.is_dsss:
        return span_mhz(radio, channel, width_mhz)
    centre = centre_mhz(radio.band, channel, width_mhz, radio.secondary)
    return centre - width_mhz / 2, centre + width_mhz / 2


def overlaps(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two spans of `span_mhz` share frequencies."""
    return one[0] < other[1] and other[0] < one[1]
