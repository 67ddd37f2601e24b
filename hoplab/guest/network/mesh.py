# SPDX-License-Identifier: Apache-2.0
"""Radios as an IEEE 802.11s mesh, open and without a gate (IEEE 802.11-2020 14).

The kernel finds its peers by beacons and its paths by HWMP, below IP.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hoplab.guest.network import wifi
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.netlink import u32
from hoplab.guest.network.nl80211 import Attr, Command, Kind, Wireless, wireless
from hoplab.model.errors import MissingTool
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
    with wireless(wlan.station) as iw:
        # Mesh header and further addresses take the room that a longer packet would need.
        wifi.rest(iw, namespaces, wlan, phy_index, radio, Kind.MESH_POINT, ETHERNET_MTU)


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
        with wireless(wlan.station) as iw:
            _join(iw, namespaces.index(wlan.station, wlan.interface), radio, mesh)
        _set_clock(wlan, number * INTERVAL_TU * TU_US // len(members))


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


def _join(iw: Wireless, index: int, radio: ResolvedRadio, mesh: str) -> None:
    iw.request(
        Command.JOIN_MESH,
        {
            Attr.IFINDEX: u32(index),
            Attr.MESH_ID: mesh.encode(),
            Attr.WIPHY_FREQ: u32(wifi.frequency_mhz(radio)),
            **wifi.width(radio),
            Attr.MESH_CONFIG: MOST_PEERS,
            Attr.BEACON_INTERVAL: u32(INTERVAL_TU),
            Attr.DTIM_PERIOD: u32(DTIM_PERIOD),
            **wifi.basic_rate(radio),
        },
    )
