# SPDX-License-Identifier: Apache-2.0
"""Wired links with exact serialisation, propagation delay and a queue that can be read.

    station A eth0 ── wire ── eth0 station B
      tbf: rate          netem: one serialisation
      child: queue       time, delay, loss

The token bucket at the sender's end holds the queue, and releases a packet when its transmission
*starts*. The wire's netem adds the packet's serialisation time and the propagation delay. A packet
that starts at t arrives at t + L/R + D, as on a store-and-forward link.
"""

from __future__ import annotations

from socket import AF_INET6
from typing import Any

from hoplab.guest.network import qdiscs
from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.keys.scenario import Link
from hoplab.model.keys.stations import NETEM_PACKETS
from hoplab.model.network.plan import WIRES, Cable, End

BURST_BYTES = 1514 + 8
"""Just above the largest Ethernet frame: a full bucket lets one packet go at once."""
RED_WEIGHT = 2.0**-9
"""Weight of the average queue; 0.002 in Floyd and Jacobson."""

qdiscs.register()


def connect(namespaces: Namespaces, cable: Cable, with_ipv6: bool = False) -> None:
    """Build a wired link, its addresses, rates and queues."""
    wires = namespaces.netlink(WIRES)
    wires.link("add", ifname=cable.bridge, kind="bridge", br_mcast_snooping=0)
    bridge_index = namespaces.index(WIRES, cable.bridge)
    wires.link("set", index=bridge_index, state="up")
    for end in cable.ends:
        _veth(namespaces, end, bridge_index)
        netlink = namespaces.netlink(end.station)
        index = namespaces.index(end.station, end.interface)
        netlink.addr("add", index=index, address=end.address, prefixlen=30)
        if with_ipv6:
            netlink.addr("add", index=index, address=end.address_6, prefixlen=126, family=AF_INET6)
        sending_end(netlink, index, cable.link)
        wire(wires, namespaces.index(WIRES, end.wire), cable.link)
    _introduce(namespaces, cable, with_ipv6)


def _introduce(namespaces: Namespaces, cable: Cable, with_ipv6: bool) -> None:
    """Give both ends each other's permanent address: a wire has two ends and needs no ARP.

    Otherwise a flow's packets of its first round trip would wait for the answer. The link would
    start with a backlog, which at full load never disappears.
    """
    for end, other in zip(cable.ends, cable.ends[::-1], strict=True):
        index = namespaces.index(other.station, other.interface)
        (interface,) = namespaces.netlink(other.station).link("get", index=index)
        for address in (end.peer_address, *((end.peer_address_6,) if with_ipv6 else ())):
            namespaces.netlink(end.station).neigh(
                "add",
                dst=address,
                lladdr=interface.get("address"),
                ifindex=namespaces.index(end.station, end.interface),
                state="permanent",
            )


def _veth(namespaces: Namespaces, end: End, bridge: int) -> None:
    netlink, wires = namespaces.netlink(end.station), namespaces.netlink(WIRES)
    wires.link(
        "add",
        ifname=end.wire,
        kind="veth",
        peer={"ifname": end.interface, "net_ns_fd": end.station},
    )
    inner_index = namespaces.index(WIRES, end.wire)
    index = namespaces.index(end.station, end.interface)
    # Keep one packet one packet in every queue. A super-packet of segmentation offload would count
    # as one in a queue whose limit is in packets.
    netlink.link("set", index=index, gso_max_segs=1, state="up")
    wires.link("set", index=inner_index, master=bridge, state="up")


def sending_end(netlink: Any, index: int, link: Link) -> None:
    """Give a station's end the link's rate and its queue."""
    netlink.tc(
        "add",
        "tbf",
        index,
        0x10000,
        rate_bytes=round(link.rate_mbps * 1e6 / 8),
        burst_bytes=BURST_BYTES,
        limit_bytes=1 << 24,
    )
    queue = link.queue
    if queue.kind == "droptail":
        netlink.tc("add", "pfifo", index, 0x20000, parent=0x10001, limit=queue.packets)
    else:
        _red(netlink, index, link)


def _red(netlink: Any, index: int, link: Link) -> None:
    queue = link.queue
    size = queue.packet_bytes
    netlink.tc(
        "add",
        "red",
        index,
        0x20000,
        parent=0x10001,
        limit=queue.packets * size,
        min=queue.min_packets * size,
        max=queue.max_packets * size,
        avpkt=size,
        weight=RED_WEIGHT,
        rate_bytes=round(link.rate_mbps * 1e6 / 8),
        probability=queue.drop_probability,
        ecn=queue.ecn,
    )


def wire(wires: Any, index: int, link: Link, limit: int = NETEM_PACKETS) -> None:
    """Give the inner end towards a station the link's serialisation, delay and loss. It holds at
    most ``limit`` packets."""
    wires.tc(
        "add",
        "netem",
        index,
        0x10000,
        delay_us=link.delay_ms * 1000,
        rate_bytes=round(link.rate_mbps * 1e6 / 8),
        loss=link.loss,
        limit=limit,
    )
