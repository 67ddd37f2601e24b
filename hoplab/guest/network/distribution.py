# SPDX-License-Identifier: Apache-2.0
"""The distribution system of cells that are one network (IEEE 802.11-2020 4.3.5): a bridge at each
access point, and one that joins these.

    client ~~~ wlan0 ─ br0 ─ ds0 access point ── wires ── ds0 ─ br0 ─ wlan0 ~~~ client

The wires take no time and lose nothing. Bridges learn a client's place from its frames. When it
associates, the kernel also sends one frame in its name.
"""

from __future__ import annotations

from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.scenario.plan import BRIDGE, UPLINK, WIRES, Plan
from hoplab.model.scenario.reach import ETHERNET_MTU
from hoplab.model.scenario.wlans import Wlan


def bridge(plan: Plan, namespaces: Namespaces, wlan: Wlan) -> None:
    """Make an access point's bridge, with the radio's address and no port yet."""
    netlink = namespaces.netlink(wlan.station)
    netlink.link(
        "add", ifname=BRIDGE, kind="bridge", address=plan.mac[wlan.name], br_mcast_snooping=0
    )
    index = namespaces.index(wlan.station, BRIDGE)
    netlink.link("set", index=index, mtu=ETHERNET_MTU, state="up")


def join(plan: Plan, namespaces: Namespaces) -> None:
    """Join the bridges of each network by wires."""
    wires = namespaces.netlink(WIRES)
    for number, cells in enumerate(plan.scenario.networks):
        if cells[0].roaming is None:
            continue
        wires.link("add", ifname=f"ds{number}", kind="bridge", br_mcast_snooping=0)
        inner = namespaces.index(WIRES, f"ds{number}")
        wires.link("set", index=inner, state="up")
        for place, cell in enumerate(cells):
            name, station = f"ds{number}p{place}", cell.access_point
            peer = {"ifname": UPLINK, "net_ns_fd": station}
            wires.link("add", ifname=name, kind="veth", peer=peer)
            port = namespaces.index(station, UPLINK)
            master = namespaces.index(station, BRIDGE)
            # As on other wires, a packet stays one packet.
            namespaces.netlink(station).link(
                "set", index=port, master=master, gso_max_segs=1, state="up"
            )
            wires.link("set", index=namespaces.index(WIRES, name), master=inner, state="up")


def reflect(namespaces: Namespaces, wlan: Wlan) -> None:
    """Let an access point's bridge, not its radio, send frames from one client to another. The
    bridge knows which of them has gone."""
    index = namespaces.index(wlan.station, wlan.interface)
    namespaces.netlink(wlan.station).brport("set", index=index, mode=1)
