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

from hoplab.guest.network import disturbed, qdiscs, queues, traced
from hoplab.guest.network.directions import LEAF, ROOT, bytes_per_s, serialising_bytes_per_s
from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.keys.declare import given
from hoplab.model.keys.links import NETEM_PACKETS, Link
from hoplab.model.keys.queues import Queue
from hoplab.model.keys.radio import RADIO_MTU
from hoplab.model.network.plan import WIRES, Cable, End
from hoplab.model.streams import stream_seed

BURST_BYTES = 1514 + 8
"""Just above the largest Ethernet frame: a full bucket lets one packet go at once."""
RADIO_BURST_BYTES = RADIO_MTU + 14 + 8
"""The same for a radio."""
FASTEST_MBPS = 10_000.0
"""More than any radio's rate: a token bucket that never holds a packet back."""
RED_WEIGHT = 2.0**-9
"""Weight of the average queue; 0.002 in Floyd and Jacobson."""

qdiscs.register()


def connect(namespaces: Namespaces, cable: Cable, seed: int, with_ipv6: bool = False) -> None:
    """Build a wired link, its addresses, rates and queues. ``seed`` is the scenario's."""
    wires = namespaces.netlink(WIRES)
    wires.link("add", ifname=cable.bridge, kind="bridge", br_mcast_snooping=0)
    bridge_index = namespaces.index(WIRES, cable.bridge)
    wires.link("set", index=bridge_index, state="up")
    up, down = cable.link.ways
    for end, leaving, coming in zip(cable.ends, (up, down), (down, up), strict=True):
        _veth(namespaces, end, bridge_index)
        netlink = namespaces.netlink(end.station)
        index = namespaces.index(end.station, end.interface)
        netlink.addr("add", index=index, address=end.address, prefixlen=30)
        if with_ipv6:
            netlink.addr("add", index=index, address=end.address_6, prefixlen=126, family=AF_INET6)
        sending_end(netlink, index, leaving)
        drawn = _stream(cable, end, seed)
        wire(wires, namespaces.index(WIRES, end.wire), coming, seed=drawn)
    _introduce(namespaces, cable, with_ipv6)


def reseed(namespaces: Namespaces, cable: Cable, seed: int) -> None:
    """Let chance act on a link by another ``seed``, before anything has been on it."""
    wires = namespaces.netlink(WIRES)
    up, down = cable.link.ways
    for end, coming in zip(cable.ends, (down, up), strict=True):
        index, drawn = namespaces.index(WIRES, end.wire), _stream(cable, end, seed)
        if coming.steps is not None and coming.steps.path is not None:
            traced.reseed(wires, index, ROOT, drawn)
        elif coming.is_disturbed or coming.loss:
            wire(wires, index, coming, seed=drawn, verb="change")


def _stream(cable: Cable, end: End, seed: int) -> int:
    """Return the seed of the wire's end towards a station."""
    return stream_seed(seed, f"wire/{cable.bridge}/{end.station}")


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


def above_radio(netlink: Any, index: int, queue: Queue) -> None:
    """Give a radio's interface a queue that shapes, or paces. The radio itself takes every packet,
    for its own queue."""
    netlink.link("set", index=index, gso_max_segs=1)
    link = Link.model_construct(rate_mbps=FASTEST_MBPS, queue=queue)
    sending_end(netlink, index, link, RADIO_BURST_BYTES)


def sending_end(netlink: Any, index: int, link: Link, burst_bytes: int = BURST_BYTES) -> None:
    """Give a station's end the link's rate, or that of a queue that shapes, and its queue.

    ``burst_bytes`` is no less than the largest frame.
    """
    queue = link.queue
    shaped_mbps = link.mean_mbps if queue.kind == "cake" else queue.shape_mbps or link.mean_mbps
    if link.steps is not None:
        traced.sending_end(netlink, index, ROOT, link.steps)
    else:
        netlink.tc(
            "add",
            "tbf",
            index,
            ROOT,
            rate_bytes=bytes_per_s(shaped_mbps),
            burst_bytes=burst_bytes,
            limit_bytes=1 << 24,
        )
    if queue.kind == "droptail":
        netlink.tc("add", "pfifo", index, LEAF, parent=ROOT + 1, limit=queue.packets)
    elif queue.kind == "red":
        _red(netlink, index, link, shaped_mbps)
    else:
        queues.attach(netlink, index, ROOT + 1, LEAF, queue)


def _red(netlink: Any, index: int, link: Link, rate_mbps: float) -> None:
    queue = link.queue
    size = queue.packet_bytes
    netlink.tc(
        "add",
        "red",
        index,
        LEAF,
        parent=ROOT + 1,
        limit=queue.packets * size,
        min=queue.min_packets * size,
        max=queue.max_packets * size,
        avpkt=size,
        weight=RED_WEIGHT,
        rate_bytes=bytes_per_s(rate_mbps),
        probability=queue.drop_probability,
        ecn=queue.marks,
    )


def wire(
    wires: Any,
    index: int,
    link: Link,
    limit: int | None = None,
    seed: int | None = None,
    verb: str = "add",
) -> None:
    """Give the inner end towards a station the serialisation, delay and losses of a direction.

    It holds at most ``limit`` packets. ``seed`` is for what chance does beyond uniform losses: the
    discipline draws from a stream of its own then. For uniform losses the kernel draws a seed when
    the discipline is added.
    """
    if link.steps is not None and link.steps.path is not None:
        traced.wire(wires, index, ROOT, link.steps, given(seed))
        return
    if link.is_disturbed:
        disturbed.wire(wires, index, link, limit or NETEM_PACKETS, seed, verb)
        return
    wires.tc(
        verb,
        "netem",
        index,
        ROOT,
        delay_us=link.delay_ms * 1000,
        rate_bytes=serialising_bytes_per_s(link),
        loss=link.loss,
        limit=limit or NETEM_PACKETS,
        **({} if verb == "add" else {"seed": given(seed)}),
    )
