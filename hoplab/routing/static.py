# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too: a study of fixed routes has no address resolution in it.
"""

from __future__ import annotations

import math
from collections import deque

from hoplab.network.namespaces import Namespaces
from hoplab.scenario.model import Scenario
from hoplab.scenario.plan import WIRELESS, Plan
from hoplab.scenario.resolve import reach_m


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


def install(plan: Plan, namespaces: Namespaces) -> None:
    """A host route for every destination at every station."""
    graph = neighbours(plan.scenario)
    for station in plan.radios:
        _neighbours(plan, namespaces, station, graph[station])
    for destination in plan.address:
        for station, hop in next_hops(graph, destination).items():
            _route(plan, namespaces, station, hop, destination)


def _neighbours(plan: Plan, namespaces: Namespaces, station: str, others: list[str]) -> None:
    netlink = namespaces.netlink(station)
    index = namespaces.index(station, WIRELESS)
    radios = set(plan.radios)
    for other in others:
        if other in radios:
            netlink.neigh(
                "add",
                dst=plan.address[other],
                lladdr=plan.mac[other],
                ifindex=index,
                state="permanent",
            )


def _route(plan: Plan, namespaces: Namespaces, station: str, hop: str, destination: str) -> None:
    wired = next((end for end in plan.ends[station] if end.peer_station == hop), None)
    route: dict[str, object] = {
        "dst": f"{plan.address[destination]}/32",
        "prefsrc": plan.address[station],
    }
    if metrics := plan.metrics[station].get(destination):
        route["metrics"] = metrics
    interface = WIRELESS if wired is None else wired.interface
    route["oif"] = namespaces.index(station, interface)
    if wired is not None:
        route["gateway"] = wired.peer_address
    elif hop != destination:
        route["gateway"] = plan.address[hop]
        route["flags"] = ["onlink"]
    else:
        route["scope"] = 253  # link
    namespaces.netlink(station).route("add", **route)
