# SPDX-License-Identifier: Apache-2.0
"""nl80211, by which the kernel's Wi-Fi is set up (linux/nl80211.h)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from enum import IntEnum

from hoplab.guest.network import generic
from hoplab.guest.network.generic import Generic
from hoplab.guest.network.netlink import number, u32, word
from hoplab.model.errors import HoplabError

FAMILY = "nl80211"


class Command(IntEnum):
    """enum nl80211_commands, what is used of it."""

    GET_WIPHY = 1
    SET_WIPHY = 2
    GET_INTERFACE = 5
    SET_INTERFACE = 6
    GET_STATION = 17
    REQ_SET_REG = 27
    GET_REG = 31
    JOIN_IBSS = 43
    SET_WIPHY_NETNS = 49
    SET_TX_BITRATE_MASK = 57
    FRAME = 59
    SET_POWER_SAVE = 61
    JOIN_MESH = 68
    RELOAD_REGDB = 126


class Attr(IntEnum):
    """enum nl80211_attrs, what is used of it."""

    WIPHY = 1
    WIPHY_NAME = 2
    IFINDEX = 3
    IFNAME = 4
    IFTYPE = 5
    MAC = 6
    BEACON_INTERVAL = 12
    DTIM_PERIOD = 13
    STA_INFO = 21
    MESH_ID = 24
    REG_ALPHA2 = 33
    MESH_CONFIG = 35
    BSS_BASIC_RATES = 36
    WIPHY_FREQ = 38
    FRAME = 51
    SSID = 52
    FREQ_FIXED = 60
    WIPHY_RETRY_SHORT = 61
    WIPHY_RETRY_LONG = 62
    WIPHY_RTS_THRESHOLD = 64
    TX_RATES = 90
    PS_STATE = 93
    MCAST_RATE = 107
    DONT_WAIT_FOR_ACK = 142
    CHANNEL_WIDTH = 159
    CENTER_FREQ1 = 160
    NETNS_FD = 219


class Kind(IntEnum):
    """enum nl80211_iftype, what is used of it."""

    ADHOC = 1
    MESH_POINT = 7


Given = Mapping[Attr, bytes]


class Wireless:
    """The radios of a station, or of this process's namespace; ``over`` is a socket there."""

    def __init__(self, over: Generic) -> None:
        self._over = over
        self._family = generic.number_of(FAMILY)

    def request(self, command: Command, given: Given) -> None:
        """Have the kernel do something. Raises `Refused` if it does not."""
        self._over.request(self._family, command, given.items())

    def dump(self, command: Command, given: Given) -> Iterator[Mapping[int, memoryview]]:
        """Yield the attributes of each answer."""
        return self._over.dump(self._family, command, given.items())

    def interface_of(self, phy_index: int) -> int:
        """Return the index of this wiphy's interface."""
        # Read all answers, so that none is left for the next request.
        for found in list(self.dump(Command.GET_INTERFACE, {Attr.WIPHY: u32(phy_index)})):
            if Attr.IFNAME in found and number(found[Attr.WIPHY]) == phy_index:
                return number(found[Attr.IFINDEX])
        raise HoplabError(f"radio: wiphy {phy_index} has no interface here; see dmesg")

    def wiphys(self) -> dict[int, str]:
        """Return the name of each wiphy here, by its index."""
        return {
            number(found[Attr.WIPHY]): word(found[Attr.WIPHY_NAME])
            for found in self.dump(Command.GET_WIPHY, {})
        }

    def set_kind(self, index: int, kind: Kind) -> None:
        """Make an interface, which must be down, one of this kind."""
        given = {Attr.IFINDEX: u32(index), Attr.IFTYPE: u32(kind)}
        self.request(Command.SET_INTERFACE, given)


@contextlib.contextmanager
def wireless(station: str | None) -> Iterator[Wireless]:
    """Open the radios of a station, or of this process's namespace."""
    what = f"radio of {station}" if station is not None else "radios"
    with contextlib.closing(Generic(station, what)) as over:
        yield Wireless(over)
