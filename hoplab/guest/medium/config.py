# SPDX-License-Identifier: Apache-2.0
"""The medium daemon's document, from a resolved scenario."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TypeVar

from hoplab.model.keys import documents
from hoplab.model.keys.declare import Table
from hoplab.model.keys.medium_file import RadioStation, Records
from hoplab.model.keys.resolved import ResolvedMedium
from hoplab.model.network import medium_document
from hoplab.model.network.multilink import Emlsr
from hoplab.model.network.plan import Plan
from hoplab.model.network.wlans import (
    beacon_offset_of,
    categories_of,
    channel_of,
    emlsr_of,
    links_of,
    punctured_of,
    width_of,
)

OfStations = TypeVar("OfStations", bound=Table)


def write(
    plan: Plan, epoch_ns: int, out: Path, overhear: bool, control: Path | None = None
) -> Path:
    """Write ``medium-document.json`` into ``out``, which the daemon reads."""
    document = medium_document.document(
        _medium(plan, out, overhear, control),
        epoch_ns,
        plan.scenario.roams,
        plan.scenario.saving,
        _single(plan),
    )
    return documents.write(out / "raw" / "medium-document.json", document)


def _single(plan: Plan) -> dict[str, Emlsr]:
    """Return what radios announce that are the only one for all links of their device."""
    wlans = [wlan for of_station in plan.wlans.values() for wlan in of_station]
    announced = {wlan.name: emlsr_of(wlan) for wlan in wlans}
    return {name: emlsr for name, emlsr in announced.items() if emlsr is not None}


def _medium(plan: Plan, out: Path, overhear: bool, control: Path | None) -> ResolvedMedium:
    scenario, measure = plan.scenario, plan.scenario.measure
    return ResolvedMedium(
        seed=scenario.seed,
        duration_s=plan.end_s,
        overhear=overhear,
        control=None if control is None else str(control),
        radio=scenario.radio,
        station=tuple(
            RadioStation(
                name=wlan.name,
                mac=plan.mac[wlan.name],
                x_m=station.x_m,
                y_m=station.y_m,
                z_m=station.z_m,
                waypoints=station.waypoints,
                nic=station.nic,
                channel=channel_of(scenario, wlan),
                width_mhz=width_of(scenario, wlan),
                punct_bitmap=punctured_of(wlan),
                links=links_of(wlan),
                beacon_offset_ms=beacon_offset_of(wlan),
                edca=categories_of(wlan),
            )
            for station in scenario.station
            for wlan in plan.wlans.get(station.name, ())
        ),
        wall=scenario.wall,
        floor=scenario.floor,
        interferer=scenario.interferer,
        loss=tuple(
            each
            for loss in scenario.loss
            if not scenario.is_wired(loss)
            for each in of_radios(plan, loss)
        ),
        snr=tuple(each for link in scenario.snr for each in of_radios(plan, link)),
        event=tuple(each for event in scenario.event for each in of_radios(plan, event)),
        records=Records(
            dir=str(out / "raw"),
            interval_s=measure.interval_s,
            frames=measure.frames,
            air_capture=str(out / "captures" / "air.pcapng") if "air" in measure.captures else None,
        ),
    )


def radios_of(plan: Plan, station: str) -> list[str]:
    """Return the medium's names of a station's radios.

    A station without a radio, or an unknown one, keeps its name: the medium refuses it.
    """
    return [wlan.name for wlan in plan.wlans.get(station, ())] or [station]


def of_radios(plan: Plan, told: OfStations) -> list[OfStations]:
    """Repeat an object that names stations for each of their radios, by the medium's names.

    Radios of different networks do not hear each other, so every pair of radios may be named.
    """
    keys = [key for key in ("station", "src", "dst") if getattr(told, key, None) is not None]
    radios = [radios_of(plan, getattr(told, key)) for key in keys]
    if all(len(of_one) == 1 for of_one in radios):
        return [told]
    return [
        told.model_copy(update=dict(zip(keys, names, strict=True)))
        for names in itertools.product(*radios)
    ]
