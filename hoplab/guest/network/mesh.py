# SPDX-License-Identifier: Apache-2.0
"""Radios as an IEEE 802.11s mesh, open and without a gate (IEEE 802.11-2020 14).

The kernel finds its peers by beacons and its paths by HWMP, below IP.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from pyroute2.iwutil import IW

from hoplab.guest.network import wifi
from hoplab.guest.network.namespaces import Namespaces, inside
from hoplab.model.errors import MissingTool
from hoplab.model.keys.radio import HT_STANDARDS
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.network.plan import Plan
from hoplab.model.network.reach import ETHERNET_MTU
from hoplab.model.network.wlans import Wlan

MESH_ID = "hoplab"
INTERVAL_TU = 1000
"""Between a station's beacons; mac80211's own default."""
TU_US = 1024
DTIM_PERIOD = 2
MOST_PEERS = struct.pack("=HHHxx", 6, 4, 255)
"""NL80211_MESHCONF_MAX_PEER_LINKS: the largest number possible."""


def settle(namespaces: Namespaces, wlan: Wlan, phy_index: int, radio: ResolvedRadio) -> None:
    """Make the radio with this wiphy the interface ``wlan`` of its station, ready to join."""
    with inside(wlan.station):
        iw = IW()
    try:
        index = wifi.interface_of(iw, phy_index)
        route = namespaces.netlink(wlan.station)
        route.link("set", index=index, state="down")
        route.link("set", index=index, ifname=wlan.interface)
        iw.set_interface_type(index, "mesh_point")
        # Mesh header and further addresses take the room that a longer packet would need.
        route.link("set", index=index, mtu=ETHERNET_MTU, state="up")
        wifi.limits(iw, phy_index, radio)
        wifi.choose_rates(iw, index, wifi.name_of(iw, phy_index), radio)
    finally:
        iw.close()


def join(plan: Plan, namespaces: Namespaces) -> None:
    """Let all radios of meshes join, now that a medium decides who hears whom. Each radio takes the
    radios that it hears for peers, and keeps them for long."""
    radio = plan.scenario.radio
    if plan.scenario.routing.protocol == "hwmp":
        _join_all(namespaces, [wlan for name in plan.radios for wlan in plan.wlans[name]], radio)
    for backbone in plan.scenario.backbone:
        if backbone.mode == "mesh":
            members = [plan.wlan_in(name, backbone) for name in backbone.stations]
            _join_all(namespaces, members, plan.radio_of(members[0]), backbone.name)


def _join_all(
    namespaces: Namespaces, members: Sequence[Wlan], radio: ResolvedRadio, mesh: str = MESH_ID
) -> None:
    for number, wlan in enumerate(members):
        with inside(wlan.station):
            iw = IW()
        try:
            index = namespaces.index(wlan.station, wlan.interface)
            _join(iw, index, radio, mesh)
            _set_clock(wlan, number * INTERVAL_TU * TU_US // len(members))
        finally:
            iw.close()


def _set_clock(wlan: Wlan, apart_us: int) -> None:
    """Put a radio's clock forward. With equal clocks all stations would send their beacons at one
    instant, and nobody would hear any."""
    folder = wifi.DEBUGFS / wlan.wiphy
    # A folder may bear the name that the interface had before it entered its station.
    for netdev in folder.glob("netdev:*"):
        # The kernel takes a value for a difference if it has nine digits.
        (netdev / "tsf").write_text(f"+={apart_us:09}", encoding="ascii")
        return
    raise MissingTool(
        f"{folder}: no interface is there, so all radios would send their beacons at once; mount "
        "debugfs at /sys/kernel/debug of a kernel with MAC80211_DEBUGFS, or run with --machine uml"
    )


def _join(iw: Any, index: int, radio: ResolvedRadio, mesh: str) -> None:
    wifi.request(
        iw,
        "NL80211_CMD_JOIN_MESH",
        [
            ("NL80211_ATTR_IFINDEX", index),
            ("NL80211_ATTR_MESH_ID", mesh.encode()),
            ("NL80211_ATTR_WIPHY_FREQ", wifi.frequency_mhz(radio)),
            *(wifi.width(radio) if radio.standard in HT_STANDARDS else []),
            ("NL80211_ATTR_MESH_CONFIG", MOST_PEERS),
            ("NL80211_ATTR_BEACON_INTERVAL", struct.pack("=I", INTERVAL_TU)),
            ("NL80211_ATTR_DTIM_PERIOD", struct.pack("=I", DTIM_PERIOD)),
            ("NL80211_ATTR_BSS_BASIC_RATES", bytes([round(radio.basic_rate_mbps * 2)])),
            (
                "NL80211_ATTR_MCAST_RATE",
                struct.pack("=I", round(radio.basic_rate_mbps * 10)),
            ),
        ],
    )
