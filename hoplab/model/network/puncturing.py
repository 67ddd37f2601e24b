# SPDX-License-Identifier: Apache-2.0
"""Preamble puncturing: subchannels of 20 MHz that a network of 802.11be leaves out (802.11be-2024
35.15.2)."""

from __future__ import annotations

SUBCHANNEL_MHZ = 20
MOST_SUBCHANNELS = 16
LEAST_PUNCTURED_MHZ = 80
END_80_MHZ = (0x000F, 0xF000)
"""The lowest and the highest 80 of 320 MHz."""
ALLOWED = {
    80: "one of 20 MHz",
    160: "one of 20 or 40 MHz",
    320: "one of 40 or 80 MHz, or 80 MHz at an end with one of 40 beside",
}
"""What `patterns` has, in words, by the channel's width."""


def patterns(width_mhz: int) -> frozenset[int]:
    """Return the bitmaps that a PPDU to one user may have on a channel of this width (table 36-30),
    without the empty one. The lowest bit is the lowest subchannel in frequency."""
    if width_mhz == 80:
        return _channels(80, 20)
    if width_mhz == 160:
        return _channels(160, 20) | _channels(160, 40)
    if width_mhz == 320:
        others = _channels(320, 40)
        both = {end | other for end in END_80_MHZ for other in others if not end & other}
        return others | _channels(320, 80) | both
    return frozenset()


def _channels(width_mhz: int, size_mhz: int) -> frozenset[int]:
    """Return the bitmap of each channel of a size."""
    count = size_mhz // SUBCHANNEL_MHZ
    firsts = range(0, width_mhz // SUBCHANNEL_MHZ, count)
    return frozenset((1 << count) - 1 << first for first in firsts)


def remaining_mhz(low_mhz: float, high_mhz: float, bitmap: int) -> list[tuple[float, float]]:
    """Return what is left of a channel, each subchannel from and to. It is the whole channel if
    nothing of it is punctured."""
    if not bitmap:
        return [(low_mhz, high_mhz)]
    count = round((high_mhz - low_mhz) / SUBCHANNEL_MHZ)
    lows = [low_mhz + SUBCHANNEL_MHZ * i for i in range(count) if not bitmap >> i & 1]
    return [(low, low + SUBCHANNEL_MHZ) for low in lows]
