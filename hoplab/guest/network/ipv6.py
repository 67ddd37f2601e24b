# SPDX-License-Identifier: Apache-2.0
"""IPv6 at stations of scenarios that use it: addresses, and messages that a station must not send.

A host that joins a multicast group reports that, at random times of its first seconds (MLD, RFC
3810). A router that forwards a packet out of its incoming interface names a better next hop to the
source (RFC 4861 section 8). That would bypass the topology. No study has this traffic. Linux has no
setting for either, unlike for IPv4's redirects. So stations do not let these messages out.
"""

from __future__ import annotations

import socket
from typing import Any

from hoplab.guest.network.filters import (
    AF_INET6,
    EQUAL,
    FILTER_PRIORITY,
    TRANSPORT_HEADER,
    compare,
    dropped,
    of_protocol,
    payload,
    rules,
)
from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.network.plan import Plan

TABLE, CHAIN = "hoplab-quiet", "output"
IFA_F_NODAD = 2
"""No search for duplicates, during which the address serves no route (linux/if_addr.h)."""
UNSAID = (131, 132, 133, 137, 143)
"""ICMPv6's reports and done of MLD (RFC 2710, RFC 3810), router solicitation, redirect
(RFC 4861)."""
SYSCTLS = {
    "net.ipv6.conf.all.forwarding": "1",
    "net.ipv6.conf.all.accept_ra": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.all.accept_redirects": "0",
    "net.ipv6.conf.default.accept_redirects": "0",
}
"""Sysctls beside those that every station has."""


def hush(station: str) -> None:
    """Block unsolicited messages. Call this before the station's first interface is up."""
    with rules(station, TABLE, AF_INET6) as table:
        table.chain(CHAIN, "output", FILTER_PRIORITY)
        for kind in UNSAID:
            of_kind = [*payload(TRANSPORT_HEADER, 0, 1), *compare(EQUAL, bytes([kind]))]
            table.add(CHAIN, [*of_protocol(socket.IPPROTO_ICMPV6), *of_kind], dropped())


def address(plan: Plan, namespaces: Namespaces, station: str, index: int) -> None:
    """Add the station's global address to the interface with this index. The kernel makes the
    link-local address from the MAC (RFC 4291 appendix A)."""
    _give(namespaces.netlink(station), plan, station, index)


def move(plan: Plan, netlink: Any, station: str, wlan: int, bat: int) -> None:
    """Move the station's global address from one interface to another."""
    netlink.addr(
        "del",
        index=wlan,
        address=plan.address_6[station],
        prefixlen=plan.prefix_6,
        family=socket.AF_INET6,
    )
    _give(netlink, plan, station, bat)


def _give(netlink: Any, plan: Plan, station: str, index: int) -> None:
    netlink.addr(
        "add",
        index=index,
        address=plan.address_6[station],
        prefixlen=plan.prefix_6,
        family=socket.AF_INET6,
        flags=IFA_F_NODAD,
    )
