# SPDX-License-Identifier: Apache-2.0
"""The paths of a connection by Multipath TCP (RFC 8684): one by each interface of its source.

The first is that of the source's own address, by its radio if it has one. Each wired link gives
another, with the address of its end there, and so does each further radio.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from hoplab.model.keys.resolved import MptcpFlow, Resolved, ResolvedCell
from hoplab.model.network.plan import End, Plan
from hoplab.model.network.reach import neighbours, next_hops, path
from hoplab.model.network.wlans import Wlan

RADIO = "radio"


@dataclass(frozen=True)
class Path:
    """A path from a flow's source."""

    address: str
    """Of the source on this path."""
    by: End | Wlan | None
    """The source's end of the wired link, or its further radio; None by its first radio."""
    stations: tuple[str, ...]
    """From the source to the destination."""

    @property
    def via(self) -> str:
        """The path's first station after the source, or `RADIO`."""
        return RADIO if self.by is None else self.stations[1]


def connections(scenario: Resolved) -> Iterator[tuple[str, str, str]]:
    """Yield who opens connections by MPTCP, from which station and to which. A program may connect
    to any other station where one speaks MPTCP, and be connected to."""
    for flow in scenario.flow:
        if isinstance(flow, MptcpFlow):
            yield f"flow {flow.name}", flow.source, flow.destination
    programs = {one.station: one.name for one in scenario.program if one.mptcp}
    for here, there in permutations(programs, 2):
        yield f"program {programs[here]}", here, there


def paths(plan: Plan, source: str, destination: str) -> list[Path]:
    """Return the paths of a connection, the first one first. Its other paths begin with links, then
    with further radios, of which `mptcp.without` says nothing, in their order."""
    graph = neighbours(plan.scenario)
    station = next(one for one in plan.scenario.station if one.name == source)
    ends = {end.peer_station: end for end in plan.ends[source]}
    found = []
    first = _first(graph, source, destination, ends if station.radio else {})
    if first:
        found.append(Path(plan.address[source], ends.get(first[1]), tuple(first)))
    without = station.mptcp.without if station.mptcp else ()
    # A path does not come back to its source.
    rest = {a: [b for b in near if b != source] for a, near in graph.items() if a != source}
    hops = next_hops(rest, destination)
    for end in plan.ends[source]:
        peer = end.peer_station
        beyond = path(hops, peer, destination)
        if beyond and peer not in without and (not first or peer != first[1]):
            found.append(Path(end.address, end, (source, *beyond)))
    taken = plan.way(source, first[1]) if first and found[0].by is None else None
    for wlan in plan.wlans.get(source, ()):
        if wlan.name not in plan.further or (taken and taken[0] == wlan.interface):
            continue
        near = [b for b in graph[source] if b in members(wlan) and b not in without]
        ways = [way for peer in near if (way := path(hops, peer, destination))]
        if ways:
            found.append(Path(plan.further[wlan.name], wlan, (source, *min(ways, key=len))))
    return found


def members(wlan: Wlan) -> tuple[str, ...]:
    """Return the stations that a radio may send to. There are none if clients roam in its network,
    whose access points share a switch."""
    network = wlan.network
    if isinstance(network, ResolvedCell):
        return () if network.roaming else network.members
    return network.stations if network else ()


def _first(
    graph: dict[str, list[str]], source: str, destination: str, wired: dict[str, End]
) -> list[str]:
    """Return the path of the source's own address: without its wires, if there is one."""
    none: dict[str, End] = {}
    for avoided in (wired, none):
        usable = {
            a: [b for b in near if not _joins(a, b, source, avoided)] for a, near in graph.items()
        }
        found = path(next_hops(usable, destination), source, destination)
        if found:
            return found
    return []


def _joins(a: str, b: str, source: str, wired: dict[str, End]) -> bool:
    return (a == source and b in wired) or (b == source and a in wired)
