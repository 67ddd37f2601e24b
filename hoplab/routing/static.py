# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too: a study of fixed routes has no address resolution in it.
"""

from __future__ import annotations

from hoplab.network.build import Network
from hoplab.network.wifi import INTERFACE
from hoplab.scenario.model import Scenario
from hoplab.scenario.reach import neighbours, next_hops
from hoplab.tcp import setup as tcp_setup


def install(scenario: Scenario, network: Network) -> None:
    """A host route for every destination at every station."""
    graph = neighbours(scenario)
    radios = {station.name for station in scenario.station if station.radio}
    for station in radios:
        netlink = network.namespaces.netlink(station)
        index = network.namespaces.index(station, INTERFACE)
        for other in graph[station]:
            if other in radios:
                netlink.neigh(
                    "add",
                    dst=network.address[other],
                    lladdr=network.mac[other],
                    ifindex=index,
                    state="permanent",
                )
    metrics = {s.name: tcp_setup.route_metrics(scenario, s.name) for s in scenario.station}
    for destination in network.address:
        for station, hop in next_hops(graph, destination).items():
            _route(network, station, hop, destination, metrics[station].get(destination, {}))


def _route(
    network: Network, station: str, hop: str, destination: str, metrics: dict[str, int]
) -> None:
    netlink = network.namespaces.netlink(station)
    wired = next(
        (end for end in network.wired_ends.get(station, ()) if end.peer_station == hop), None
    )
    route: dict[str, object] = {
        "dst": f"{network.address[destination]}/32",
        "prefsrc": network.address[station],
    }
    if metrics:
        route["metrics"] = metrics
    interface = INTERFACE if wired is None else wired.interface
    route["oif"] = network.namespaces.index(station, interface)
    if wired is not None:
        route["gateway"] = wired.peer_address
    elif hop != destination:
        route["gateway"] = network.address[hop]
        route["flags"] = ["onlink"]
    else:
        route["scope"] = 253  # link
    netlink.route("add", **route)
