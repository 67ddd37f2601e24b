# SPDX-License-Identifier: Apache-2.0
"""From what the user wrote to explicit stations, links, radio keys and flow fields.

A resolved `Scenario` validates as a scenario and resolves to itself.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path
from typing import Any

from hoplab.errors import ScenarioError
from hoplab.resources import PRESETS, PROFILES, TOPOLOGIES
from hoplab.scenario import movement
from hoplab.scenario.model import Flow, Link, Radio, Routing, Scenario, Station, Topology
from hoplab.scenario.variants import VARIANTS

GENERATED = ("explicit", "chain", "grid", "pair", "random-waypoint", "trace")
WARM_UP_S = {"static": 0.0, "dsr": 0.0, "batmand": 20.0, "babeld": 20.0, "batman-adv": 20.0}
"""Proactive protocols need several hello intervals before all routes of a 10-hop chain stand."""
DEFAULT_MSS = 1460
SPEED_OF_LIGHT_MPS = 299_792_458.0


def resolve(scenario: Scenario, folder: Path = Path()) -> Scenario:
    """Expand ``scenario``; relative movement files are looked up in ``folder``.

    Raises `ScenarioError` where parts contradict each other.
    """
    stations, links = _network(scenario, folder)
    resolved = scenario.model_copy(
        update={
            "topology": Topology(),
            "station": stations,
            "link": links,
            "radio": radio_with_profile(scenario.radio),
            "routing": _routing_with_preset(scenario.routing),
            "warm_up_s": WARM_UP_S[scenario.routing.protocol]
            if scenario.warm_up_s is None
            else scenario.warm_up_s,
            "flow": tuple(_flow(flow, i, scenario) for i, flow in enumerate(scenario.flow)),
        }
    )
    _cross_check(resolved)
    return resolved


def radio_with_profile(radio: Radio) -> Radio:
    """Every key that the scenario leaves open, from the profile's file."""
    path = PROFILES / f"{radio.profile}.toml"
    with path.open("rb") as file:
        document = tomllib.load(file)
    document = document.get("radio", document)
    given = radio.model_dump(exclude_none=True)
    for distance, power in (
        ("range_m", "rx_threshold_dbm"),
        ("carrier_sense_m", "cs_threshold_dbm"),
    ):
        if distance in given and power in given:
            raise ScenarioError(f"radio: {distance} and {power} give the same; remove one")
        if power in given:
            document = {key: value for key, value in document.items() if key != distance}
    return Radio.model_validate({**document, **given})


def _routing_with_preset(routing: Routing) -> Routing:
    """The preset's settings under those given."""
    if routing.preset is None:
        return routing
    document = tomllib.loads((PRESETS / f"{routing.preset}.toml").read_text(encoding="utf-8"))
    if routing.protocol != document["protocol"]:
        raise ScenarioError(
            f'routing.preset: "{routing.preset}" is for {document["protocol"]}, and '
            f'routing.protocol is "{routing.protocol}"; remove the preset'
        )
    return routing.model_copy(update={"settings": {**document["settings"], **routing.settings}})


def reach_m(radio: Radio) -> float:
    """Distance in m up to which a frame is received in the mean, without interference.

    Given directly, or from the receive threshold: Friis up to the two-ray crossover distance
    4 pi h^2 / lambda, d^-4 beyond it (Rappaport 1996, as in ns-2's TwoRayGround).
    """
    if radio.range_m is not None:
        return radio.range_m
    if radio.rx_threshold_dbm is None or radio.tx_power_dbm is None:
        raise ScenarioError("radio: needs range_m, or tx_power_dbm and rx_threshold_dbm")
    frequency_hz = (radio.frequency_mhz or 2412.0) * 1e6
    wavelength_m = SPEED_OF_LIGHT_MPS / frequency_hz
    gain_db = 2 * (radio.antenna_gain_dbi or 0.0)
    budget = 10 ** ((radio.tx_power_dbm + gain_db - radio.rx_threshold_dbm) / 10)
    friis_m = wavelength_m / (4 * math.pi) * math.sqrt(budget)
    if radio.propagation == "log-distance":
        reference_m = radio.reference_m or 1.0
        at_reference = budget * (wavelength_m / (4 * math.pi * reference_m)) ** 2
        return float(reference_m * at_reference ** (1 / (radio.exponent or 3.0)))
    height_m = radio.antenna_height_m or 1.5
    crossover_m = 4 * math.pi * height_m**2 / wavelength_m
    if radio.propagation == "friis" or friis_m <= crossover_m:
        return friis_m
    return float((budget * height_m**4) ** 0.25)


def _network(scenario: Scenario, folder: Path) -> tuple[tuple[Station, ...], tuple[Link, ...]]:
    topology = scenario.topology
    if topology.kind == "explicit":
        if not scenario.station:
            raise ScenarioError(
                'station: none given; write [[station]] tables or set topology.kind, say "chain"'
            )
        return scenario.station, scenario.link
    if scenario.station:
        raise ScenarioError(
            f'station: topology.kind "{topology.kind}" makes its own stations; '
            'use kind = "explicit" to list them'
        )
    if topology.kind not in GENERATED:
        return _from_file(topology, scenario.link)
    return _generated(scenario, folder), scenario.link


def _generated(scenario: Scenario, folder: Path) -> tuple[Station, ...]:
    topology = scenario.topology
    if topology.kind == "chain":
        return tuple(
            Station(name=f"n{i}", x_m=i * topology.spacing_m) for i in range(topology.stations)
        )
    if topology.kind == "pair":
        return tuple(Station(name=f"n{i}", x_m=i * topology.spacing_m) for i in range(2))
    if topology.kind == "grid":
        return tuple(
            Station(
                name=f"n{row * topology.columns + column}",
                x_m=column * topology.spacing_m,
                y_m=row * topology.spacing_m,
            )
            for row in range(topology.rows)
            for column in range(topology.columns)
        )
    if topology.kind == "random-waypoint":
        traces = movement.random_waypoint(
            stations=[f"n{i}" for i in range(topology.stations)],
            width_m=topology.width_m,
            height_m=topology.height_m,
            min_speed_mps=topology.min_speed_mps,
            max_speed_mps=topology.max_speed_mps,
            pause_s=topology.pause_s,
            duration_s=scenario.duration_s,
            seed=scenario.seed,
        )
    else:
        path = folder / str(topology.movement)
        traces = movement.load(path)
    return tuple(
        Station(name=name, x_m=trace[0][1], y_m=trace[0][2], waypoints=tuple(trace))
        for name, trace in traces.items()
    )


def _from_file(
    topology: Topology, extra: tuple[Link, ...]
) -> tuple[tuple[Station, ...], tuple[Link, ...]]:
    path = TOPOLOGIES / f"{topology.kind}.toml"
    known = sorted([*GENERATED, *(file.stem for file in TOPOLOGIES.glob("*.toml"))])
    if topology.kind not in known:
        close = difflib.get_close_matches(topology.kind, known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ScenarioError(
            f"topology.kind: {topology.kind!r} is not known{hint}; one of: {', '.join(known)}"
        )
    with path.open("rb") as file:
        document: dict[str, Any] = tomllib.load(file)
    wired = {
        "rate_mbps": topology.rate_mbps,
        "delay_ms": topology.delay_ms,
        "queue": topology.queue,
    }
    links = tuple(Link.model_validate({**wired, **entry}) for entry in document.get("link", ()))
    stations = tuple(Station.model_validate(entry) for entry in document["station"])
    return stations, links + extra


def _flow(flow: Flow, index: int, scenario: Scenario) -> Flow:
    update: dict[str, Any] = {
        "name": flow.name or f"flow{index}",
        "stop_s": min(flow.stop_s or scenario.duration_s, scenario.duration_s),
    }
    if flow.protocol == "tcp":
        default = "newreno" if scenario.tcp.profile == "classic" else "cubic"
        name = flow.congestion_control or default
        variant = VARIANTS.get(name)
        update["congestion_control"] = name
        update["mss"] = flow.mss or DEFAULT_MSS
        if flow.sack is None:
            update["sack"] = variant is None or variant.sack is not False
    else:
        update["packet_bytes"] = flow.packet_bytes or 512
    return flow.model_copy(update=update)


def _cross_check(scenario: Scenario) -> None:
    names = [station.name for station in scenario.station]
    by_name = {station.name: station for station in scenario.station}
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(f"station: the name {name!r} is given twice")

    def known(name: str | None, key: str) -> None:
        if name is not None and name not in by_name:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ScenarioError(f"{key}: no station {name!r}{hint}; stations: {', '.join(names)}")

    for i, link in enumerate(scenario.link):
        for end in link.ends:
            known(end, f"link.{i}.ends")
    for i, loss in enumerate(scenario.loss):
        known(loss.src, f"loss.{i}.src")
        known(loss.dst, f"loss.{i}.dst")
        if scenario.is_wired(loss) and loss.kind not in ("uniform", "list"):
            raise ScenarioError(
                f'loss.{i}.kind: a wired link has "uniform" and "list", not {loss.kind!r}'
            )
    for i, event in enumerate(scenario.event):
        for key in ("station", "src", "dst"):
            known(getattr(event, key), f"event.{i}.{key}")
    flow_names: set[str] = set()
    sack: dict[str, tuple[str, bool]] = {}
    for i, flow in enumerate(scenario.flow):
        known(flow.source, f"flow.{i}.source")
        known(flow.destination, f"flow.{i}.destination")
        if flow.name in flow_names:
            raise ScenarioError(f"flow.{i}.name: {flow.name!r} is given twice")
        flow_names.add(str(flow.name))
        if flow.start_s >= scenario.duration_s:
            raise ScenarioError(
                f"flow.{i}.start_s: {flow.start_s} is not before duration_s {scenario.duration_s}"
            )
        if flow.sack is not None:
            other = sack.setdefault(flow.source, (str(flow.name), flow.sack))
            if other[1] != flow.sack:
                raise ScenarioError(
                    f"flow.{i}.sack: {flow.name} and {other[0]} leave the same station "
                    f"{flow.source}, and SACK is a setting of the station; use two stations"
                )
    if scenario.tcp.delayed_ack is False and scenario.routing.protocol in ("batmand", "babeld"):
        raise ScenarioError(
            f"tcp.delayed_ack: false is a property of routes, and {scenario.routing.protocol} "
            "makes its own; use routing.protocol static, dsr or batman-adv"
        )
    if scenario.routing.protocol != "static" and any(not s.radio for s in scenario.station):
        raise ScenarioError(
            f"routing.protocol: {scenario.routing.protocol!r} needs a radio at every station; "
            'networks with wired hosts use "static"'
        )
