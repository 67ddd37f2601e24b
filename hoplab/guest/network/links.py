# SPDX-License-Identifier: Apache-2.0
"""What every station asks rtnetlink for: interfaces with a name, and addresses on them."""

from __future__ import annotations

import ipaddress
import socket
import struct

from hoplab.guest.network.netlink import CREATE, EXCLUSIVE, Conversation, attribute, text, u32

RTM_NEWLINK, RTM_NEWADDR = 16, 20
INTERFACE = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, type, index, flags, which of them count (linux/rtnetlink.h)."""
ADDRESS = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, length of the prefix, flags, scope, index (linux/if_addr.h)."""
IFLA_IFNAME, IFLA_MTU = 3, 4
IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST = 1, 2, 4
IFF_UP = 1


class Links(Conversation):
    """A socket of rtnetlink in a station's namespace."""

    def __init__(self, station: str) -> None:
        super().__init__(station, socket.NETLINK_ROUTE, f"interfaces of {station}")

    def set(
        self, index: int, up: bool | None = None, name: str | None = None, mtu: int | None = None
    ) -> None:
        """Change an interface's state, name and MTU, those that are given."""
        flags, counting = (0, 0) if up is None else (IFF_UP * up, IFF_UP)
        body = INTERFACE.pack(socket.AF_UNSPEC, 0, index, flags, counting)
        if name is not None:
            body += attribute(IFLA_IFNAME, text(name))
        if mtu is not None:
            body += attribute(IFLA_MTU, u32(mtu))
        self.do(RTM_NEWLINK, body)

    def add_address(
        self, index: int, address: str, prefix: int, broadcast: str | None = None
    ) -> None:
        """Give an interface an IPv4 address."""
        octets = ipaddress.IPv4Address(address).packed
        body = ADDRESS.pack(socket.AF_INET, prefix, 0, 0, index)
        body += attribute(IFA_LOCAL, octets) + attribute(IFA_ADDRESS, octets)
        if broadcast is not None:
            body += attribute(IFA_BROADCAST, ipaddress.IPv4Address(broadcast).packed)
        self.do(RTM_NEWADDR, body, CREATE | EXCLUSIVE)
