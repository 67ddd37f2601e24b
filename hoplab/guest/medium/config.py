# SPDX-License-Identifier: Apache-2.0
"""The medium daemon's configuration, from a resolved scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli_w

from hoplab.model.scenario.plan import Plan


def write(
    plan: Plan, epoch_ns: int, out: Path, overhear: bool, control: Path | None = None
) -> Path:
    """Write ``medium.toml`` into ``out``; its keys are `hoplab.model.scenario.medium_file`'s."""
    scenario = plan.scenario
    document: dict[str, Any] = {
        "seed": scenario.seed,
        "epoch_ns": epoch_ns,
        **({} if plan.end_s is None else {"duration_s": plan.end_s}),
        "overhear": overhear,
        **({} if control is None else {"control": str(control)}),
        "radio": scenario.radio.model_dump(exclude_none=True),
        "station": [
            {
                "name": station.name,
                "mac": plan.mac[station.name],
                "x_m": station.x_m,
                "y_m": station.y_m,
                **(
                    {"waypoints": [list(p) for p in station.waypoints]} if station.waypoints else {}
                ),
                **({} if station.nic is None else {"nic": station.nic.model_dump()}),
            }
            for station in scenario.station
            if station.radio
        ],
        "loss": [
            loss.model_dump(exclude_none=True, mode="json")
            for loss in scenario.loss
            if not scenario.is_wired(loss)
        ],
        "event": [event.model_dump(exclude_none=True) for event in scenario.event],
        "records": {
            "dir": str(out / "raw"),
            "interval_s": scenario.measure.interval_s,
            "frames": scenario.measure.frames,
            **(
                {"air_capture": str(out / "captures" / "air.pcapng")}
                if "air" in scenario.measure.captures
                else {}
            ),
        },
    }
    path = out / "raw" / "medium.toml"
    path.write_text(tomli_w.dumps(document), encoding="utf-8")
    return path
