# SPDX-License-Identifier: Apache-2.0
"""Radios of stations, one in each of the station's `[[cell]]` and `[[backbone]]`."""

from __future__ import annotations

from dataclasses import dataclass

from hoplab.model.keys.multilink import EMLSR, PADDING_US, TRANSITION_US, FurtherLink
from hoplab.model.keys.radio import Categories
from hoplab.model.keys.resolved import Resolved, ResolvedBackbone, ResolvedCell
from hoplab.model.network.multilink import Emlsr


@dataclass(frozen=True)
class Wlan:
    """A radio of a station."""

    station: str
    number: int
    """Number among the station's radios, from 0."""
    network: ResolvedCell | ResolvedBackbone | None
    """Its network; None in a scenario with neither cells nor backbones."""

    @property
    def interface(self) -> str:
        """Its name inside the station."""
        return f"wlan{self.number}"

    @property
    def name(self) -> str:
        """Its name in records: the first radio has its station's."""
        return f"{self.station}:{self.interface}" if self.number else self.station

    @property
    def wiphy(self) -> str:
        """Its name in the kernel."""
        return f"radio-{self.name}"

    @property
    def is_bridged(self) -> bool:
        """Whether it is the access point of a cell whose clients roam, so that both are ports of
        bridges."""
        cell = self.network
        return (
            isinstance(cell, ResolvedCell)
            and cell.roaming is not None
            and cell.access_point == self.station
        )


def station_of(radio: str) -> str:
    """Return the station of the radio with this `Wlan.name`."""
    return radio.partition(":")[0]


def wlans(scenario: Resolved) -> tuple[Wlan, ...]:
    """Return every radio, in order of stations. For each station, those in cells come first."""
    stations = [station.name for station in scenario.station if station.radio]
    if not scenario.cell and not scenario.backbone:
        return tuple(Wlan(name, 0, None) for name in stations)
    networks: dict[str, list[ResolvedCell | ResolvedBackbone]] = {name: [] for name in stations}
    for cell in scenario.cell:
        for name in cell.members:
            networks[name].append(cell)
    for backbone in scenario.backbone:
        for name in backbone.stations:
            networks[name].append(backbone)
    return tuple(
        Wlan(name, number, network)
        for name, of_station in networks.items()
        for number, network in enumerate(of_station)
    )


def channel_of(scenario: Resolved, wlan: Wlan) -> int | None:
    """Return the channel of a radio if networks are on several. None if all are on that of
    `[radio]`."""
    own = scenario.radio.channel
    networks: list[ResolvedCell | ResolvedBackbone] = [*scenario.cell, *scenario.backbone]
    alone = all(network.channel in (None, own) for network in networks)
    if wlan.network is None or (alone and not any(cell.links for cell in scenario.cell)):
        return None
    return own if wlan.network.channel is None else wlan.network.channel


def width_of(scenario: Resolved, wlan: Wlan) -> int | None:
    """Return the width of a radio in MHz. None if it is that of `[radio]`."""
    cell = wlan.network
    if not isinstance(cell, ResolvedCell):
        return None
    if wlan.station in cell.clients:
        station = next(one for one in scenario.station if one.name == wlan.station)
        if station.width_mhz is not None:
            return station.width_mhz
    return cell.width_mhz


def punctured_of(wlan: Wlan) -> int | None:
    """Return the subchannels of a radio's channel that are left out, as bits."""
    return None if wlan.network is None else wlan.network.punct_bitmap


def links_of(wlan: Wlan) -> tuple[FurtherLink, ...]:
    """Return a radio's further links."""
    return wlan.network.links if isinstance(wlan.network, ResolvedCell) else ()


def emlsr_of(wlan: Wlan) -> Emlsr | None:
    """Return what a client announces that has a single radio for its links."""
    cell = wlan.network
    if not isinstance(cell, ResolvedCell) or cell.link_mode != EMLSR:
        return None
    if wlan.station not in cell.clients:
        return None
    padding_us, transition_us = cell.emlsr_padding_us, cell.emlsr_transition_us
    return Emlsr(
        padding_us=PADDING_US if padding_us is None else padding_us,
        transition_us=TRANSITION_US if transition_us is None else transition_us,
    )


def beacon_offset_of(wlan: Wlan) -> float:
    """Return how long an access point's beacons are held back, in ms."""
    cell = wlan.network
    if isinstance(cell, ResolvedCell) and wlan.station == cell.access_point:
        return cell.beacon_offset_ms
    return 0.0


def categories_of(wlan: Wlan) -> Categories | None:
    """Return a radio's access categories at time 0. None if they are those of `[radio]`."""
    cell = wlan.network
    if not isinstance(cell, ResolvedCell):
        return None
    return (cell.edca_ap or cell.edca) if wlan.station == cell.access_point else cell.edca
