# SPDX-License-Identifier: Apache-2.0
"""From the user's scenario to explicit stations, links, radio keys and flow fields.

A resolved `Scenario` validates as a scenario and resolves to itself.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hoplab.model import movement
from hoplab.model.checks.radio import check_medium
from hoplab.model.checks.scenario import check
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.backbones import Backbone
from hoplab.model.keys.cells import Cell
from hoplab.model.keys.interferers import Interferer, with_steps
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.radio import BAND_2_GHZ, BAND_6_GHZ, Indoor, band_of
from hoplab.model.keys.resolved import (
    FLOWS,
    AnyFlow,
    Resolved,
    ResolvedBackbone,
    ResolvedBranch,
    ResolvedCell,
    ResolvedMedium,
    ResolvedRadio,
)
from hoplab.model.keys.scenario import (
    Flow,
    Link,
    Nic,
    Radio,
    Routing,
    Scenario,
    Split,
    Station,
    Tcp,
    Topology,
)
from hoplab.model.keys.snr import Snr, load
from hoplab.model.keys.split import STAMP_BYTES
from hoplab.model.keys.stations import GENERATED
from hoplab.model.keys.traffic import (
    CALL_KBPS,
    CALL_LATE_MS,
    PING_BYTES,
    PING_INTERVAL_S,
    PING_TIMEOUT_S,
    UDP_BYTES,
    Draw,
)
from hoplab.model.keys.variants import DEFAULT, FIXED_WINDOW, uses_sack
from hoplab.model.network.channels import channel_mhz
from hoplab.model.network.multilink import completed
from hoplab.model.network.plan import addresses_of
from hoplab.model.network.powers import indoor, received_dbm
from hoplab.model.network.reach import reach_m
from hoplab.model.resolve import access_links, programs, rrul
from hoplab.model.resolve.branch import branched
from hoplab.model.resources import PRESETS, PROFILES, TOPOLOGIES
from hoplab.model.wording import worded

WARM_UP_S = {
    "static": 0.0,
    "dsr": 0.0,
    "aodv": 0.0,
    "olsr": 30.0,
    "dsdv": 20.0,
    "batmand": 20.0,
    "babeld": 20.0,
    "batman-adv": 40.0,
    "hwmp": 10.0,
    "own": 20.0,
}
"""Proactive protocols need several hello intervals before all routes of a 10-hop chain exist.
batman-adv's took 35 s at most under 16 seeds."""
BGSCAN_S = (2, 60)
"""Seconds between scans if the signal is weak, and if it is not."""
ASSOCIATION_S = (4.0, 0.5)
"""Seconds in which access points begin, and each client scans, associates and agrees on a key. A
client takes 0.15 s on an idle channel."""
OF_BAND = {BAND_2_GHZ: "at_2_ghz", BAND_6_GHZ: "at_6_ghz"}
"""A profile's tables with what differs on other bands than its own."""
DEFAULT_MSS = 1460
IPV6_BYTES = 20
"""Octets by which IPv6's header is longer than that of IPv4 (RFC 8200 section 3)."""
MAX_LEGS = 1_000_000
"""Legs of all stations of a random waypoint movement."""
MEAN_DISTANCE = 0.25
"""Least mean distance of two random places of an area, as a share of the sum of its sides. In a
square it is 0.52 sides (Bettstetter et al. 2004)."""

T = TypeVar("T", bound=BaseModel)
Walk = Callable[[Topology, float, int], dict[str, movement.Trace]]
"""Computes the movement of a topology of kind "mininet-wifi" for a duration in s, by a seed."""


def no_walk(topology: Topology, duration_s: float, seed: int) -> dict[str, movement.Trace]:
    """Compute no movement, because a scenario's meaning starts no process."""
    raise ScenarioError(
        f'topology.kind: "{topology.kind}" needs Mininet-WiFi to compute its movement, and none is '
        "asked here; pass hoplab.front.mininet.movement.walk as walk"
    )


def resolve(scenario: Scenario, folder: Path = Path(), walk: Walk = no_walk) -> Resolved:
    """Expand ``scenario``. Relative movement files are looked up in ``folder``, and ``walk``
    computes Mininet-WiFi's movement.

    Raises `ScenarioError` if parts contradict each other.
    """
    if isinstance(scenario.branch, ResolvedBranch):
        future = resolve(scenario.model_copy(update={"branch": None}), folder, walk)
        return future.model_copy(update={"branch": scenario.branch})
    if scenario.branch is not None:
        return branched(scenario, lambda written: resolve(written, folder, walk))
    stations, links = _network(scenario, folder, walk)
    radio, measured = _measured(radio_with_profile(scenario.radio), scenario, folder)
    stations = tuple(
        _with_own_tcp(_equipped(_placed(station), radio), scenario.tcp) for station in stations
    )
    own_tcp = {station.name: station.tcp for station in stations if station.tcp is not None}
    routes = scenario.routing.protocol == "own" and not scenario.is_found
    resolved = _narrowed(
        Resolved,
        scenario,
        {
            "topology": Topology(),
            "station": stations,
            "link": tuple(
                access_links.resolved(link, scenario.duration_s, folder) for link in links
            ),
            "cell": tuple(_cell(cell, i, radio) for i, cell in enumerate(scenario.cell)),
            "backbone": tuple(_backbone(one, i) for i, one in enumerate(scenario.backbone)),
            "radio": radio,
            "snr": measured,
            "interferer": _interferers(scenario, folder),
            "routing": _with_preset(scenario.routing),
            "warm_up_s": _warm_up_s(scenario) if scenario.warm_up_s is None else scenario.warm_up_s,
            "split": None,
            "flow": tuple(
                _flow(flow, i, scenario, own_tcp.get(flow.source, scenario.tcp))
                for i, written in enumerate(scenario.flow)
                for flow in rrul.flows(written, i, scenario.duration_s)
            ),
            "machine": programs.added(scenario.machine, folder),
            "program": tuple(
                copy
                for i, program in enumerate(scenario.program)
                for copy in programs.expanded(program, i, folder, addresses_of(stations), routes)
            ),
        },
    )
    chosen = any(flow.split for flow in resolved.flow) or any(
        flow.split is False for flow in scenario.flow
    )
    if scenario.split is not None and not chosen:
        raise ScenarioError(
            "split: acts on nothing: no flow of TCP is split; give proxies or every_hops in "
            "[split], or split = true at a flow"
        )
    check(resolved)
    return resolved


def _warm_up_s(scenario: Scenario) -> float:
    warm_up_s = WARM_UP_S[scenario.routing.protocol]
    if scenario.routing.protocol == "own" and not any(
        program.stations or program.routing for program in scenario.program
    ):
        warm_up_s = 0.0
    if any(backbone.mode == "mesh" for backbone in scenario.backbone):
        warm_up_s += WARM_UP_S["hwmp"]
    if scenario.cell:
        clients = sum(len(cell.clients) for cell in scenario.cell)
        warm_up_s += ASSOCIATION_S[0] + ASSOCIATION_S[1] * clients
    return warm_up_s


def _narrowed(kind: type[T], written: BaseModel, update: dict[str, Any]) -> T:
    """Return ``written`` as the resolved table of its kind, with the keys of ``update``. The values
    written were checked, and what contradicts them is for `hoplab.model.checks`."""
    values = {name: getattr(written, name) for name in written.model_fields_set} | update
    lacking = [
        name
        for name, field in kind.model_fields.items()
        if field.is_required() and values.get(name) is None
    ]
    assert not lacking, f"{kind.__name__}: {lacking} left open"
    return kind.model_construct(**values)


def _cell(cell: Cell, index: int, radio: ResolvedRadio) -> ResolvedCell:
    name = cell.name or f"cell{index}"
    width_mhz = cell.width_mhz or radio.width_mhz
    links = tuple(completed(link, width_mhz, radio.band) for link in cell.links)
    update: dict[str, object] = {"name": name, "ssid": cell.ssid or name, "links": links}
    if cell.roaming is not None:
        half_dbm = round(received_dbm(radio, reach_m(radio) / 2))
        update |= {
            "bgscan_dbm": half_dbm if cell.bgscan_dbm is None else cell.bgscan_dbm,
            "bgscan_short_s": cell.bgscan_short_s or BGSCAN_S[0],
            "bgscan_long_s": cell.bgscan_long_s or BGSCAN_S[1],
            "wire_rate_mbps": cell.wire.rate_mbps,
            "wire_delay_ms": cell.wire.delay_ms,
        }
    return _narrowed(ResolvedCell, cell, update)


def _backbone(backbone: Backbone, index: int) -> ResolvedBackbone:
    return _narrowed(ResolvedBackbone, backbone, {"name": backbone.name or f"backbone{index}"})


def _measured(
    radio: ResolvedRadio, written: Scenario | MediumFile, folder: Path
) -> tuple[ResolvedRadio, tuple[Snr, ...]]:
    """Return the measured links, read from the file that the radio's keys name."""
    if radio.snr_trace is None:
        return radio, written.snr
    if written.snr:
        raise ScenarioError("radio.snr_trace: gives the same as [[snr]]; remove one")
    return radio.model_copy(update={"snr_trace": None}), load(folder / radio.snr_trace)


def _interferers(written: Scenario | MediumFile, folder: Path) -> tuple[Interferer, ...]:
    return tuple(with_steps(one, i, folder) for i, one in enumerate(written.interferer))


def resolve_medium(medium: MediumFile, folder: Path = Path()) -> ResolvedMedium:
    """A medium daemon's file with its radio completed by the profile. Files that it names are
    looked up in ``folder``.

    Raises `ScenarioError` where parts contradict each other.
    """
    radio, measured = _measured(radio_with_profile(medium.radio), medium, folder)
    update = {"radio": radio, "interferer": _interferers(medium, folder), "snr": measured}
    resolved = _narrowed(ResolvedMedium, medium, update)
    check_medium(resolved)
    return resolved


def radio_with_profile(radio: Radio) -> ResolvedRadio:
    """Return the radio, with every key that the scenario leaves open from the profile's file."""
    path = PROFILES / f"{radio.profile}.toml"
    with path.open("rb") as file:
        tables = tomllib.load(file)
    document, given = tables["radio"], radio.model_dump(exclude_unset=True, exclude_none=True)
    band = band_of(given.get("channel", document["channel"]), given.get("band_ghz"))
    if band in OF_BAND:
        document |= tables.get(OF_BAND[band], {})
    if band == BAND_6_GHZ:
        # The band is so wide that its ends differ by 1.5 dB.
        document["frequency_mhz"] = channel_mhz(band, given.get("channel", document["channel"]))
    for distance, power in (
        ("range_m", "rx_threshold_dbm"),
        ("carrier_sense_m", "cs_threshold_dbm"),
    ):
        if distance in given and power in given:
            raise ScenarioError(f"radio: {distance} and {power} give the same; remove one")
        if power in given:
            document.pop(distance, None)
    for name, (other, values) in Radio.only.items():
        # Another standard has other names for its rates, and older rules have no aggregation.
        chosen = given.get(other, document.get(other, Radio.model_fields[other].default))
        if chosen not in values:
            document.pop(name, None)
    if indoor := given.pop("indoor", None):
        document |= _of_building(indoor, given, {**document, **given}["frequency_mhz"])
    energy = given.get("energy")
    if energy is not None and "preset" not in energy:
        # Of the radio's powers, only those count that the scenario does not give.
        given["energy"] = {**document.get("energy", {}), **energy}
    return _validated(ResolvedRadio, {**document, **given}, "radio")


def _of_building(name: Indoor, given: dict[str, Any], frequency_mhz: float) -> dict[str, Any]:
    """Return the keys of propagation that `radio.indoor` stands for."""
    exponent, reference_m = indoor(name, frequency_mhz)
    meant = {"propagation": "log-distance", "exponent": exponent, "reference_m": reference_m}
    for key in meant.keys() & given.keys():
        raise ScenarioError(f'radio.{key}: radio.indoor = "{name}" sets it; remove one')
    return meant


def _with_preset(routing: Routing) -> Routing:
    """Add the preset's settings under those given."""
    if routing.preset is None:
        return routing
    preset = tomllib.loads((PRESETS / f"{routing.preset}.toml").read_text(encoding="utf-8"))
    return routing.model_copy(update={"settings": {**preset["settings"], **routing.settings}})


def _validated(table: type[T], document: dict[str, Any], key: str) -> T:
    """Validate a table made of other tables. Its mistakes are still the user's."""
    try:
        return table.model_validate(document)
    except ValidationError as error:
        first = worded(error)[0]
        where = ".".join([key, *map(str, first["loc"])])
        raise ScenarioError(f"{where}: {first['msg']}") from None


def _network(
    scenario: Scenario, folder: Path, walk: Walk
) -> tuple[tuple[Station, ...], tuple[Link, ...]]:
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
    return _generated(scenario, folder, walk), scenario.link


def _placed(station: Station) -> Station:
    """Add the place at time 0 if only waypoints give it."""
    x_m, y_m = station.place()
    return station.model_copy(update={"x_m": x_m, "y_m": y_m})


def _equipped(station: Station, radio: ResolvedRadio) -> Station:
    """Return a station that has its own card with the whole card: its keys over those of
    `[radio.nic]`."""
    if station.nic is None:
        return station
    common = radio.nic.model_dump(exclude_unset=True)
    own = station.nic.model_dump(exclude_unset=True)
    nic = _validated(Nic, {**common, **own}, f"station {station.name}: nic")
    return station.model_copy(update={"nic": nic})


def _with_own_tcp(station: Station, common: Tcp) -> Station:
    """Return a station that has settings of its own with the whole of them."""
    if station.tcp is None and station.sysctl is None:
        return station
    tcp = (station.tcp or Tcp()).over(common)
    sysctl = {**tcp.sysctl, **(station.sysctl or {})}
    tcp = tcp.model_copy(update={"sysctl": sysctl})
    return station.model_copy(update={"tcp": tcp, "sysctl": None})


def _generated(scenario: Scenario, folder: Path, walk: Walk) -> tuple[Station, ...]:
    topology = scenario.topology
    if topology.kind == "chain":
        return tuple(_station(i, i * topology.spacing_m) for i in range(topology.stations))
    if topology.kind == "pair":
        return tuple(_station(i, i * topology.spacing_m) for i in range(2))
    if topology.kind == "grid":
        return tuple(
            _station(
                row * topology.columns + column,
                column * topology.spacing_m,
                row * topology.spacing_m,
            )
            for row in range(topology.rows)
            for column in range(topology.columns)
        )
    if topology.kind == "random-waypoint":
        _few_legs(topology, scenario.duration_s)
        stations = [f"n{i}" for i in range(topology.stations)]
        steps = movement.RandomWaypoint(
            topology.width_m,
            topology.height_m,
            topology.min_speed_mps,
            topology.max_speed_mps,
            topology.pause_s,
        )
        traces = movement.random_waypoint(stations, steps, scenario.duration_s, scenario.seed)
    elif topology.kind == "mininet-wifi":
        traces = walk(topology, scenario.duration_s, scenario.seed)
    else:
        traces = _from_movement_file(topology, folder)
    return tuple(_moving(name, trace) for name, trace in traces.items())


def _station(number: int, x_m: float, y_m: float = 0.0) -> Station:
    name = f"n{number}"
    return _validated(Station, {"name": name, "x_m": x_m, "y_m": y_m}, f"station.{number}")


def _moving(name: str, trace: movement.Trace) -> Station:
    x_m, y_m = trace.at(0.0)
    document = {"name": name, "x_m": x_m, "y_m": y_m, "waypoints": tuple(trace)}
    return _validated(Station, document, f"station {name}")


def _few_legs(topology: Topology, duration_s: float) -> None:
    """Refuse speeds at which stations cross an area this small endlessly."""
    distance_m = MEAN_DISTANCE * (topology.width_m + topology.height_m)
    leg_s = distance_m / topology.max_speed_mps + topology.pause_s
    legs = topology.stations * duration_s / leg_s
    if legs > MAX_LEGS:
        raise ScenarioError(
            f"topology.max_speed_mps: {topology.max_speed_mps:g} m/s in an area of "
            f"{topology.width_m:g} m x {topology.height_m:g} m makes {legs:.2g} legs; at most "
            f"{MAX_LEGS:.0e}"
        )


def _from_movement_file(topology: Topology, folder: Path) -> dict[str, movement.Trace]:
    """Return the first ``stations`` of the file, or all of them if no number is given."""
    path = folder / str(topology.movement)
    traces = movement.load(path)
    if "stations" not in topology.model_fields_set:
        return traces
    if len(traces) < topology.stations:
        raise ScenarioError(
            f"topology.stations: {topology.stations}, but {path} moves {len(traces)}; "
            "lower it or leave it out"
        )
    return dict(list(traces.items())[: topology.stations])


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
    given = topology.model_fields_set & wired.keys()
    if given and "link" not in document:
        raise ScenarioError(
            f"topology.{min(given)}: {topology.kind!r} has no wired links; remove it"
        )
    links = tuple(
        _validated(Link, {**wired, **entry}, "topology") for entry in document.get("link", ())
    )
    stations = tuple(Station.model_validate(entry) for entry in document["station"])
    return stations, links + extra


def _flow(flow: Flow, index: int, scenario: Scenario, tcp: Tcp) -> AnyFlow:
    update: dict[str, Any] = {
        "protocol": flow.protocol,
        "name": flow.name or f"flow{index}",
        "stop_s": min(flow.stop_s or scenario.duration_s, scenario.duration_s),
    }
    if flow.protocol == "tcp":
        update["split"] = split = _split(flow, index, scenario.split)
        default = DEFAULT[tcp.profile]
        if split is not None:
            default = FIXED_WINDOW
            update["window"] = split.window
        name = flow.congestion_control or default
        update["congestion_control"] = name
        headers = IPV6_BYTES if flow.ip == 6 else 0
        update["mss"] = flow.mss or DEFAULT_MSS - headers - (STAMP_BYTES if split else 0)
        if flow.sack is None:
            update["sack"] = uses_sack(name)
    elif flow.protocol == "mptcp":
        name = flow.congestion_control or DEFAULT[tcp.profile]
        update["congestion_control"] = name
        if flow.sack is None:
            update["sack"] = uses_sack(name)
    elif flow.protocol == "udp":
        update["packet_bytes"] = flow.packet_bytes or UDP_BYTES
    elif flow.protocol == "call":
        update["rate_kbps"] = flow.rate_kbps or CALL_KBPS
        update["late_ms"] = flow.late_ms or CALL_LATE_MS
    elif flow.protocol == "ping":
        update["packet_bytes"] = flow.packet_bytes or PING_BYTES
        update["interval_s"] = flow.interval_s or PING_INTERVAL_S
        update["timeout_s"] = flow.timeout_s or PING_TIMEOUT_S
    else:
        update["request"] = flow.request or Draw(mean=1.0)
        update["response"] = flow.response or Draw(mean=1.0)
        update["think"] = flow.think or Draw(mean=0.0)
    return _narrowed(FLOWS[flow.protocol], flow, update)


def _split(flow: Flow, index: int, below: Split | None) -> Split | None:
    """Return how the flow is split, with keys of `[split]` that it leaves open. None if it is not
    split."""
    if flow.split is False or (flow.split is None and not (below and below.says_where)):
        return None
    own = flow.split if isinstance(flow.split, Split) else Split()
    split = own.over(below)
    if not split.says_where:
        raise ScenarioError(
            f"flow.{index}.split: nothing says which stations are proxies; give proxies or "
            "every_hops, here or in [split]"
        )
    if flow.congestion_control not in (None, FIXED_WINDOW):
        raise ScenarioError(
            f'flow.{index}.congestion_control: "{flow.congestion_control}", but the flow is split, '
            "and its window is governed by local acknowledgements; remove it, or set split = false"
        )
    if flow.window not in (None, split.window):
        raise ScenarioError(
            f"flow.{index}.window: {flow.window}, but the flow is split with window = "
            f"{split.window}; remove one"
        )
    return split
