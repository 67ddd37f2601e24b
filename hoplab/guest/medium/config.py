# SPDX-License-Identifier: Apache-2.0
"""The medium daemon's document, from a resolved scenario."""

from __future__ import annotations

from pathlib import Path

from hoplab.model.scenario import documents, medium_document
from hoplab.model.scenario.medium_file import MediumFile, RadioStation, Records
from hoplab.model.scenario.plan import Plan


def write(
    plan: Plan, epoch_ns: int, out: Path, overhear: bool, control: Path | None = None
) -> Path:
    """Write ``medium-document.json`` into ``out``, which the daemon reads."""
    document = medium_document.document(
        _medium(plan, out, overhear, control), epoch_ns, plan.scenario.roams
    )
    return documents.write(out / "raw" / "medium-document.json", document)


def _medium(plan: Plan, out: Path, overhear: bool, control: Path | None) -> MediumFile:
    scenario, measure = plan.scenario, plan.scenario.measure
    return MediumFile(
        seed=scenario.seed,
        duration_s=plan.end_s,
        overhear=overhear,
        control=None if control is None else str(control),
        radio=scenario.radio,
        station=tuple(
            RadioStation(
                name=station.name,
                mac=plan.mac[station.name],
                x_m=station.x_m,
                y_m=station.y_m,
                waypoints=station.waypoints,
                nic=station.nic,
                channel=scenario.channel_of(station.name),
            )
            for station in scenario.station
            if station.radio
        ),
        loss=tuple(loss for loss in scenario.loss if not scenario.is_wired(loss)),
        snr=scenario.snr,
        event=scenario.event,
        records=Records(
            dir=str(out / "raw"),
            interval_s=measure.interval_s,
            frames=measure.frames,
            air_capture=str(out / "captures" / "air.pcapng") if "air" in measure.captures else None,
        ),
    )
