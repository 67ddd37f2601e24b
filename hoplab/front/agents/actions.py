# SPDX-License-Identifier: Apache-2.0
"""Decisions of an agent at a step. Each action has a space of values, and turns a value into
requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from hoplab.model.errors import ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.declare import LEAST_DBM, MAX_COORDINATE_M, MOST_DBM
from hoplab.model.keys.radio import HT_STANDARDS, RATES_OF_STANDARD
from hoplab.model.keys.requests import Request
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.reach import neighbours

LARGEST_WINDOW = 10_000


class Action(ABC):
    """A decision of an agent."""

    for_medium = False
    """Whether it changes the channel."""

    @property
    @abstractmethod
    def space(self) -> spaces.Space[Any]:
        """Space of its values."""

    @abstractmethod
    def check(self, scenario: Resolved) -> None:
        """Raise `ScenarioError` if the scenario has no such thing."""

    @abstractmethod
    def request(self, value: Any) -> Request:
        """Return the request to the guest for a value in `space`."""


@dataclass(frozen=True)
class Window(Action):
    """The most segments that the sender of a TCP flow has in flight: ``low`` to ``high``.

    The limit is the kernel's `snd_cwnd_clamp`. It holds from the flow's next measured round trip
    on. Before the first, the initial window limits the flow's first flight. Slow start fills a
    wider limit."""

    flow: str
    low: int = 1
    high: int = 64

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(self.high - self.low + 1, start=self.low)

    def check(self, scenario: Resolved) -> None:
        protocols = {flow.name: flow.protocol for flow in scenario.flow}
        _known("window", "flow", self.flow, protocols)
        if protocols[self.flow] != "tcp":
            raise ScenarioError(
                f"window: flow {self.flow} is of {protocols[self.flow]}; a window is TCP's"
            )
        if not 1 <= self.low < self.high <= LARGEST_WINDOW:
            raise ScenarioError(
                f"window: {self.low} to {self.high}; expected 1 to {LARGEST_WINDOW}, low first"
            )

    def request(self, value: Any) -> Request:
        return requests.Window(flow=self.flow, segments=int(value))


@dataclass(frozen=True)
class Goes(Action):
    """Whether a flow runs: 1, or not: 0. Only the agent starts and ends it. After a pause it is
    another flow in the tables, ``NAME-2`` and so on. Fields of ``NAME`` continue with it."""

    flow: str

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def check(self, scenario: Resolved) -> None:
        _known("goes", "flow", self.flow, [flow.name for flow in scenario.flow])

    def request(self, value: Any) -> Request:
        return requests.Start(flow=self.flow) if value else requests.Stop(flow=self.flow)


@dataclass(frozen=True)
class Up(Action):
    """Whether a station's radio is on: 1, or off: 0."""

    station: str
    for_medium = True

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def check(self, scenario: Resolved) -> None:
        _radio("up", self.station, scenario)

    def request(self, value: Any) -> Request:
        return requests.Up(station=self.station) if value else requests.Down(station=self.station)


@dataclass(frozen=True)
class Place(Action):
    """The place of a station in m: x and y, each between its values in ``low`` and ``high``."""

    station: str
    low: tuple[float, float]
    high: tuple[float, float]
    for_medium = True

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Box(np.array(self.low), np.array(self.high), dtype=np.float64)

    def check(self, scenario: Resolved) -> None:
        _radio("place", self.station, scenario)
        for low, high in zip(self.low, self.high, strict=True):
            _range("place", low, high, -MAX_COORDINATE_M, MAX_COORDINATE_M)

    def request(self, value: Any) -> Request:
        x_m, y_m = (float(part) for part in value)
        return requests.Move(station=self.station, x_m=x_m, y_m=y_m)


@dataclass(frozen=True)
class LossRate(Action):
    """The share of data frames from ``src`` to ``dst`` that are lost, beside what the channel
    loses: 0 to 1."""

    src: str
    dst: str
    for_medium = True

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Box(0.0, 1.0, (1,), dtype=np.float64)

    def check(self, scenario: Resolved) -> None:
        for station in (self.src, self.dst):
            _radio("loss", station, scenario)

    def request(self, value: Any) -> Request:
        return requests.Lose(src=self.src, dst=self.dst, rate=_number(value))


@dataclass(frozen=True)
class TransmitPower(Action):
    """A station's transmit power in dBm, ``low`` to ``high``."""

    station: str
    low: float
    high: float
    for_medium = True

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Box(self.low, self.high, (1,), dtype=np.float64)

    def check(self, scenario: Resolved) -> None:
        _radio("transmit power", self.station, scenario)
        _range("transmit power", self.low, self.high, LEAST_DBM, MOST_DBM)

    def request(self, value: Any) -> Request:
        return requests.Transmit(station=self.station, dbm=_number(value))


@dataclass(frozen=True)
class Mcs(Action):
    """The modulation and coding scheme of a station's data frames. The value is the index of one of
    ``schemes``. Needs an ad hoc network of 802.11n or 802.11ac."""

    station: str
    schemes: Sequence[int]

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(len(self.schemes))

    def check(self, scenario: Resolved) -> None:
        _radio("mcs", self.station, scenario)
        standard = str(scenario.radio.standard)
        if standard not in HT_STANDARDS or scenario.radio.fixed_by_medium:
            raise ScenarioError(
                f"mcs: the radios are of {standard}; it can be chosen of 802.11n and 802.11ac up "
                "to 80 MHz, where the kernel knows the rate"
            )
        if scenario.cell or scenario.backbone:
            raise ScenarioError(
                "mcs: cannot be chosen beside cells or backbones; leave it to an ad hoc network"
            )
        _choices("mcs", self.schemes, range(16 if standard == "802.11n" else 10))

    def request(self, value: Any) -> Request:
        return requests.Scheme(station=self.station, mcs=int(self.schemes[int(value)]))


@dataclass(frozen=True)
class Rate(Action):
    """The rate of a station's data frames in Mbit/s. The value is the index of one of ``rates``.
    Needs an ad hoc network with ``radio.rate_mbps = "auto"``."""

    station: str
    rates: Sequence[float]

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(len(self.rates))

    def check(self, scenario: Resolved) -> None:
        _radio("rate", self.station, scenario)
        if not scenario.radio.is_adaptive or scenario.cell or scenario.backbone:
            raise ScenarioError(
                'rate: needs radio.rate_mbps = "auto" in an ad hoc network, since a rate that is '
                "fixed stays"
            )
        if scenario.radio.standard in HT_STANDARDS:
            raise ScenarioError(
                f"rate: the radios are of {scenario.radio.standard}, whose rates are MCS; use mcs"
            )
        _choices("rate", self.rates, RATES_OF_STANDARD[str(scenario.radio.standard)])

    def request(self, value: Any) -> Request:
        return requests.Rate(station=self.station, mbps=float(self.rates[int(value)]))


@dataclass(frozen=True)
class NextHop(Action):
    """A station's next hop towards ``destination``. The value is the index of one of the neighbours
    ``via``. Needs ``routing.protocol = "static"``."""

    station: str
    destination: str
    via: Sequence[str]

    @property
    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(len(self.via))

    def check(self, scenario: Resolved) -> None:
        if scenario.routing.protocol != "static":
            raise ScenarioError(
                f"next hop: routing.protocol is {scenario.routing.protocol!r}, whose daemon would "
                'take the route back; set it to "static"'
            )
        graph = neighbours(scenario)
        _known("next hop", "station", self.station, graph)
        _known("next hop", "station", self.destination, graph)
        if self.station == self.destination:
            raise ScenarioError(f"next hop: {self.station} needs no route to itself")
        _choices("next hop", self.via, graph[self.station])

    def request(self, value: Any) -> Request:
        return requests.Route(
            station=self.station, destination=self.destination, via=self.via[int(value)]
        )


def _known(what: str, kind: str, name: str, names: Any) -> None:
    if name not in names:
        raise ScenarioError(
            f"{what}: there is no {kind} {name!r:.40}; one of: {', '.join(names) or '(none)'}"
        )


def _radio(what: str, station: str, scenario: Resolved) -> None:
    _known(what, "station with a radio", station, [s.name for s in scenario.station if s.radio])


def _range(what: str, low: float, high: float, least: float, most: float) -> None:
    if not least <= low < high <= most:
        raise ScenarioError(f"{what}: {low:g} to {high:g}; expected {least:g} to {most:g}")


def _choices(what: str, chosen: Sequence[Any], possible: Any) -> None:
    if not chosen:
        raise ScenarioError(f"{what}: a list without values; name at least one")
    for one in chosen:
        if one not in possible:
            there = ", ".join(map(str, possible)) or "(none)"
            raise ScenarioError(f"{what}: {one!r:.40} is not to be had; one of: {there}")


def _number(value: Any) -> float:
    return float(np.asarray(value).reshape(-1)[0])
