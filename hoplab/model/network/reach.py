# SPDX-License-Identifier: Apache-2.0
"""Who reaches whom: distances of reception and carrier sense, neighbours, paths."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import RADIO_MTU
from hoplab.model.keys.resolved import Resolved, ResolvedRadio
from hoplab.model.keys.stations import Station
from hoplab.model.movement.trace import Trace, Waypoint
from hoplab.model.network.obstacles import Point, between_db, heights, segments
from hoplab.model.network.powers import (
    SPEED_OF_LIGHT_MPS,
    noise_dbm,
    received_dbm,
    reception_dbm,
)

ETHERNET_MTU = 1500
"""MTU of wires, and of the interfaces of DSR and B.A.T.M.A.N. advanced."""

MOST_LEGS = 40
"""Of two stations with more straight lines it is not worth the time to find out whether they
meet."""
A_HAIR_MORE = 1.001
"""Of a distance, so that no rounding counts."""
AROUND = tuple(itertools.product((-1, 0, 1), repeat=2))
"""From a square of a grid to itself and those that touch it."""


def reach_m(radio: ResolvedRadio) -> float:
    """Return the distance in m up to which a frame is received in the mean, without
    interference."""
    if radio.range_m is not None:
        return radio.range_m
    if radio.rx_threshold_dbm is None:
        raise ScenarioError("radio: needs range_m or rx_threshold_dbm")
    return distance_m(radio, radio.rx_threshold_dbm)


def sensed_m(radio: ResolvedRadio) -> float:
    """Return the distance in m up to which a transmission is sensed in the mean."""
    if radio.carrier_sense_m is not None:
        return radio.carrier_sense_m
    if radio.cs_threshold_dbm is None:
        raise ScenarioError("radio: needs carrier_sense_m or cs_threshold_dbm")
    return distance_m(radio, radio.cs_threshold_dbm)


def distance_m(radio: ResolvedRadio, threshold_dbm: float) -> float:
    """Distance at which the mean power falls to ``threshold_dbm``.

    Friis up to the two-ray crossover distance 4 pi h^2 / lambda, d^-4 beyond it (Rappaport 1996,
    as in ns-2's TwoRayGround).
    """
    wavelength_m = SPEED_OF_LIGHT_MPS / (radio.frequency_mhz * 1e6)
    budget = 10 ** ((radio.tx_power_dbm + 2 * radio.antenna_gain_dbi - threshold_dbm) / 10)
    friis_m = wavelength_m / (4 * math.pi) * math.sqrt(budget)
    if radio.propagation == "log-distance":
        at_reference = budget * (wavelength_m / (4 * math.pi * radio.reference_m)) ** 2
        try:
            return float(radio.reference_m * at_reference ** (1 / radio.exponent))
        except OverflowError:
            return math.inf
    height_m = radio.antenna_height_m
    crossover_m = 4 * math.pi * height_m**2 / wavelength_m
    if radio.propagation == "friis" or friis_m <= crossover_m:
        return friis_m
    return float((budget * height_m**4) ** 0.25)


def narrowest_mtu(scenario: Resolved) -> int:
    """Return the octets of the largest IP packet that every interface takes."""
    joined = scenario.link or scenario.cell or scenario.backbone
    narrow = joined or scenario.program or scenario.is_found
    tunnelled = scenario.routing.protocol in ("dsr", "batman-adv", "hwmp")
    return ETHERNET_MTU if narrow or tunnelled else RADIO_MTU


def neighbours(
    scenario: Resolved, t_s: float = 0.0, off: Collection[str] = ()
) -> dict[str, list[str]]:
    """Return the stations that can exchange frames directly at ``t_s``: radios within reach that
    are not ``off``, and ends of wired links. In a cell these are the access point and its clients,
    which reach each other through it. In cells that are one network they are all its stations. In a
    mesh they are all stations with a path between them."""
    graph: dict[str, list[str]] = {station.name: [] for station in scenario.station}
    hear = hearing(scenario, t_s)
    if off:
        hear = {a: [b for b in heard if not {a, b} & {*off}] for a, heard in hear.items()}
    if not scenario.cell and not scenario.backbone:
        for a, heard in hear.items():
            graph[a] += heard
    for cells in scenario.networks:
        served = []
        for cell in cells:
            near = {cell.access_point, *hear.get(cell.access_point, ())}
            served += [one for one in cell.members if one in near]
        for one in served:
            known = {one, *graph[one]}
            graph[one] += [other for other in served if other not in known]
    for backbone in scenario.backbone:
        heard_there = {a: [b for b in hear[a] if b in backbone.stations] for a in backbone.stations}
        for a in backbone.stations:
            reached = next_hops(heard_there, a) if backbone.mode == "mesh" else {}
            met = {*heard_there[a], *reached}
            graph[a] += [b for b in backbone.stations if b in met and b not in graph[a]]
    for link in scenario.link:
        for a, b in (link.ends, link.ends[::-1]):
            if b not in graph[a]:
                graph[a].append(b)
    return graph


def hearing(scenario: Resolved, t_s: float = 0.0) -> dict[str, list[str]]:
    """Return, for each radio, the radios that it reaches at ``t_s``, in station order. They are
    within reach, or were heard both ways if links were measured."""
    radios = [station for station in scenario.station if station.radio]
    if scenario.snr:
        enough_db = reception_dbm(scenario.radio) - noise_dbm(scenario.radio)
        heard = {(link.src, link.dst) for link in scenario.snr if link.at(t_s) >= enough_db}
        both = heard & {link[::-1] for link in heard}
        return {a.name: [b.name for b in radios if (a.name, b.name) in both] for a in radios}
    if not radios:
        return {}
    places = [(station.name, (*station.place(t_s), station.z_m)) for station in radios]
    reaches = reaching(scenario)
    return {a: [b for b, at_b in places if a != b and reaches(at_a, at_b)] for a, at_a in places}


def reaching(scenario: Resolved) -> Callable[[Point, Point], bool]:
    """Return what says whether a frame is received in the mean between two places."""
    radio = scenario.radio
    reach, least_dbm = reach_m(radio), reception_dbm(radio)
    walls = list(segments(scenario.wall, radio.frequency_mhz))
    floors = heights(scenario.floor, radio.frequency_mhz)

    def reaches(a: Point, b: Point) -> bool:
        distance_m = math.dist(a, b)
        if distance_m > reach or not (walls or floors):
            return distance_m <= reach
        return received_dbm(radio, distance_m) - between_db(walls, floors, a, b) >= least_dbm

    return reaches


def meeting(scenario: Resolved, names: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each of these radios, those that may receive from it at some time of the run, in
    station order."""
    radio = scenario.radio
    side_m = reach_m(radio) * A_HAIR_MORE
    # Chance takes single frames further than the mean, and measured links know no distance.
    if scenario.snr or radio.shadowing_db or radio.fading != "none" or math.isinf(side_m):
        return {name: [other for other in names if other != name] for name in names}
    number = {name: i for i, name in enumerate(names)}
    legs = {
        station.name: _legs(station, scenario.duration_s)
        for station in scenario.station
        if station.name in number
    }
    squares: dict[tuple[int, int], set[str]] = defaultdict(set)
    visited = {name: _squares(own, side_m) for name, own in legs.items()}
    for name, own in visited.items():
        for square in own:
            squares[square].add(name)
    found = {}
    for name in names:
        near: set[str] = set()
        for (x, y), (i, j) in itertools.product(visited[name], AROUND):
            near |= squares.get((x + i, y + j), set())
        others = sorted(near - {name}, key=number.__getitem__)
        found[name] = [other for other in others if _meet(legs[name], legs[other], side_m)]
    return found


def _legs(station: Station, end_s: float) -> list[Trace]:
    """Return a station's straight lines from time 0 to ``end_s``. A jump is none."""
    turns = [Waypoint(*turn) for turn in station.waypoints if 0 < turn[0] < end_s]
    way = [Waypoint(0.0, *station.place()), *turns, Waypoint(end_s, *station.place(end_s))]
    return [Trace(leg) for leg in itertools.pairwise(way) if leg[0].t_s < leg[1].t_s]


def _squares(legs: Sequence[Trace], side_m: float) -> set[tuple[int, int]]:
    """Return the squares of a grid through which these lines lead."""
    found = set()
    for leg in legs:
        start, end = leg
        # Two looks a square leave none out but for a corner.
        looks = 1 + math.ceil(2 * math.dist(start[1:], end[1:]) / side_m)
        for i in range(looks + 1):
            x_m, y_m = leg.at(start.t_s + (end.t_s - start.t_s) * i / looks)
            found.add((math.floor(x_m / side_m), math.floor(y_m / side_m)))
    return found


def _meet(one: Sequence[Trace], other: Sequence[Trace], within_m: float) -> bool:
    """Whether two stations come this close to each other."""
    if len(one) + len(other) > MOST_LEGS:
        return True
    return any(_least_m(*pair) <= within_m for pair in itertools.product(one, other))


def _least_m(one: Trace, other: Trace) -> float:
    """Return the least distance on two lines, infinite where they have no time in common."""
    from_s, to_s = max(one[0].t_s, other[0].t_s), min(one[-1].t_s, other[-1].t_s)
    if from_s > to_s:
        return math.inf
    (x, y), (end_x, end_y) = (
        (b - a for a, b in zip(one.at(t_s), other.at(t_s), strict=True)) for t_s in (from_s, to_s)
    )
    dx, dy = end_x - x, end_y - y
    squared = dx * dx + dy * dy
    part = 0.0 if squared == 0 else min(1.0, max(0.0, -(x * dx + y * dy) / squared))
    return math.hypot(x + part * dx, y + part * dy)


def next_hops(graph: dict[str, list[str]], destination: str) -> dict[str, str]:
    """Return the next hop towards ``destination`` from every station that can reach it. The search
    is breadth first. Among equal paths the first neighbour in station order counts."""
    towards: dict[str, str] = {}
    queue = deque([destination])
    while queue:
        reached = queue.popleft()
        for name in graph[reached]:
            if name != destination and name not in towards:
                towards[name] = reached
                queue.append(name)
    return towards


def path(towards: dict[str, str], source: str, destination: str) -> list[str]:
    """Return the stations from ``source`` to ``destination``, both included, by the result of
    `next_hops`. Empty if there is no path."""
    stations = [source]
    while stations[-1] != destination:
        hop = towards.get(stations[-1])
        if hop is None:
            return []
        stations.append(hop)
    return stations
