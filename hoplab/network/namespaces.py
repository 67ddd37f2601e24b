# SPDX-License-Identifier: Apache-2.0
"""Network namespaces: create, enter, remove, and start processes inside."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, netns


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Be in namespace ``name``: sockets made here belong to it, /proc/sys/net shows it."""
    netns.pushns(name)
    try:
        yield
    finally:
        netns.popns()


class Namespaces:
    """The namespaces of one run; removes exactly what it created."""

    def __init__(self) -> None:
        self._netlink: dict[str, Any] = {}

    def create(self, name: str) -> None:
        netns.create(name)
        with inside(name):
            netlink = IPRoute()
        self._netlink[name] = netlink
        loopback = netlink.link_lookup(ifname="lo")[0]
        netlink.link("set", index=loopback, state="up")

    def names(self) -> list[str]:
        return list(self._netlink)

    def netlink(self, name: str) -> Any:
        """The rtnetlink socket (`pyroute2.IPRoute`) of namespace ``name``."""
        return self._netlink[name]

    def sysctl(self, name: str, values: dict[str, str]) -> None:
        """Write sysctls such as ``net.ipv4.tcp_sack`` in namespace ``name``."""
        with inside(name):
            for key, value in values.items():
                Path("/proc/sys", *key.split(".")).write_text(value, encoding="ascii")

    def spawn(
        self, name: str, command: Sequence[str], log: Path, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start ``command`` in namespace ``name`` with stderr (and stdout) in ``log``."""
        with inside(name), log.open("ab") as output:
            options.setdefault("stdout", output)
            # Entering before the fork lets Python use vfork, which is much cheaper in a guest
            # than a preexec function.
            return subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stderr=output, **options
            )

    def close(self) -> None:
        for name, netlink in reversed(self._netlink.items()):
            netlink.close()
            netns.remove(name)
        self._netlink.clear()
