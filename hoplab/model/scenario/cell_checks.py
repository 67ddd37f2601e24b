# SPDX-License-Identifier: Apache-2.0
"""Cells that contradict themselves, or the rest of a resolved scenario, are refused."""

from __future__ import annotations

import math

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.cells import Cell
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.reach import reach_m


def check_cells(scenario: Scenario) -> None:
    """Raise `ScenarioError` for the first contradiction."""
    _rates(scenario)
    if not scenario.cell:
        return
    _surroundings(scenario)
    _members(scenario)
    for i, cell in enumerate(scenario.cell):
        _within_reach(scenario, cell, i)


def _rates(scenario: Scenario) -> None:
    """A rate of its own is a client's, whose access point asks for each client which it takes."""
    clients = {name for cell in scenario.cell for name in cell.clients}
    for station in scenario.station:
        if station.mcs is None:
            continue
        where = f"station {station.name}: mcs"
        if scenario.radio.standard != "802.11n":
            raise ScenarioError(
                f'{where}: {station.mcs}, but radio.standard is "{scenario.radio.standard}"; use '
                '"802.11n", or remove it'
            )
        if station.name not in clients:
            raise ScenarioError(
                f"{where}: {station.mcs}, but it is no client of a [[cell]], and other stations "
                "send at radio.mcs; remove it"
            )


def _surroundings(scenario: Scenario) -> None:
    """What an access point cannot have around it."""
    if scenario.network.built_by != "hoplab":
        raise ScenarioError(
            f'cell: is made where network.built_by is "hoplab", not "{scenario.network.built_by}"; '
            "remove one"
        )
    if scenario.routing.protocol != "static":
        raise ScenarioError(
            f'routing.protocol: "{scenario.routing.protocol}" is for stations that are all alike, '
            'and an access point serves its clients itself; use "static" with [[cell]]'
        )
    if scenario.radio.mac != "80211":
        raise ScenarioError(
            f'radio.mac: "{scenario.radio.mac}" acknowledges nothing, so no client associates; '
            'use "80211" with [[cell]]'
        )


def _members(scenario: Scenario) -> None:
    """Every radio is in one cell."""
    radios = [station.name for station in scenario.station if station.radio]
    names = [station.name for station in scenario.station]
    where: dict[str, int] = {}
    for i, cell in enumerate(scenario.cell):
        keys = ["access_point", *(f"clients.{j}" for j in range(len(cell.clients)))]
        for key, name in zip(keys, cell.members, strict=True):
            if name not in radios:
                lack = "it has no radio" if name in names else "there is no such station"
                raise ScenarioError(f"cell.{i}.{key}: {name}: {lack}; name a station with a radio")
            if name in where:
                raise ScenarioError(
                    f"cell.{i}.{key}: {name} is in cell.{where[name]} already, and a radio is in "
                    "one cell; remove one"
                )
            where[name] = i
        others = [other.name for other in scenario.cell[:i]]
        if cell.name in others:
            raise ScenarioError(f"cell.{i}.name: {cell.name!r} is given twice")
    for name in radios:
        if name not in where:
            raise ScenarioError(
                f"station {name}: is in no cell, and beside cells there is no ad hoc network; add "
                "it to clients of a [[cell]], or set radio = false"
            )


def _within_reach(scenario: Scenario, cell: Cell, i: int) -> None:
    places = {station.name: station.place() for station in scenario.station}
    reach = reach_m(scenario.radio)
    for j, client in enumerate(cell.clients):
        distance = math.dist(places[client], places[cell.access_point])
        if distance > reach:
            raise ScenarioError(
                f"cell.{i}.clients.{j}: {client} is {distance:.4g} m from {cell.access_point}, "
                f"which reaches {reach:.4g} m, so it cannot associate; move it closer"
            )
