# SPDX-License-Identifier: Apache-2.0
"""Refuse access categories of cells and radios that cannot be."""

from __future__ import annotations

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import (
    CATEGORIES,
    HT_STANDARDS,
    Categories,
    CategoryValues,
)
from hoplab.model.keys.resolved import Resolved, ResolvedMedium, ResolvedRadio

TXOP_UNIT_US = 32
"""Unit of a TXOP limit in the WMM element (IEEE 802.11-2020 9.4.2.28)."""
LEAST_AIFSN = 2
"""What a station that is no access point waits at least (IEEE 802.11-2020 9.4.2.28)."""


def check_categories(scenario: Resolved) -> None:
    """Raise `ScenarioError` for the first contradiction in cells' own categories."""
    for i, cell in enumerate(scenario.cell):
        for key in ("edca", "edca_ap"):
            own: Categories | None = getattr(cell, key)
            if own is not None:
                _counts(f"cell.{i}.{key}", scenario.radio)
                _of_ht(f"cell.{i}.{key}", scenario.radio)
                _windows(f"cell.{i}.{key}", own)
    if all(cell.edca is None and cell.edca_ap is None for cell in scenario.cell):
        return
    # From now on every client goes by what its access point announces.
    for i, cell in enumerate(scenario.cell):
        where, announced = f"cell.{i}.edca", cell.edca
        if announced is None:
            where, announced = "radio.edca", scenario.radio.edca
        _announced(where, announced)


def check_categories_of_radios(medium: ResolvedMedium) -> None:
    """Raise `ScenarioError` for the first contradiction in radios' own categories."""
    for i, station in enumerate(medium.station):
        if station.edca is not None:
            _counts(f"station.{i}.edca", medium.radio)
            _windows(f"station.{i}.edca", station.edca)


def _counts(where: str, radio: ResolvedRadio) -> None:
    if radio.rules != "edca":
        raise ScenarioError(
            f'{where}: is given, but radio.rules is "{radio.rules}", which has no access '
            'categories; use radio.profile = "80211n", "80211ac", "80211ax" or "80211be", or '
            "remove it"
        )


def _of_ht(where: str, radio: ResolvedRadio) -> None:
    """Refuse categories of a cell without WMM, whose frames have no QoS header."""
    if radio.standard not in HT_STANDARDS:
        raise ScenarioError(
            f'{where}: is given, but radio.standard is "{radio.standard}", whose cells have no '
            f"WMM; use one of {', '.join(HT_STANDARDS)}, or remove it"
        )


def _each(categories: Categories) -> zip[tuple[str, CategoryValues]]:
    return zip(CATEGORIES, categories.complete(), strict=True)


def _windows(where: str, categories: Categories) -> None:
    for name, category in _each(categories):
        for key in ("cw_min", "cw_max"):
            window = getattr(category, key)
            if window & (window + 1):
                raise ScenarioError(
                    f"{where}.{name}.{key}: {window} is not 2^n - 1, as 15, 31 and 1023 are"
                )
        if category.cw_max < category.cw_min:
            raise ScenarioError(
                f"{where}.{name}.cw_max: {category.cw_max} is below cw_min {category.cw_min}; "
                "raise it"
            )


def _announced(where: str, categories: Categories) -> None:
    """Check what the WMM element can say, and what mac80211 takes of it."""
    _windows(where, categories)
    for name, category in _each(categories):
        if category.aifsn < LEAST_AIFSN:
            raise ScenarioError(
                f"{where}.{name}.aifsn: {category.aifsn}, but a client waits at least "
                f"{LEAST_AIFSN} slots (IEEE 802.11-2020 9.4.2.28); raise it, or give it to the "
                "access point alone by edca_ap"
            )
        if category.cw_min == 0:
            raise ScenarioError(
                f"{where}.{name}.cw_min: 0, but mac80211 takes no such window of an access point; "
                "use at least 1"
            )
        if category.txop_us % TXOP_UNIT_US:
            raise ScenarioError(
                f"{where}.{name}.txop_us: {category.txop_us:g} is no multiple of {TXOP_UNIT_US} "
                "us, in which an access point announces it; use "
                f"{round(category.txop_us / TXOP_UNIT_US) * TXOP_UNIT_US}"
            )
