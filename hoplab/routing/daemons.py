# SPDX-License-Identifier: Apache-2.0
"""The routing protocols that are programs of their own: how each is started."""

from __future__ import annotations

from pathlib import Path

from hoplab.network.build import BROADCAST, SUBNET, Network
from hoplab.network.wifi import INTERFACE
from hoplab.processes import Daemon, program, wait_until
from hoplab.scenario.model import Scenario
from hoplab.tcp import setup as tcp_setup

DSR_INTERFACE = "dsr0"


def start(scenario: Scenario, network: Network, out: Path, epoch_ns: int) -> list[Daemon]:
    """Start the scenario's routing daemon at every station."""
    protocol = scenario.routing.protocol
    starters = {"batmand": _batmand, "babeld": _babeld, "dsr": _dsr}
    if protocol == "batman-adv":
        _batman_adv(network)
        return []
    starter = starters[protocol]
    daemons = []
    for station in scenario.station:
        log = out / "logs" / f"{protocol}-{station.name}.log"
        command = starter(scenario, network, station.name, out, epoch_ns)
        process = network.namespaces.spawn(station.name, command, log)
        daemons.append(Daemon(f"{protocol} at {station.name}", process, log))
    if protocol == "dsr":
        for daemon in daemons:
            wait_until(daemon, b"ready")
        for station in scenario.station:
            _through_dsr(network, station.name, tcp_setup.route_metrics(scenario, station.name))
    return daemons


def _through_dsr(network: Network, station: str, metrics: dict[str, dict[str, int]]) -> None:
    """Routes with metrics beside the one to the network that the daemon's interface brought."""
    netlink = network.namespaces.netlink(station)
    for destination, values in metrics.items():
        netlink.route(
            "add",
            dst=f"{network.address[destination]}/32",
            oif=network.namespaces.index(station, DSR_INTERFACE),
            prefsrc=network.address[station],
            scope=253,
            metrics=values,
        )


def _settings(scenario: Scenario) -> list[str]:
    """Settings of a foreign daemon are its own command-line options: ``o = 500``."""
    options: list[str] = []
    for key, value in scenario.routing.settings.items():
        flag = f"-{key}" if len(key) == 1 else f"--{key}"
        options += [flag] if value is True else [flag, str(value)]
    return options


def _batmand(
    scenario: Scenario, network: Network, station: str, out: Path, epoch_ns: int
) -> list[str]:
    return [program("batmand"), "-d", "3", *_settings(scenario), INTERFACE]


def _babeld(
    scenario: Scenario, network: Network, station: str, out: Path, epoch_ns: int
) -> list[str]:
    state = out / "raw" / f"babeld-{station}"
    return [
        program("babeld"),
        *("-I", f"{state}.pid", "-S", f"{state}.state", "-d", "1"),
        *("-C", f"redistribute local ip {network.address[station]}/32 allow"),
        *("-C", "redistribute local deny"),
        *("-C", "default type wireless"),
        *_settings(scenario),
        INTERFACE,
    ]


def _dsr(scenario: Scenario, network: Network, station: str, out: Path, epoch_ns: int) -> list[str]:
    settings = [
        # Booleans as TOML writes them.
        f"--set={key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in scenario.routing.settings.items()
    ]
    return [
        program("hoplab-dsr"),
        *("--interface", INTERFACE, "--address", f"{network.address[station]}/{SUBNET}"),
        *("--tun", DSR_INTERFACE),
        *("--seed", str(scenario.seed), "--name", station, "--epoch-ns", str(epoch_ns)),
        *("--events", str(out / "raw" / f"events-dsr-{station}.jsonl")),
        *("--counters", str(out / "raw" / f"routing-{station}.jsonl")),
        *settings,
    ]


def _batman_adv(network: Network) -> None:
    """bat0 over wlan0; the station's address moves to bat0."""
    for station, address in network.address.items():
        netlink = network.namespaces.netlink(station)
        wlan = network.namespaces.index(station, INTERFACE)
        netlink.addr("del", index=wlan, address=address, prefixlen=SUBNET)
        netlink.link("add", ifname="bat0", kind="batadv")
        bat = network.namespaces.index(station, "bat0")
        netlink.link("set", index=wlan, master=bat)
        netlink.link("set", index=bat, state="up")
        netlink.addr("add", index=bat, address=address, prefixlen=SUBNET, broadcast=BROADCAST)
