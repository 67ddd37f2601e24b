# SPDX-License-Identifier: Apache-2.0
"""Refuse parts of a resolved scenario that contradict each other, or have no effect.

A scenario that is accepted here runs, and every key of it acts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from hoplab.model.checks.building import check_surroundings
from hoplab.model.checks.categories import check_categories
from hoplab.model.checks.cells import check_cells
from hoplab.model.checks.channels import Place, check_channels
from hoplab.model.checks.flows import check_flows, check_multipath, check_packets, check_paths
from hoplab.model.checks.ipv6 import check_ipv6
from hoplab.model.checks.multilink import link_places
from hoplab.model.checks.names import known, named_once
from hoplab.model.checks.programs import check_programs
from hoplab.model.checks.radio import check_agreements, check_radio_of_run
from hoplab.model.checks.snr import check_snr
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.routers import ROUTERS
from hoplab.model.keys.scenario import SETTINGS_OF
from hoplab.model.keys.split import Split
from hoplab.model.keys.stations import MAX_STATIONS
from hoplab.model.network.plan import AIR, ANY, BRIDGE, UPLINK, Plan, plan
from hoplab.model.network.proxies import detours

MAX_WAYPOINTS = 1_000_000
MAX_SAMPLES = 10_000_000
MOST_ENTRIES = 100
"""Entries of a list that are checked one by one once a mistake is found."""


def check(scenario: Resolved) -> None:
    """Raise `ScenarioError` with a line for each key or table that contradicts others."""
    _stations(scenario)  # the names on which all others depend
    _network(scenario)
    told: dict[str, str] = {}
    for name, one in _checks():
        try:
            one(scenario)
        except ScenarioError as error:
            for line in (*(() if name is None else _of_entries(scenario, name, one)), str(error)):
                told.setdefault(line.partition(": ")[0], line)
        except (LookupError, ValueError):
            if not told:  # it comes of a contradiction that has been found
                raise
    if told:
        raise ScenarioError("\n".join(told.values()))
    check_paths(scenario)


Check = Callable[[Resolved], None]


def _checks() -> Iterator[tuple[str | None, Check]]:
    """Yield the checks of parts, and the list that a check goes through entry by entry."""
    yield "link", _links
    yield None, _radios_of_stations
    yield None, check_cells
    yield None, check_categories
    yield None, _channels
    yield None, check_agreements
    yield None, _routing
    yield None, check_ipv6
    yield "loss", _losses
    yield "event", _events
    yield "flow", check_flows
    yield None, check_multipath
    yield None, check_packets
    yield "program", check_programs
    yield None, _detours
    yield None, _measure


def _of_entries(scenario: Resolved, name: str, check: Check) -> Iterator[str]:
    """Yield the mistakes of a list's entries, each checked without the others."""
    for i, entry in enumerate(getattr(scenario, name)[:MOST_ENTRIES]):
        try:
            check(scenario.model_copy(update={name: (entry,)}))
        except ScenarioError as error:
            yield str(error).replace(f"{name}.0", f"{name}.{i}", 1)


def _radios_of_stations(scenario: Resolved) -> None:
    for station in scenario.station:
        if station.queue is not None and scenario.network.built_by != "hoplab":
            raise ScenarioError(
                f"station {station.name}: queue: needs a radio that Hoplab makes, but "
                f'network.built_by is "{scenario.network.built_by}"; remove it'
            )
    if any(station.radio for station in scenario.station):
        check_radio_of_run(scenario)
    radios = [station.name for station in scenario.station if station.radio]
    check_snr(scenario.snr, radios, scenario.radio, scenario.event)
    if not radios:
        for key in ("wall", "floor", "interferer"):
            if getattr(scenario, key):
                raise ScenarioError(f"{key}: acts on nothing, because no station has a radio")
    check_surroundings(scenario, [station.name for station in scenario.station])


def _channels(scenario: Resolved) -> None:
    places = [
        Place(f"cell.{i}", cell.channel, cell.width_mhz) for i, cell in enumerate(scenario.cell)
    ]
    places += [Place(f"backbone.{i}", one.channel) for i, one in enumerate(scenario.backbone)]
    places += link_places(scenario, scenario.radio.band)
    check_channels(scenario.radio, places)


def _detours(scenario: Resolved) -> None:
    if scenario.routing.protocol == "batman-adv":
        detours(plan(scenario))


def _stations(scenario: Resolved) -> None:
    names = [station.name for station in scenario.station]
    if len(names) > MAX_STATIONS:
        raise ScenarioError(f"station: {len(names)} stations; at most {MAX_STATIONS}")
    named_once(names)
    if AIR in names:
        raise ScenarioError(f"station: {AIR!r} is not free as a name; choose another")
    points = sum(len(station.waypoints) for station in scenario.station)
    if points > MAX_WAYPOINTS:
        raise ScenarioError(f"station: {points} waypoints in all; at most {MAX_WAYPOINTS}")


def _network(scenario: Resolved) -> None:
    """Check a network that a script has built, and the keys that only such a network has."""
    if scenario.is_found:
        for station in scenario.station:
            if station.radio and station.port is None:
                raise ScenarioError(
                    f'station {station.name}: port: not given, but network.built_by is "script"'
                )
        for key in ("link", "loss", "event", "wall", "floor", "interferer"):
            if getattr(scenario, key):
                raise ScenarioError(
                    f"{key}: is of networks that Hoplab builds, and a script has built this one; "
                    "have the script do it"
                )
        if scenario.routing.protocol not in ("own", *SETTINGS_OF):
            raise ScenarioError(
                f"routing.protocol: {scenario.routing.protocol!r}, but network.built_by is "
                f'"script"; one of: {", ".join(map(json.dumps, ("own", *SETTINGS_OF)))}'
            )
        return
    for station in scenario.station:
        if station.port is not None:
            raise ScenarioError(
                f'station {station.name}: port: is told where network.built_by is "script"; '
                "remove it"
            )


def _links(scenario: Resolved) -> None:
    names = [station.name for station in scenario.station]
    joined: dict[frozenset[str], int] = {}
    for i, link in enumerate(scenario.link):
        for end in link.ends:
            known(end, f"link.{i}.ends", names)
        other = joined.setdefault(frozenset(link.ends), i)
        if other != i:
            raise ScenarioError(
                f"link.{i}.ends: {' and '.join(link.ends)} are joined by link.{other} already; "
                "remove one"
            )


def _routing(scenario: Resolved) -> None:
    protocol = scenario.routing.protocol
    foreign = ("batmand", "babeld", *ROUTERS, *(() if scenario.is_found else ("own",)))
    each = (scenario.tcp, *(one.tcp for one in scenario.station if one.tcp is not None))
    if any(tcp.delayed_ack is False for tcp in each) and protocol in foreign:
        raise ScenarioError(
            f"tcp.delayed_ack: false is a property of routes, and {protocol} "
            "makes its own; use routing.protocol static, dsr or batman-adv"
        )
    if protocol == "hwmp":
        _mesh(scenario)
    if protocol in ("static", "own"):
        return
    if any(not station.radio for station in scenario.station):
        raise ScenarioError(
            f"routing.protocol: {protocol!r} needs a radio at every station; "
            'networks with wired hosts use "static"'
        )
    if scenario.link:
        raise ScenarioError(
            f'routing.protocol: {protocol!r} uses no wired links; remove [[link]] or use "static"'
        )


def _mesh(scenario: Resolved) -> None:
    """Check what a mesh cannot have around it."""
    if scenario.network.built_by != "hoplab":
        raise ScenarioError(
            f'routing.protocol: "hwmp" needs network.built_by = "hoplab"; not '
            f'"{scenario.network.built_by}"'
        )
    for i, flow in enumerate(scenario.flow):
        if isinstance(flow.split, Split):
            raise ScenarioError(
                f'flow.{i}.split: the relays of routing.protocol "hwmp" forward below IP, where no '
                "proxy sees the connection; remove it, or use another protocol"
            )


def _losses(scenario: Resolved) -> None:
    names = [station.name for station in scenario.station]
    radios = [station.name for station in scenario.station if station.radio]
    for i, loss in enumerate(scenario.loss):
        known(loss.src, f"loss.{i}.src", names)
        known(loss.dst, f"loss.{i}.dst", names)
        if scenario.is_wired(loss):
            if loss.kind not in ("uniform", "list"):
                raise ScenarioError(
                    f'loss.{i}.kind: a wired link has "uniform" and "list", not {loss.kind!r}'
                )
            if loss.takes != "data":
                raise ScenarioError(
                    f"loss.{i}.takes: counts on the air only; what a wired link loses is a packet"
                )
            continue
        if len(radios) < 2:
            raise ScenarioError(
                f"loss.{i}: acts on nothing: there are no two radios, and on a wired link it "
                "needs src and dst, which a link joins"
            )
        for key in ("src", "dst"):
            name = getattr(loss, key)
            if name is not None and name not in radios:
                raise ScenarioError(
                    f"loss.{i}.{key}: acts on nothing: {name} has no radio, and no link joins "
                    f"{loss.src or 'any station'} and {loss.dst or 'any station'}"
                )


def _events(scenario: Resolved) -> None:
    names = [station.name for station in scenario.station]
    radios = [station.name for station in scenario.station if station.radio]
    for i, event in enumerate(scenario.event):
        for key in ("station", "src", "dst"):
            name = getattr(event, key)
            known(name, f"event.{i}.{key}", names)
            if name is not None and name not in radios:
                raise ScenarioError(
                    f"event.{i}.{key}: {name} has no radio, and events are of radios"
                )
        if event.at_s >= scenario.duration_s:
            raise ScenarioError(
                f"event.{i}.at_s: {event.at_s:g} is not before duration_s {scenario.duration_s:g}"
            )


def _measure(scenario: Resolved) -> None:
    measure, duration = scenario.measure, scenario.duration_s
    if measure.interval_s > duration:
        raise ScenarioError(
            f"measure.interval_s: {measure.interval_s:g} is longer than duration_s {duration:g}; "
            "there would be no sample"
        )
    if duration / measure.interval_s > MAX_SAMPLES:
        raise ScenarioError(
            f"measure.interval_s: {measure.interval_s:g} makes {duration / measure.interval_s:.0f} "
            f"samples; at most {MAX_SAMPLES}"
        )
    interfaces = _interfaces(scenario)
    for i, target in enumerate(measure.captures):
        key = f"measure.captures.{i}"
        if measure.captures.index(target) != i:
            raise ScenarioError(f"{key}: {target!r} is given twice")
        station, colon, interface = target.partition(":")
        if station == AIR and not colon:
            if not any(one.radio for one in scenario.station):
                raise ScenarioError(f"{key}: 'air' has nothing to capture: there are no radios")
            continue
        known(station, key, interfaces)
        if colon:
            known(interface, key, (ANY, *interfaces[station]), f"interface of {station} named")


def _interfaces(scenario: Resolved) -> dict[str, list[str]]:
    """Return the interfaces that each station will have."""
    by_protocol = {name: [f"{name}0"] for name in SETTINGS_OF} | {"batman-adv": ["bat0"]}
    virtual = by_protocol.get(scenario.routing.protocol, [])
    planned = plan(scenario)
    return {
        station: [
            "lo",
            *(_radios(planned, station, virtual) if station in planned.radios else []),
            *([BRIDGE, UPLINK] if planned.addressed(station) == BRIDGE else []),
            *(end.interface for end in ends),
        ]
        for station, ends in planned.ends.items()
    }


def _radios(planned: Plan, station: str, virtual: list[str]) -> list[str]:
    """Return the interfaces of a station's radios, and the virtual ones on the first."""
    further = [wlan.interface for wlan in planned.wlans[station][1:]]
    return [planned.interface[station], *further, *virtual]
