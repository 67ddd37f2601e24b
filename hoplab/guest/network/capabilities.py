# SPDX-License-Identifier: Apache-2.0
"""HT and VHT capabilities in a station's beacon, as `mac80211_hwsim`'s radios state them.

Without them a peer's rate control knows none of their rates (IEEE 802.11-2020 9.4.2.55 to
9.4.2.158).
"""

from __future__ import annotations

import struct

from hoplab.model.keys.resolved import ResolvedRadio

HT_CAPABILITIES, HT_OPERATION, VHT_CAPABILITIES, VHT_OPERATION = 45, 61, 191, 192
HT_INFORMATION = 0x1072
"""40 MHz, greenfield, short guard intervals, DSSS and CCK on 40 MHz."""
AMPDU_PARAMETERS = 6 << 2 | 3
"""8 us between starts of frames, 65 535 octets."""
TWO_STREAMS = b"\xff\xff".ljust(10, b"\0")
TX_SET_DEFINED = 1
SECONDARY_ABOVE, SECONDARY_BELOW, ANY_WIDTH = 1, 3, 4
VHT_INFORMATION = 0x0380_04FA
"""11 454 octets, 160 MHz, LDPC, short guard intervals, STBC, A-MPDUs of 1 048 575 octets."""
EIGHT_STREAMS = 0xAAAA
"""MCS 0 to 9 of each."""
NO_BASIC_MCS = 0xFFFF
CHANNEL_OF_80_MHZ = 1


def elements(radio: ResolvedRadio, width_mhz: int, centre_mhz: int, channel_mhz: int) -> bytes:
    """Return the elements of a network of ``width_mhz`` around ``centre_mhz``, whose primary
    channel is at ``channel_mhz``. Elements of VHT appear only from 80 MHz on, as in mac80211's ad
    hoc networks."""
    streams = TWO_STREAMS + struct.pack("<HB3x", 0, TX_SET_DEFINED)
    found = _element(
        HT_CAPABILITIES,
        struct.pack("<HB16sHIB", HT_INFORMATION, AMPDU_PARAMETERS, streams, 0, 0, 0),
    )
    secondary = 0
    if width_mhz > 20:
        above = centre_mhz > channel_mhz
        secondary = ANY_WIDTH | (SECONDARY_ABOVE if above else SECONDARY_BELOW)
    operation = struct.pack("<BBHH", radio.channel, secondary, 0, 0)
    found += _element(HT_OPERATION, operation + TWO_STREAMS + bytes(6))
    if width_mhz < 80:
        return found
    centre = (centre_mhz - 5000) // 5
    maps = struct.pack("<HHHH", EIGHT_STREAMS, 0, EIGHT_STREAMS, 0)
    found += _element(VHT_CAPABILITIES, struct.pack("<I", VHT_INFORMATION) + maps)
    operation = struct.pack("<BBBH", CHANNEL_OF_80_MHZ, centre, 0, NO_BASIC_MCS)
    return found + _element(VHT_OPERATION, operation)


def _element(number: int, content: bytes) -> bytes:
    return bytes([number, len(content)]) + content
