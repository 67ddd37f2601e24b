# SPDX-License-Identifier: Apache-2.0
"""Hoplab's protocols by their names in Mininet-WiFi: ``addLink(sta, cls=adhoc, …, proto="dsr")``.

Mininet-WiFi looks the name up among the classes of one module. It calls the class with the
interface and ``proto_args``. Only the standard library, because scripts import this.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import subprocess
import tempfile
from typing import Any

from hoplab.front.mininet import interpreter

PROTOCOLS = "mn_wifi.manetRoutingProtocols"
HELD = "hoplab_protocol"
"""Attribute of a node: its protocol."""
END_S = 5.0


class Routing:
    """One of Hoplab's routing protocols at the node, with an interface of its own, as ``dsr0``.

    ``proto_args`` are settings of the protocol: ``"discovery_hop_limit=5 resolution=arp"``.
    """

    name = ""
    """In Mininet-WiFi, in a scenario and as a command."""

    def __init__(self, intf: Any, proto_args: str) -> None:
        self.settings = settings(proto_args, self.name)
        self.node = intf.node
        self.interface = str(intf.name)
        self.address, self.prefix = str(intf.ip), int(intf.prefixLen)
        self._process: subprocess.Popen[bytes] | None = None
        # Otherwise the radio's own network, which reaches only neighbours, exists beside this one.
        self.node.cmd(f"ip address add {self.address}/32 dev {self.interface}")
        self.node.cmd(f"ip address del {self.address}/{self.prefix} dev {self.interface}")
        _hold(self.node, self)
        self.start()

    def start(self) -> None:
        """Start the daemon. Raises `RuntimeError` with its reason if it does not start."""
        given = {
            "interface": self.interface,
            "address": f"{self.address}/{self.prefix}",
            "tun": f"{self.name}0",
            "name": str(self.node.name),
        }
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
            file.flush()
            settings = (f"--set=settings.{setting}" for setting in self.settings)
            process = self.node.popen(
                [*interpreter.command(), "-m", "hoplab", self.name, file.name, *settings],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=interpreter.environment(),
            )
            said = process.stdout.readline().decode("utf-8", "replace").strip()
        if said != "ready":
            process.wait()
            place = f'proto="{self.name}" at {self.node.name}'
            raise RuntimeError(f"{place}: {said or 'did not start'}")
        self._process = process

    def stop(self) -> None:
        """End the daemon if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Dsr(Routing):
    """``proto="dsr"``: DSR (RFC 4728, `docs/dsr.md`)."""

    name = "dsr"


class Aodv(Routing):
    """``proto="aodv"``: AODV (RFC 3561, `docs/aodv.md`)."""

    name = "aodv"


class Olsr(Routing):
    """``proto="olsr"``: OLSR (RFC 3626, `docs/olsr.md`)."""

    name = "olsr"


class Dsdv(Routing):
    """``proto="dsdv"``: DSDV (Perkins, Bhagwat 1994, `docs/dsdv.md`)."""

    name = "dsdv"


class Split:
    """``proto="split"``: the node is a proxy of the flows that `record` starts (Split-TCP)."""

    def __init__(self, intf: Any, proto_args: str) -> None:
        if proto_args.strip():
            raise ValueError(
                f'proto="split" at {intf.node.name}: takes no proto_args; how flows are split is '
                "said in record(…, split={…})"
            )
        _hold(intf.node, self)

    def start(self) -> None:
        """Do nothing: its part begins with a flow."""

    def stop(self) -> None:
        """Do nothing: its part ends with the flow."""


def settings(proto_args: str, protocol: str) -> list[str]:
    """Return the settings, ``KEY=VALUE`` each."""
    words = proto_args.split()
    for word in words:
        if "=" not in word:
            raise ValueError(
                f'proto="{protocol}": proto_args: {word!r} is no KEY=VALUE (docs/{protocol}.md)'
            )
    return words


def of(node: Any) -> Routing | Split | None:
    """The node's protocol, if it is one of these."""
    held: Routing | Split | None = getattr(node, HELD, None)
    return held


def register() -> None:
    """Register the names with Mininet-WiFi, if it is installed."""
    with contextlib.suppress(ImportError):
        module: Any = importlib.import_module(PROTOCOLS)
        for kind in (Dsr, Aodv, Olsr, Dsdv):
            setattr(module, kind.name, kind)
        module.split = Split


def _hold(node: Any, protocol: Routing | Split) -> None:
    """Keep the protocol at the node, and end it with the node. Mininet-WiFi ends only what it
    knows."""
    setattr(node, HELD, protocol)
    before = node.terminate

    def terminate() -> None:
        protocol.stop()
        before()

    node.terminate = terminate
    atexit.register(protocol.stop)
