# SPDX-License-Identifier: Apache-2.0
"""What a transmitter may send beside its channel: the transmit spectrum masks.

They are those of IEEE 802.11-2020 16.3.7.5 (DSSS), 17.3.9.3 (OFDM), 19.3.18.1 (HT), 21.3.17.1 (VHT)
802.11ax-2021 27.3.19.1 (HE) and 802.11be-2024 36.3.20.1 (EHT).

A mask limits the density of power over the offset from the channel's centre, relative to the
largest density. It is linear in dB between its points, and constant after the last one:

    offset | flat   skirt   1 width   1.5 widths
    dBr    | 0      -20     -28       -40 (-45 of HT and HE at 2.4 GHz)

DSSS may send 0 dBr up to 11 MHz, -30 up to 22 MHz and -50 beyond.

`leakage_db` takes a transmitter that uses all of it. On 20 MHz, in MHz of the flat top, VHT leaks
to the next channel, whose subcarriers lie from 20 - 9 to 20 + 9 MHz:

    9 to 11 MHz    2 (1 - 10^-2.0) / ln(10^2.0)              = 0.4300
    11 to 20 MHz   9 (10^-2.0 - 10^-2.8) / ln(10^0.8)        = 0.0411
    20 to 29 MHz   9 (10^-2.8 - 10^-3.88) / ln(10^1.08)      = 0.0053
    20 to 30 MHz   10 (10^-2.8 - 10^-4.0) / ln(10^1.2)       = 0.0054

    10 log10((0.0411 + 0.0053) / (2 (9 + 0.4300 + 0.0411 + 0.0054))) = -26.1 dB

Clause 17.3.9.3 has the same mask for OFDM on 20 MHz, with which answers are sent. The masks' floor
of -53 dBm/MHz is left out: at 15 dBm on 20 MHz it is 15 dB below their last point.

A receiver's filter passes what its own mask has at 0 dBr, and nothing else. At 2.4 GHz channels
overlap, so the flat tops of two masks do too. DSSS on channel 1 gives channel 3, 10 MHz away, 12 of
its 22.03 MHz and 10 MHz at -30 dBr: -2.6 dB.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from hoplab.model.keys.radio import DSSS_STANDARDS, HE_STANDARDS, HT_STANDARDS

TOP_MHZ = {20: (9.0, 11.0), 40: (19.0, 21.0), 80: (39.0, 41.0), 160: (79.0, 81.0)}
"""End of the flat top and of the skirt, by width: of OFDM, HT and VHT."""
HE_TOP_MHZ = {
    20: (9.75, 10.5),
    40: (19.5, 20.5),
    80: (39.5, 40.5),
    160: (79.5, 80.5),
    320: (159.5, 160.5),
}
"""Of HE and EHT."""
DSSS_MASK = (
    (0.0, 0.0),
    (11.0, 0.0),
    (11.0, -30.0),
    (22.0, -30.0),
    (22.0, -50.0),
    (math.inf, -50.0),
)
SKIRT_DBR, ONE_WIDTH_DBR = -20.0, -28.0
LAST_DBR, LAST_AT_2_GHZ_DBR = -40.0, -45.0
BELOW_5_GHZ_MHZ = 3000.0
FARTHEST = 2
"""Channels with centres further apart than so many widths do not hear each other."""


class Band(NamedTuple):
    """A channel's centre and width in MHz."""

    centre_mhz: float
    width_mhz: int

    @classmethod
    def of(cls, low_mhz: float, high_mhz: float) -> Band:
        """Return the band between two frequencies."""
        return cls((low_mhz + high_mhz) / 2, round(high_mhz - low_mhz))


def mask(standard: str, band: Band) -> list[tuple[float, float]]:
    """Return the points of a transmitter's mask: offset in MHz from the centre, and dBr."""
    if standard in DSSS_STANDARDS:
        return list(DSSS_MASK)
    top, skirt = _top_mhz(standard)[band.width_mhz]
    at_2_ghz = band.centre_mhz < BELOW_5_GHZ_MHZ and standard in HT_STANDARDS
    last = LAST_AT_2_GHZ_DBR if at_2_ghz else LAST_DBR
    width = float(band.width_mhz)
    return [
        (0.0, 0.0),
        (top, 0.0),
        (skirt, SKIRT_DBR),
        (width, ONE_WIDTH_DBR),
        (1.5 * width, last),
        (math.inf, last),
    ]


def filter_mhz(standard: str, band: Band) -> tuple[float, float]:
    """Return the frequencies that a receiver's filter passes, from and to."""
    half = mask(standard, band)[1][0]
    return band.centre_mhz - half, band.centre_mhz + half


def leakage_db(standard: str, sender: Band, receiver: Band) -> float | None:
    """Return the share of a signal's power that falls on a receiver's subcarriers. They lie where
    its own channel's mask is flat. None for channels too far apart."""
    apart = abs(sender.centre_mhz - receiver.centre_mhz)
    if apart > FARTHEST * max(sender.width_mhz, receiver.width_mhz):
        return None
    points = mask(standard, sender)
    half = mask(standard, receiver)[1][0]
    whole = 2 * _power(points, 0.0, points[-2][0])
    below = _power(points, 0.0, half - apart)
    heard = below + _power(points, max(apart - half, 0.0), apart + half)
    return 10.0 * math.log10(heard / whole)


def _top_mhz(standard: str) -> dict[int, tuple[float, float]]:
    return HE_TOP_MHZ if standard in HE_STANDARDS else TOP_MHZ


def _power(points: list[tuple[float, float]], low: float, high: float) -> float:
    """Integrate a mask's density between two offsets on one side of the centre."""
    total = 0.0
    for (begin, begin_dbr), (end, end_dbr) in itertools.pairwise(points):
        first, last = max(low, begin), min(high, end)
        if first >= last:
            continue
        slope = (end_dbr - begin_dbr) / (end - begin)
        density = 10 ** ((begin_dbr + slope * (first - begin)) / 10)
        # The integral of an exponential, `(e^x - 1) / x`, which is 1 where the mask is flat.
        x = slope * (last - first) * math.log(10) / 10
        total += density * (last - first) * (math.expm1(x) / x if x else 1.0)
    return total
