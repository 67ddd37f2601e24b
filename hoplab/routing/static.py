# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too: a study of fixed routes has no address resolution in it.
"""

from __future__ import annotations

import math
from collections import deque

from hoplab.network.build import Network
from hoplab.network.wifi import INTERFACE
from hoplab.scenario.model import Scenario
from hoplab.scenario.resolve import reach_m
from hoplab.tcp import setup as tcp_setup


def neighbours(scenario: Scenario) -> dict[str, list[str]]:
    """Who can talk to whom directly: radios within reach, and the ends of wired links."""
    graph: dict[str, list[str]] = {station.name: [] for station in scenario.station}
    radios = [station for station in scenario.station if station.radio]
    reach = reach_m(scenario.radio) if radios else 0.0
    for a in radios:
        for b in radios:
            if a is not b and math.hypot(a.x_m - b.x_m, a.y_m - b.y_m) <= reach:
                graph[a.name].append(b.name)
    for link in scenario.link:
        for a_name, b_name in (link.ends, link.ends[::-1]):
            if b_name not in graph[a_name]:
                graph[a_name].append(b_name)
    return graph


def next_hops(graph: dict[str, list[str]], destination: str) -> dict[str, str]:
    """Next hop towards ``destination`` from every station that can reach it (breadth first;
    among equal paths the first neighbour in station order)."""
    towards: dict[str, str] = {}
    queue = deque([destination])
    while queue:
        reached = queue.popleft()
        for name in graph[reached]:
            if name != destination and name not in towards:
                towards[name] = reached
                queue.append(name)
    return towards


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
