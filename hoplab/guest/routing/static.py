# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too, because a study of fixed routes has no address resolution.
"""

from __future__ import annotations

from hoplab.guest.network.build import counted
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.routes import Routes
from hoplab.model.network.plan import Plan
from hoplab.model.network.reach import neighbours, next_hops


def install(plan: Plan, namespaces: Namespaces) -> None:
    """Install a host route for every destination at every station."""
    graph = neighbours(plan.scenario)
    hops = {destination: next_hops(graph, destination) for destination in plan.address}
    for station in counted(plan, "sets up stations' routes", list(plan.address)):
        with Routes(station) as routes:
            if station in plan.radios:
                _neighbours(plan, namespaces, routes, station, graph[station])
            for destination in plan.address:
                if (hop := hops[destination].get(station)) is not None:
                    _route(plan, namespaces, routes, station, hop, destination)


def change(plan: Plan, namespaces: Namespaces, station: str, hop: str, destination: str) -> None:
    """Send packets from ``station`` to ``destination`` through the neighbour ``hop`` from now
    on."""
    with Routes(station, replace=True) as routes:
        _route(plan, namespaces, routes, station, hop, destination)


def _neighbours(
    plan: Plan, namespaces: Namespaces, routes: Routes, station: str, others: list[str]
) -> None:
    radios = set(plan.radios)
    for other in others:
        if other in radios and (way := plan.way(station, other)) is not None:
            interface, mac = way
            for addresses in _families(plan):
                index = namespaces.index(station, interface)
                routes.neighbour(addresses[other], mac, index)


def _route(
    plan: Plan, namespaces: Namespaces, routes: Routes, station: str, hop: str, destination: str
) -> None:
    wired = any(end.peer_station == hop for end in plan.ends[station])
    for addresses in _families(plan):
        interface, gateway = next_hop(plan, station, hop, addresses)
        via = gateway if wired or hop != destination else None
        routes.route(
            addresses[destination],
            namespaces.index(station, interface),
            addresses[station],
            via,
            onlink=via is not None and (not wired or addresses is plan.address_6),
            metrics=plan.metrics[station].get(destination),
        )


def next_hop(plan: Plan, station: str, hop: str, addresses: dict[str, str]) -> tuple[str, str]:
    """Return the interface by which a station sends to its neighbour ``hop``, and the neighbour's
    address there. ``addresses`` are stations' of one version of IP."""
    wired = next((end for end in plan.ends[station] if end.peer_station == hop), None)
    if wired is not None:
        of_ipv4 = addresses is plan.address
        return wired.interface, wired.peer_address if of_ipv4 else wired.peer_address_6
    way = plan.way(station, hop)
    assert way is not None, f"{station} and {hop} are neighbours in no network"
    return way[0], addresses[hop]


def _families(plan: Plan) -> list[dict[str, str]]:
    """Return the stations' addresses for each version of IP that they have."""
    return [plan.address, plan.address_6] if plan.address_6 else [plan.address]
