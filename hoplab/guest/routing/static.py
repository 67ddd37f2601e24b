# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too: a study of fixed routes has no address resolution in it.
"""

from __future__ import annotations

from hoplab.guest.network.namespaces import Namespaces
from hoplab.model.scenario.plan import WIRELESS, Plan
from hoplab.model.scenario.reach import neighbours, next_hops


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
