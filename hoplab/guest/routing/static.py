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
    wired = next((end for end in plan.ends[station] if end.peer_station == hop), None)
    if wired is not None:
        interface = wired.interface
    else:
        way = plan.way(station, hop)
        assert way is not None, f"{station} and {hop} are neighbours in no network"
        interface, _ = way
    for addresses in _families(plan):
        gateway = addresses[hop] if hop != destination else None
        if wired is not None:
            of_ipv4 = addresses is plan.address
            gateway = wired.peer_address if of_ipv4 else wired.peer_address_6
        routes.route(
            addresses[destination],
            namespaces.index(station, interface),
            addresses[station],
            gateway,
            onlink=gateway is not None and (wired is None or addresses is plan.address_6),
            metrics=plan.metrics[station].get(destination),
        )


def _families(plan: Plan) -> list[dict[str, str]]:
    """Return the stations' addresses for each version of IP that they have."""
    return [plan.address, plan.address_6] if plan.address_6 else [plan.address]
