# SPDX-License-Identifier: Apache-2.0
"""Network namespaces: create, enter, remove, and start processes inside."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyroute2 import netns
from pyroute2.iproute import IPRoute

from hoplab.guest.network.inside import LIBC, NAMES, index_of, inside
from hoplab.guest.network.links import Links
from hoplab.guest.system import residents
from hoplab.guest.system.files import put
from hoplab.guest.system.processes import Child
from hoplab.model import writing
from hoplab.model.errors import MissingTool

CLONE_NEWNET = 0x40000000


def interfaces(name: str) -> list[str]:
    """Names of the interfaces in namespace ``name``."""
    with inside(name):
        return [interface for _, interface in socket.if_nameindex()]


def _create(name: str) -> None:
    """Create a namespace as `pyroute2.netns.create` does, without forking a process for each."""
    netns.pushns(libc=LIBC)
    try:
        if LIBC.unshare(CLONE_NEWNET) < 0:
            error = ctypes.get_errno()
            raise MissingTool(f"namespace {name}: {os.strerror(error)}; this needs root")
        netns.attach(name, os.getpid(), libc=LIBC)
    finally:
        netns.popns(libc=LIBC)


class Namespaces:
    """The namespaces of one run; removes exactly what it created.

    ``created`` receives the name of each namespace as soon as it exists.
    """

    def __init__(self, created: Callable[[str], None] = lambda name: None) -> None:
        self._created = created
        self._links: dict[str, Links] = {}
        self._netlink: dict[str, Any] = {}
        """Of the namespaces that needed one."""
        self._index: dict[tuple[str, str], int] = {}

    def create(self, name: str) -> None:
        _create(name)
        self._created(name)
        self._keep(name)
        self.links(name).set(self.index(name, "lo"), up=True)

    def adopt(self, name: str, pid: int, created: Callable[[str], None]) -> None:
        """Name the namespace of process ``pid``, which others have made and end. The name lasts as
        long as this object. ``created`` receives it."""
        if (NAMES / name).exists():
            raise MissingTool(
                f"namespace {name}: there is one of this name already, not the station's; "
                f"remove it with 'ip netns del {name}'"
            )
        netns.attach(name, pid, libc=LIBC)
        created(name)
        self._keep(name)

    def _keep(self, name: str) -> None:
        """Open a socket to the existing namespace, and remove its name in the end."""
        try:
            self._links[name] = Links(name)
        except BaseException:
            netns.remove(name, libc=LIBC)
            raise

    def links(self, name: str) -> Links:
        """The socket of namespace ``name`` for what every station needs."""
        return self._links[name]

    def netlink(self, name: str) -> Any:
        """The rtnetlink socket (`pyroute2.IPRoute`) of namespace ``name`` for everything else."""
        if name not in self._netlink:
            with inside(name):
                self._netlink[name] = IPRoute()
        return self._netlink[name]

    def index(self, name: str, interface: str) -> int:
        """Index of an interface in namespace ``name``."""
        key = name, interface
        if key not in self._index:
            self._index[key] = index_of(name, interface)
        return self._index[key]

    def sysctl(self, name: str, values: dict[str, str]) -> list[str]:
        """Write sysctls such as ``net.ipv4.tcp_sack`` in namespace ``name``. Returns those that
        this kernel lacks."""
        lacking = []
        with inside(name):
            for key, value in values.items():
                try:
                    put(f"/proc/sys/{key.replace('.', '/')}", value)
                except FileNotFoundError:
                    lacking.append(key)
        return lacking

    def sysctl_value(self, name: str, key: str) -> str:
        """Return the value of a sysctl in namespace ``name``, its parts by single spaces."""
        with inside(name):
            text = Path(f"/proc/sys/{key.replace('.', '/')}").read_text(encoding="ascii")
        return " ".join(text.split())

    def spawn(
        self, name: str, command: Sequence[str], log: Path, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start ``command`` in namespace ``name`` with stderr (and stdout) in ``log``."""
        with inside(name), writing.added(log) as output:
            options.setdefault("stdout", output)
            # Entering before the fork lets Python use vfork, which is much cheaper in a guest
            # than a preexec function.
            return subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stderr=output, **options
            )

    def serve(self, name: str, command: Sequence[str], log: Path, is_resident: bool) -> Child:
        """Start a program of Hoplab's with its document, as `spawn` does. If ``is_resident``, the
        kernel itself runs it, where it offers that."""
        if is_resident:
            with inside(name), writing.added(log) as output:
                resident = residents.start(command, output.fileno())
            if resident is not None:
                return resident
        return self.spawn(name, command, log)

    def close(self) -> None:
        for name, links in reversed(self._links.items()):
            if (netlink := self._netlink.get(name)) is not None:
                netlink.close()
            links.close()
            netns.remove(name, libc=LIBC)
        self._links.clear()
        self._netlink.clear()
