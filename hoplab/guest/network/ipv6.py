# SPDX-License-Identifier: Apache-2.0
"""IPv6 at stations of scenarios that use it: addresses, and what a station does not say by itself.

Whoever joins a multicast group reports that, at random times of its first seconds (MLD, RFC 3810);
who forwards a packet out of the interface that it came in on tells its source of a better next hop
(RFC 4861 section 8), which would bypass the topology. No study has this traffic, and for neither
has Linux a setting, as it has for IPv4's redirects. So stations do not let it out.
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
from hoplab.model.scenario.plan import Plan

TABLE, CHAIN = "hoplab-quiet", "output"
IFA_F_NODAD = 2
"""No search for duplicates, before which the address serves no route (linux/if_addr.h)."""
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
"""Beside those that every station has."""


def hush(station: str) -> None:
    """Before its first interface is up: let nothing out that nobody asked for."""
    with rules(station, TABLE, AF_INET6) as table:
        table.chain(CHAIN, "output", FILTER_PRIORITY)
        for kind in UNSAID:
            of_kind = [*payload(TRANSPORT_HEADER, 0, 1), *compare(EQUAL, bytes([kind]))]
            table.add(CHAIN, [*of_protocol(socket.IPPROTO_ICMPV6), *of_kind], dropped())


def address(plan: Plan, namespaces: Namespaces, station: str, index: int) -> None:
    """The station's global address on the interface with this index. Its link-local one the kernel
    makes of the MAC (RFC 4291 appendix A)."""
    _give(namespaces.netlink(station), plan, station, index)


def move(plan: Plan, netlink: Any, station: str, wlan: int, bat: int) -> None:
    """The station's global address moves from one interface to another."""
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
