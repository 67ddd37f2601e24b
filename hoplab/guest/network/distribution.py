# SPDX-License-Identifier: Apache-2.0
"""The distribution system of cells that are one network (IEEE 802.11-2020 4.3.5): a bridge at each
access point, and one that joins these.

    client ~~~ wlan0 ─ br0 ─ ds0 access point ── wires ── ds0 ─ br0 ─ wlan0 ~~~ client

A wire is a link (`hoplab.guest.network.wired`): the access point's end has its queue, the other end
its delay. Several access points may send to one at once, so the other end has a queue too. Bridges
learn a client's place from its frames. When it associates, the kernel also sends one frame in its
name.
"""

from __future__ import annotations

from hoplab.guest.network import directions, wired
from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.network.plan import BRIDGE, UPLINK, WIRES, Plan
from hoplab.model.network.reach import ETHERNET_MTU
from hoplab.model.network.wlans import Wlan


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
            outer = namespaces.index(WIRES, name)
            wires.link("set", index=outer, master=inner, state="up")
            wired.sending_end(namespaces.netlink(station), port, cell.wire)
            wired.wire(wires, outer, cell.wire, directions.room(cell.wire))


def reflect(namespaces: Namespaces, wlan: Wlan) -> None:
    """Let an access point's bridge, not its radio, send frames from one client to another. The
    bridge knows which of them has gone."""
    index = namespaces.index(wlan.station, wlan.interface)
    namespaces.netlink(wlan.station).brport("set", index=index, mode=1)
