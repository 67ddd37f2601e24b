# SPDX-License-Identifier: Apache-2.0
"""Prints how many of a thousand host routes of one station its kernel has, in one `Routes`."""

from pathlib import Path

from hoplab.guest.network.inside import inside
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.routes import Routes

COUNT = 1000

namespaces = Namespaces()
namespaces.create("a")
netlink = namespaces.netlink("a")
netlink.link("add", ifname="d0", kind="dummy")
index = namespaces.index("a", "d0")
netlink.link("set", index=index, state="up")
netlink.addr("add", index=index, address="10.0.0.1", prefixlen=32)
with Routes("a"):
    pass  # of a station out of everybody's reach
with Routes("a") as routes:
    for number in range(COUNT):
        routes.route(f"10.1.{number >> 8}.{number & 255}", index, "10.0.0.1")
with inside("a"), Path("/proc/net/route").open(encoding="ascii") as table:
    print(sum(line.startswith("d0\t") for line in table))
namespaces.close()
