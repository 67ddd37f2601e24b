# SPDX-License-Identifier: Apache-2.0
"""Wired links with exact serialisation, propagation delay and a queue that can be read.

    station A eth0 ── wire ── eth0 station B
      tbf: rate          netem: one serialisation
      child: queue       time, delay, loss

The token bucket at the sender's end lets a packet go when its transmission *starts* and holds the
queue; the wire's netem adds the packet's serialisation time and the propagation delay. Together a
packet that starts at t arrives at t + L/R + D, as on a store-and-forward link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hoplab.network import qdiscs
from hoplab.network.namespaces import Namespaces
from hoplab.scenario.model import Link

WIRES = "wires"
"""The namespace that holds the links' insides."""
BURST_BYTES = 1514 + 8
"""Just above the largest Ethernet frame: a bucket that is full lets one packet go at once."""
RED_WEIGHT = 2.0**-9
"""Of the average queue; Floyd and Jacobson's 0.002."""

qdiscs.register()


@dataclass(frozen=True)
class End:
    """One end of a link: the station's interface, its address and the other end's."""

    station: str
    interface: str
    address: str
    peer_station: str
    peer_address: str


def connect(
    namespaces: Namespaces, number: int, link: Link, ports: dict[str, int]
) -> tuple[End, End]:
    """Build link ``number``; ``ports`` counts each station's wired interfaces."""
    wires = namespaces.netlink(WIRES)
    bridge = f"link{number}"
    wires.link("add", ifname=bridge, kind="bridge", br_mcast_snooping=0)
    bridge_index = namespaces.index(WIRES, bridge)
    wires.link("set", index=bridge_index, state="up")
    ends = []
    base = f"10.1.{number // 64}."
    for side, station in enumerate(link.ends):
        port = ports.setdefault(station, 0)
        ports[station] += 1
        interface, inner = f"eth{port}", f"l{number}{'ab'[side]}"
        _veth(namespaces, station, interface, inner, bridge_index)
        offset = number % 64 * 4
        address, peer = f"{base}{offset + 1 + side}", f"{base}{offset + 2 - side}"
        netlink = namespaces.netlink(station)
        index = namespaces.index(station, interface)
        netlink.addr("add", index=index, address=address, prefixlen=30)
        _sending_end(netlink, index, link)
        _wire(wires, namespaces.index(WIRES, inner), link)
        ends.append(End(station, interface, address, link.ends[1 - side], peer))
    return ends[0], ends[1]


def _veth(namespaces: Namespaces, station: str, interface: str, inner: str, bridge: int) -> None:
    netlink, wires = namespaces.netlink(station), namespaces.netlink(WIRES)
    wires.link(
        "add",
        ifname=inner,
        kind="veth",
        peer={"ifname": interface, "net_ns_fd": station},
    )
    inner_index = namespaces.index(WIRES, inner)
    index = namespaces.index(station, interface)
    # One packet is one packet in every queue: a super-packet of segmentation offload would
    # count as one in a queue whose limit is in packets.
    netlink.link("set", index=index, gso_max_segs=1, state="up")
    wires.link("set", index=inner_index, master=bridge, state="up")


def _sending_end(netlink: Any, index: int, link: Link) -> None:
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
    )


def _wire(wires: Any, index: int, link: Link) -> None:
    wires.tc(
        "add",
        "netem",
        index,
        0x10000,
        delay_us=link.delay_ms * 1000,
        rate_bytes=round(link.rate_mbps * 1e6 / 8),
        loss=link.loss,
        limit=100_000,
    )
