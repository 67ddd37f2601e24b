# SPDX-License-Identifier: Apache-2.0
"""Static shortest paths in hops, from the stations' places at time 0.

Neighbours are static too: a study of fixed routes has no address resolution in it.
"""

from __future__ import annotations

from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.routes import Routes
from hoplab.model.scenario.plan import WIRELESS, Plan
from hoplab.model.scenario.reach import neighbours, next_hops


def install(plan: Plan, namespaces: Namespaces) -> None:
    """A host route for every destination at every station."""
    graph = neighbours(plan.scenario)
    hops = {destination: next_hops(graph, destination) for destination in plan.address}
    for station in plan.address:
        with Routes(station) as routes:
            if station in plan.radios:
                _neighbours(plan, namespaces, routes, station, graph[station])
            for destination in plan.address:
                if (hop := hops[destination].get(station)) is not None:
                    _route(plan, namespaces, routes, station, hop, destination)


def _neighbours(
    plan: Plan, namespaces: Namespaces, routes: Routes, station: str, others: list[str]
) -> None:
    index = namespaces.index(station, WIRELESS)
    radios = set(plan.radios)
    for other in others:
        if other in radios:
            routes.neighbour(plan.address[other], plan.mac[other], index)


def _route(
    plan: Plan, namespaces: Namespaces, routes: Routes, station: str, hop: str, destination: str
) -> None:
    wired = next((end for end in plan.ends[station] if end.peer_station == hop), None)
    interface = WIRELESS if wired is None else wired.interface
    gateway = plan.address[hop] if hop != destination else None
    if wired is not None:
        gateway = wired.peer_address
    routes.route(
        plan.address[destination],
        namespaces.index(station, interface),
        plan.address[station],
        gateway,
        onlink=wired is None and gateway is not None,
        metrics=plan.metrics[station].get(destination),
    )
