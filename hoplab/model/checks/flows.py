# SPDX-License-Identifier: Apache-2.0
"""Refuse flows that cannot be, or that no path carries."""

from __future__ import annotations

from hoplab.model.checks.names import known
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import AnyFlow, MptcpFlow, PingFlow, Resolved, TcpFlow, UdpFlow
from hoplab.model.keys.routers import ROUTERS
from hoplab.model.keys.scenario import SETTINGS_OF
from hoplab.model.keys.split import STAMP_BYTES, Split
from hoplab.model.network.multipath import members
from hoplab.model.network.reach import narrowest_mtu, neighbours, next_hops, path
from hoplab.model.network.wlans import wlans

IP_TCP_HEADERS_BYTES = {4: 40, 6: 60}


MAX_PACKETS_PER_S = 250_000
"""Packets of all UDP flows: a guest sends this many in some twenty seconds, and shows its
progress."""


def check_packets(scenario: Resolved) -> None:
    """Raise `ScenarioError` for more packets than a guest sends in a reasonable time."""
    rates = [
        flow.rate_kbps * 125 / flow.packet_bytes
        for flow in scenario.flow
        if isinstance(flow, UdpFlow) and flow.rate_kbps is not None
    ]
    rates += [1 / flow.interval_s for flow in scenario.flow if isinstance(flow, PingFlow)]
    if sum(rates) > MAX_PACKETS_PER_S:
        raise ScenarioError(
            f"flow: {len(rates)} flows send {sum(rates):.0f} packets a second in all; at most "
            f"{MAX_PACKETS_PER_S}: lower rate_kbps, or raise packet_bytes or interval_s"
        )


def check_flows(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction of a flow."""
    station_names = [station.name for station in scenario.station]
    flow_names: set[str] = set()
    graph = neighbours(scenario)
    for i, flow in enumerate(scenario.flow):
        known(flow.source, f"flow.{i}.source", station_names)
        known(flow.destination, f"flow.{i}.destination", station_names)
        if flow.name in flow_names:
            raise ScenarioError(f"flow.{i}.name: {flow.name!r} is given twice")
        flow_names.add(flow.name)
        if flow.start_s >= scenario.duration_s:
            raise ScenarioError(
                f"flow.{i}.start_s: {flow.start_s} is not before duration_s {scenario.duration_s}"
            )
        if flow.is_endless and scenario.routing.protocol in SETTINGS_OF:
            raise ScenarioError(
                f"flow.{i}.rate_kbps: not given, and no full buffer holds a sender back over "
                f"{scenario.routing.protocol.upper()}, which drops what is too much; give a rate, "
                "or packets"
            )
        _segment_size(scenario, flow, i)
        if isinstance(flow, MptcpFlow):
            _multipath(scenario, flow, i)
        if scenario.routing.protocol in ROUTERS:
            _by_tables(scenario, flow, i)
        if isinstance(flow.split, Split):
            _split(scenario, flow, i, flow.split, graph)


def _multipath(scenario: Resolved, flow: MptcpFlow, i: int) -> None:
    if scenario.routing.protocol != "static" or scenario.is_found:
        raise ScenarioError(
            f'flow.{i}.protocol: "mptcp" needs a route by each of its paths, which only '
            'routing.protocol = "static" gives; set it'
        )
    if flow.ip != 4:
        raise ScenarioError(f"flow.{i}.ip: the paths of MPTCP have addresses of IPv4 here; use 4")


def check_multipath(scenario: Resolved) -> None:
    """Raise `ScenarioError` for neighbours of `mptcp` that neither a wire nor a further radio joins
    to their station."""
    joined = {frozenset(link.ends) for link in scenario.link}
    for wlan in wlans(scenario):
        if wlan.number:
            joined |= {frozenset((wlan.station, other)) for other in members(wlan)}
    for i, station in enumerate(scenario.station):
        for name in ("without", "backup") if station.mptcp else ():
            for other in getattr(station.mptcp, name):
                if frozenset((station.name, other)) not in joined:
                    raise ScenarioError(
                        f"station.{i}.mptcp.{name}: {other!r} is at no link of {station.name} and "
                        "in no network of its second radio; name a station that is"
                    )


def check_paths(scenario: Resolved) -> None:
    """Raise `ScenarioError` for a flow without a path, once radios and names are known to be
    right."""
    if not _stays(scenario):
        return
    graph = neighbours(scenario)
    for i, flow in enumerate(scenario.flow):
        if flow.source not in next_hops(graph, flow.destination):
            raise ScenarioError(
                f"flow.{i}: there is no path from {flow.source} to {flow.destination}; "
                "move stations closer (topology.spacing_m), raise radio.range_m or add a link"
            )


def _split(
    scenario: Resolved, flow: AnyFlow, i: int, split: Split, graph: dict[str, list[str]]
) -> None:
    """Check that proxies are stations which a segment of the flow can meet. The flow's remedies
    must not contradict each other."""
    for j, name in enumerate(split.proxies):
        known(name, f"flow.{i}.split.proxies.{j}", graph)
    stations = path(next_hops(graph, flow.destination), flow.source, flow.destination)
    on_way = stations[1:-1]
    if split.every_hops is not None and stations and _stays(scenario):
        if split.every_hops > len(on_way):
            raise ScenarioError(
                f"flow.{i}.split.every_hops: {split.every_hops}, but from {flow.source} to "
                f"{flow.destination} are {len(stations) - 1} hops, so there is no proxy; lower it"
            )
    elif split.proxies:
        possible = set(on_way) if scenario.routing.protocol == "static" else set(graph)
        if not possible.intersection(split.proxies) - {flow.source, flow.destination}:
            between = ", ".join(on_way) or "none"
            raise ScenarioError(
                f"flow.{i}.split.proxies: none of them is between {flow.source} and "
                f"{flow.destination}; there are: {between}"
            )
    if scenario.stands_by(flow):
        raise ScenarioError(
            f"flow.{i}.elfn: the flow is split, and its proxies answer for a route that fails; "
            "set elfn = false or split = false"
        )


def _by_tables(scenario: Resolved, flow: AnyFlow, i: int) -> None:
    """Refuse what needs DSR's source routes, or Route Errors."""
    name = scenario.routing.protocol.upper()
    if flow.split:
        raise ScenarioError(
            f"flow.{i}.split: a source does not know the stations of {name}'s routes; use "
            "routing.protocol dsr, or set split = false"
        )
    tells = "elfn" in ROUTERS[scenario.routing.protocol].model_fields
    if not tells and scenario.stands_by(flow):
        raise ScenarioError(
            f"flow.{i}.elfn: no message of {name} tells a source that its route failed; use "
            "routing.protocol dsr or aodv, or set elfn = false"
        )


def _segment_size(scenario: Resolved, flow: AnyFlow, i: int) -> None:
    if not isinstance(flow, TcpFlow):
        return
    headers = IP_TCP_HEADERS_BYTES[flow.ip]
    most = narrowest_mtu(scenario) - headers - (STAMP_BYTES if flow.split else 0)
    if flow.mss > most:
        stamped = " with the stamp of a split flow" if flow.split else ""
        raise ScenarioError(
            f"flow.{i}.mss: {flow.mss} does not fit the interfaces on the way{stamped}; "
            f"at most {most}"
        )


def _stays(scenario: Resolved) -> bool:
    """Return whether reachability is known and constant: static routes are those of time 0."""
    if scenario.is_found:
        return False
    if scenario.routing.protocol == "static":
        return True
    radio = scenario.radio
    moves = any(len(station.waypoints) > 1 for station in scenario.station) or any(
        event.kind == "move" for event in scenario.event
    )
    if scenario.snr:
        moves = any(len(link.points) > 1 for link in scenario.snr)
    return not moves and radio.shadowing_db == 0 and radio.fading == "none"
