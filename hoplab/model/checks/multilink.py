# SPDX-License-Identifier: Apache-2.0
"""Refuse links of multi-link devices where the medium cannot have them."""

from __future__ import annotations

from itertools import combinations

from hoplab.model.checks.channels import Place, check_channels
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import BAND_2_GHZ, BAND_5_GHZ, BAND_6_GHZ
from hoplab.model.keys.resolved import Resolved, ResolvedCell, ResolvedRadio
from hoplab.model.network.channels import overlaps, span_mhz


def check_links(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first link that cannot be."""
    for i, cell in enumerate(scenario.cell):
        if cell.links:
            _possible(scenario, cell, f"cell.{i}.links")
            _apart(scenario.radio, cell, i)
    for band in (BAND_5_GHZ, BAND_6_GHZ):
        if band != scenario.radio.band:
            check_channels(_in_band(scenario.radio, band), link_places(scenario, band))


def _possible(scenario: Resolved, cell: ResolvedCell, where: str) -> None:
    radio = scenario.radio
    if radio.standard != "802.11be":
        raise ScenarioError(
            f'{where}: several links are 802.11be\'s, and radio.standard is "{radio.standard}"; '
            'use profile "80211be", or remove them'
        )
    impossible = [
        (radio.rules != "edca", f'radio.rules = "{radio.rules}"'),
        (cell.roaming is not None, f'roaming = "{cell.roaming}"'),
        (bool(cell.power_save), "power_save"),
        (radio.aggregation == "kernel", 'radio.aggregation = "kernel"'),
        (radio.aggregation is False, "radio.aggregation = false"),
        (radio.energy.battery_j is not None, "radio.energy.battery_j"),
        (bool(scenario.snr), "[[snr]]"),
        (radio.ofdma != "none", f'radio.ofdma = "{radio.ofdma}"'),
        (radio.mu_mimo != "none", f'radio.mu_mimo = "{radio.mu_mimo}"'),
    ]
    for holds, what in impossible:
        if holds:
            raise ScenarioError(f"{where}: do not go with {what}; remove one")
    if BAND_2_GHZ in {radio.band, *(link.band_ghz for link in cell.links)}:
        raise ScenarioError(
            f"{where}: are at 5 or 6 GHz here, as 2.4 GHz has other times; use another channel"
        )


def _apart(radio: ResolvedRadio, cell: ResolvedCell, i: int) -> None:
    """Two radios of a device share no frequencies. They would disturb each other."""
    own = cell.channel or radio.channel, cell.width_mhz or radio.width_mhz, radio.band
    links = [(link.channel, link.width_mhz, link.band_ghz) for link in cell.links]
    spans = [
        (f"cell.{i}{where}.channel: {channel}", span_mhz(_in_band(radio, band), channel, width))
        for where, (channel, width, band) in zip(
            ("", *(f".links.{j}" for j in range(len(links)))), (own, *links), strict=True
        )
    ]
    for (first, one), (second, other) in combinations(spans, 2):
        if overlaps(one, other):
            raise ScenarioError(
                f"{second} shares frequencies with {first}, and the links of a device must be "
                "apart; use another channel"
            )


def _in_band(radio: ResolvedRadio, band_ghz: float) -> ResolvedRadio:
    return radio.model_copy(update={"band_ghz": band_ghz})


def link_places(scenario: Resolved, band_ghz: float) -> list[Place]:
    """Return the further links' channels of a band."""
    return [
        Place(f"cell.{i}.links.{j}", link.channel, link.width_mhz)
        for i, cell in enumerate(scenario.cell)
        for j, link in enumerate(cell.links)
        if link.band_ghz == band_ghz
    ]
