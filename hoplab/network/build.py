# SPDX-License-Identifier: Apache-2.0
"""Build a resolved scenario's network inside the running kernel, whichever that is."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoplab.network import wifi, wired, wired_loss
from hoplab.network.hwsim import Radios
from hoplab.network.namespaces import Namespaces
from hoplab.scenario.model import Scenario, Station

LOOPBACK = "lo"
SUBNET = 24
BROADCAST = "10.0.0.255"


def station_address(index: int) -> str:
    """The address that flows use: on the radio where there is one, on loopback else."""
    return f"10.0.0.{index + 1}"


def station_mac(index: int) -> str:
    return f"02:00:00:00:{(index + 1) >> 8:02x}:{(index + 1) & 0xFF:02x}"


@dataclass
class Network:
    """What was built: namespaces, radios and the ends of wired links, by station."""

    namespaces: Namespaces
    radios: Radios | None
    address: dict[str, str]
    mac: dict[str, str]
    wired_ends: dict[str, list[wired.End]] = field(default_factory=dict)

    def close(self) -> None:
        self.namespaces.close()
        if self.radios is not None:
            self.radios.close()


def build(scenario: Scenario) -> Network:
    """Namespaces, radios in one IBSS, wired links, addresses; no routes yet."""
    namespaces = Namespaces()
    with_radio = [station for station in scenario.station if station.radio]
    network = Network(
        namespaces,
        Radios() if with_radio else None,
        {s.name: station_address(i) for i, s in enumerate(scenario.station)},
        {s.name: station_mac(i) for i, s in enumerate(scenario.station)},
    )
    try:
        for station in scenario.station:
            namespaces.create(station.name)
            _base_settings(namespaces, station, ipv6=scenario.routing.protocol == "babeld")
            if station.radio:
                _add_radio(network, scenario, station)
            else:
                _address(network, station.name, LOOPBACK, 32)
        if with_radio:
            wifi.introduce([station.name for station in with_radio], scenario.radio)
        if scenario.link:
            namespaces.create(wired.WIRES)
        ports: dict[str, int] = {}
        for number, link in enumerate(scenario.link):
            for end in wired.connect(namespaces, number, link, ports):
                network.wired_ends.setdefault(end.station, []).append(end)
        ends = [end for ends_of in network.wired_ends.values() for end in ends_of]
        wired_loss.install(scenario, {(e.station, e.peer_station): e.interface for e in ends})
    except BaseException:
        network.close()
        raise
    return network


def _base_settings(namespaces: Namespaces, station: Station, ipv6: bool) -> None:
    namespaces.sysctl(
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


def _add_radio(network: Network, scenario: Scenario, station: Station) -> None:
    assert network.radios is not None
    phy = network.radios.create(
        f"radio-{station.name}", network.mac[station.name], scenario.radio.channel or 1
    )
    wifi.join(station.name, phy, scenario.radio)
    needs_subnet = scenario.routing.protocol in ("batmand", "batman-adv")
    _address(network, station.name, wifi.INTERFACE, SUBNET if needs_subnet else 32)


def _address(network: Network, station: str, interface: str, prefix: int) -> None:
    netlink = network.namespaces.netlink(station)
    index = network.namespaces.index(station, interface)
    arguments = {"index": index, "address": network.address[station], "prefixlen": prefix}
    if prefix == SUBNET:
        arguments["broadcast"] = BROADCAST
    netlink.addr("add", **arguments)
