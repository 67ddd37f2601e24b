# SPDX-License-Identifier: Apache-2.0
"""Build a resolved scenario's network inside the running kernel, whichever that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hoplab.errors import MissingTool
from hoplab.network import wifi, wired, wired_loss
from hoplab.network.hwsim import Radios
from hoplab.network.namespaces import Namespaces
from hoplab.scenario.model import Station
from hoplab.scenario.plan import BROADCAST, SUBNET, WIRELESS, WIRES, Plan

LOOPBACK = "lo"


@dataclass(frozen=True)
class Network:
    """What was built, by the plan: namespaces and the hold on the radios in them."""

    namespaces: Namespaces
    radios: Radios | None

    def close(self) -> None:
        self.namespaces.close()
        if self.radios is not None:
            self.radios.close()


def build(plan: Plan, created: Callable[[str], None] = lambda name: None) -> Network:
    """Namespaces, radios in one IBSS, wired links, addresses; no routes yet.

    ``created`` is told the name of each namespace as soon as it is there.
    """
    network = Network(Namespaces(created), Radios() if plan.radios else None)
    try:
        _stations(plan, network)
        if network.radios is not None:
            wifi.introduce(plan.radios, plan.scenario.radio)
        if plan.cables:
            network.namespaces.create(WIRES)
        for cable in plan.cables:
            wired.connect(network.namespaces, cable)
        wired_loss.install(plan)
    except BaseException:
        network.close()
        raise
    return network


def _stations(plan: Plan, network: Network) -> None:
    for station in plan.scenario.station:
        network.namespaces.create(station.name)
        speaks_ipv6 = plan.scenario.routing.protocol == "babeld"
        _base_settings(network.namespaces, station, speaks_ipv6)
        if station.radio and network.radios is not None:
            _add_radio(plan, network.namespaces, network.radios, station.name)
        else:
            _address(plan, network.namespaces, station.name, LOOPBACK, 32)


def _base_settings(namespaces: Namespaces, station: Station, ipv6: bool) -> None:
    lacking = namespaces.sysctl(
        station.name,
        {
            "net.ipv4.ip_forward": "1",
            "net.ipv4.conf.all.rp_filter": "0",
            "net.ipv4.conf.default.rp_filter": "0",
            # A relay in a chain forwards out of the interface that a packet came in on; telling
            # the sender of a "better" next hop would bypass the topology.
            "net.ipv4.conf.all.send_redirects": "0",
            "net.ipv4.conf.default.send_redirects": "0",
            "net.ipv4.conf.all.accept_redirects": "0",
            "net.ipv4.conf.default.accept_redirects": "0",
            # Multicast listener reports and router solicitations would be traffic that no study
            # has; only babeld speaks IPv6.
            "net.ipv6.conf.all.disable_ipv6": "0" if ipv6 else "1",
            "net.ipv6.conf.default.disable_ipv6": "0" if ipv6 else "1",
            "net.ipv6.conf.default.router_solicitations": "0",
            "net.ipv6.conf.default.accept_dad": "0",
        },
    )
    # A kernel without IPv6 sends none.
    needed = [key for key in lacking if ipv6 or not key.startswith("net.ipv6.")]
    if needed:
        raise MissingTool(f"kernel: has no {', '.join(needed)}; run with --machine uml")


def _add_radio(plan: Plan, namespaces: Namespaces, radios: Radios, station: str) -> None:
    radio = plan.scenario.radio
    name = f"radio-{station}"
    phy = radios.create(name, plan.mac[station], radio.channel or 1, radio.width_mhz or 20)
    wifi.join(station, name, phy, radio)
    _address(plan, namespaces, station, WIRELESS, plan.prefix)


def _address(plan: Plan, namespaces: Namespaces, station: str, interface: str, prefix: int) -> None:
    netlink = namespaces.netlink(station)
    index = namespaces.index(station, interface)
    arguments = {"index": index, "address": plan.address[station], "prefixlen": prefix}
    if prefix == SUBNET:
        arguments["broadcast"] = BROADCAST
    netlink.addr("add", **arguments)
