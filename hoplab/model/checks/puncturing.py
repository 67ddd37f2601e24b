# SPDX-License-Identifier: Apache-2.0
"""Refuse punctured subchannels that 802.11be does not allow, or that networks do not share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.medium_file import RadioStation
from hoplab.model.keys.resolved import Resolved, ResolvedCell, ResolvedMedium, ResolvedRadio
from hoplab.model.network.channels import channel_mhz, span_mhz
from hoplab.model.network.multilink import completed
from hoplab.model.network.puncturing import ALLOWED, SUBCHANNEL_MHZ, patterns


class Network(NamedTuple):
    """A table with a channel of its own, and what it punctures."""

    table: str
    band_ghz: float
    channel: int
    width_mhz: int
    given: int | None

    @property
    def bitmap(self) -> int:
        """What it punctures: nothing, if it names nothing."""
        return self.given or 0

    @property
    def place(self) -> tuple[float, int]:
        """Its band and channel."""
        return self.band_ghz, self.channel

    @property
    def key(self) -> str:
        return f"{self.table}.punct_bitmap: {self.bitmap:#x}"


def check_puncturing(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first cell, link or backbone that cannot be."""
    radio = scenario.radio
    networks: list[Network] = []
    for i, cell in enumerate(scenario.cell):
        networks += _with_links(f"cell.{i}", cell, radio)
    for i, backbone in enumerate(scenario.backbone):
        channel, given = backbone.channel or radio.channel, backbone.punct_bitmap
        networks.append(Network(f"backbone.{i}", radio.band, channel, radio.width_mhz, given))
    _possible(radio, networks)


def check_punctured_stations(medium: ResolvedMedium) -> None:
    """Raise `ScenarioError` for the first station of the medium's file that cannot be. A bitmap is
    of the channel of the widest station on it."""
    networks: list[Network] = []
    for i, station in enumerate(medium.station):
        networks += _with_links(f"station.{i}", station, medium.radio)
    widest: dict[tuple[float, int], int] = {}
    for one in networks:
        widest[one.place] = max(one.width_mhz, widest.get(one.place, 0))
    _possible(medium.radio, [one._replace(width_mhz=widest[one.place]) for one in networks])


def _with_links(
    table: str, one: ResolvedCell | RadioStation, radio: ResolvedRadio
) -> Iterator[Network]:
    """Yield the channel of a table, and those of its further links."""
    width_mhz = one.width_mhz or radio.width_mhz
    channel = one.channel or radio.channel
    yield Network(table, radio.band, channel, width_mhz, one.punct_bitmap)
    for j, link in enumerate(one.links):
        whole, where = completed(link, radio.width_mhz, radio.band), f"{table}.links.{j}"
        yield Network(where, whole.band_ghz, whole.channel, whole.width_mhz, whole.punct_bitmap)


def _possible(radio: ResolvedRadio, networks: Sequence[Network]) -> None:
    for one in networks:
        if one.bitmap:
            _with_radio(radio, one)
            _pattern(radio, one)
    for first, second in combinations(networks, 2):
        if first.place == second.place and first.bitmap != second.bitmap:
            raise ScenarioError(
                f"{second.key}, but {first.table} is on channel {first.channel} too, with "
                f"{first.bitmap:#x}; use the same, or another channel"
            )


def _with_radio(radio: ResolvedRadio, one: Network) -> None:
    if radio.standard != "802.11be":
        raise ScenarioError(
            f'{one.key}: puncturing is 802.11be\'s, and radio.standard is "{radio.standard}"; use '
            'profile "80211be", or remove it'
        )
    impossible = {
        f'radio.rules = "{radio.rules}"': radio.rules != "edca",
        f'radio.mu_mimo = "{radio.mu_mimo}"': radio.mu_mimo != "none",
    }
    for what, holds in impossible.items():
        if holds:
            raise ScenarioError(f"{one.key}: does not go with {what}; remove one")


def _pattern(radio: ResolvedRadio, one: Network) -> None:
    in_band = radio.model_copy(update={"band_ghz": one.band_ghz})
    low_mhz, _ = span_mhz(in_band, one.channel, one.width_mhz)
    primary_mhz = channel_mhz(one.band_ghz, one.channel) - SUBCHANNEL_MHZ / 2
    primary = round((primary_mhz - low_mhz) / SUBCHANNEL_MHZ)
    if one.width_mhz not in ALLOWED:
        raise ScenarioError(
            f"{one.key}: needs a channel of 80, 160 or 320 MHz, and this one has {one.width_mhz}; "
            "raise width_mhz, or remove it"
        )
    if one.bitmap not in patterns(one.width_mhz):
        raise ScenarioError(
            f"{one.key}: of {one.width_mhz} MHz may be punctured {ALLOWED[one.width_mhz]}; the "
            "lowest bit is the lowest 20 MHz"
        )
    if one.bitmap >> primary & 1:
        raise ScenarioError(
            f"{one.key}: has bit {primary}, which is channel {one.channel}, the primary one; "
            "puncture others, or move channel"
        )
