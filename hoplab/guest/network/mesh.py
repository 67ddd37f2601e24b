# SPDX-License-Identifier: Apache-2.0
"""Radios as an IEEE 802.11s mesh, open and without a gate (IEEE 802.11-2020 14).

The kernel finds its peers by beacons and its paths by HWMP, below IP.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from pyroute2 import IW

from hoplab.guest.network import wifi
from hoplab.guest.network.namespaces import Namespaces, inside
from hoplab.model.errors import MissingTool
from hoplab.model.scenario.plan import WIRELESS, Plan
from hoplab.model.scenario.radio import HT_STANDARDS, Radio
from hoplab.model.scenario.reach import ETHERNET_MTU

MESH_ID = b"hoplab"
INTERVAL_TU = 1000
"""Between a station's beacons: mac80211's own."""
TU_US = 1024
DTIM_PERIOD = 2
MOST_PEERS = struct.pack("=HHHxx", 6, 4, 255)
"""NL80211_MESHCONF_MAX_PEER_LINKS: as many as there can be."""


def settle(namespaces: Namespaces, namespace: str, radio: Radio) -> None:
    """Have the radio in ``namespace`` be ``wlan0``, ready to join."""
    with inside(namespace):
        iw = IW()
    try:
        interface = next(
            entry for entry in iw.get_interfaces_dump() if entry.get_attr("NL80211_ATTR_IFNAME")
        )
        index = interface.get_attr("NL80211_ATTR_IFINDEX")
        phy_index = interface.get_attr("NL80211_ATTR_WIPHY")
        route = namespaces.netlink(namespace)
        route.link("set", index=index, state="down")
        route.link("set", index=index, ifname=WIRELESS)
        iw.set_interface_type(index, "mesh_point")
        # Mesh header and further addresses take what a longer packet would need.
        route.link("set", index=index, mtu=ETHERNET_MTU, state="up")
        wifi.limits(iw, phy_index, radio)
        wifi.choose_rates(iw, index, wifi.name_of(iw, phy_index), radio)
    finally:
        iw.close()


def join(plan: Plan, namespaces: Namespaces) -> None:
    """Have all radios join, now that a medium decides who hears whom: each takes those that it
    hears for peers, and for long."""
    for number, station in enumerate(plan.radios):
        with inside(station):
            iw = IW()
        try:
            index = namespaces.index(station, WIRELESS)
            phy = next(iter(iw.list_wiphy())).get_attr("NL80211_ATTR_WIPHY")
            _join(iw, index, plan.scenario.radio)
            _set_clock(
                wifi.DEBUGFS / wifi.name_of(iw, phy) / f"netdev:{WIRELESS}" / "tsf",
                number * INTERVAL_TU * TU_US // len(plan.radios),
            )
        finally:
            iw.close()


def _set_clock(path: Path, apart_us: int) -> None:
    """Put a radio's clock forward. Clocks that agree would have all beacons at one instant, and
    none heard."""
    try:
        # The kernel takes a difference for one where it has nine digits.
        path.write_text(f"+={apart_us:09}", encoding="ascii")
    except FileNotFoundError:
        raise MissingTool(
            f"{path}: not there, so all radios would send their beacons at once; mount debugfs at "
            "/sys/kernel/debug of a kernel with MAC80211_DEBUGFS, or run with --machine uml"
        ) from None


def _join(iw: Any, index: int, radio: Radio) -> None:
    channel = radio.channel or 1
    wifi.request(
        iw,
        "NL80211_CMD_JOIN_MESH",
        [
            ("NL80211_ATTR_IFINDEX", index),
            ("NL80211_ATTR_MESH_ID", MESH_ID),
            ("NL80211_ATTR_WIPHY_FREQ", wifi.frequency_mhz(channel)),
            *(wifi.width(radio) if radio.standard in HT_STANDARDS else []),
            ("NL80211_ATTR_MESH_CONFIG", MOST_PEERS),
            ("NL80211_ATTR_BEACON_INTERVAL", struct.pack("=I", INTERVAL_TU)),
            ("NL80211_ATTR_DTIM_PERIOD", struct.pack("=I", DTIM_PERIOD)),
            ("NL80211_ATTR_BSS_BASIC_RATES", bytes([round((radio.basic_rate_mbps or 1) * 2)])),
            (
                "NL80211_ATTR_MCAST_RATE",
                struct.pack("=I", round((radio.basic_rate_mbps or 1) * 10)),
            ),
        ],
    )
