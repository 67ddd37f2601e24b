# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[interferer]]`: a transmitter that is no radio of the network."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.columns import Columns, rows
from hoplab.model.keys.declare import (
    LEAST_DBM,
    MOST_DBM,
    Conditions,
    Label,
    Number,
    Text,
    Time,
    key,
)
from hoplab.model.keys.stations import Placed
from hoplab.model.wording import worded

MAX_INTERFERERS = 100
MAX_STEPS = 100_000
SILENT_DBM = LEAST_DBM
"""A step with this power is none."""
COLUMNS: Columns = {"t_s": "number", "dbm": "number"}
BLUETOOTH_MHZ = (2401.5, 2480.5)
"""Edges of the 79 channels of Bluetooth BR/EDR, which are 1 MHz wide (Core 5.4, vol 2 A 2)."""
BLUETOOTH_DUTY = 366 / 625
"""A packet of one slot: 366 of 625 us (Core 5.4, vol 2 B 6.5.4.1, DH1)."""

Level = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=LEAST_DBM, le=MOST_DBM)]


class Interferer(Placed):
    """Energy that radios sense and do not understand."""

    only: ClassVar[Conditions] = {
        "duty": ("kind", ("periodic", "microwave", "bluetooth")),
        "period_ms": ("kind", ("periodic",)),
        "mains_hz": ("kind", ("microwave",)),
        "hops_per_s": ("kind", ("bluetooth",)),
        "steps": ("kind", ("steps",)),
        "trace": ("kind", ("steps",)),
    }

    name: Label = key(..., "its own; no station has it")
    kind: Literal["constant", "periodic", "microwave", "bluetooth", "steps"] = key(
        "constant",
        "`constant`: a carrier; `periodic`: on at the start of each period; `microwave`: an oven, "
        "on for half of each period of the mains; `bluetooth`: hops; `steps`: a power over time",
    )
    power_dbm: Number | None = key(
        None, "radiated while it is on (EIRP)", unit="dBm", ge=LEAST_DBM, le=MOST_DBM
    )
    low_mhz: Number | None = key(
        None, "lower edge of what it fills evenly", unit="MHz", ge=1, le=100_000
    )
    high_mhz: Number | None = key(None, "upper edge", unit="MHz", ge=1, le=100_000)
    duty: Number | None = key(
        None,
        "share of the time; default 0.5, `bluetooth` 0.5856 (366 of 625 µs)",
        gt=0,
        le=1,
    )
    period_ms: Number = key(20.0, "of the duty cycle", unit="ms", ge=0.01, le=1e6)
    mains_hz: Number = key(50.0, "of the mains: 50 or 60", unit="Hz", ge=16, le=400)
    hops_per_s: Number = key(1600.0, "frequencies a second", unit="1/s", ge=1, le=1600)
    steps: tuple[tuple[Time, Level], ...] = key(
        (),
        "`[[t_s, dbm], …]`: each until the next, times from `start_s` on; -200 is silence",
        max_length=MAX_STEPS,
    )
    trace: Text | None = key(
        None,
        "CSV or Parquet file beside the scenario, with columns `t_s`, `dbm`, for `steps`",
    )
    start_s: Time = key(0.0, "begins then", unit="s")
    stop_s: Time | None = key(None, "ends then; default: the run's end", unit="s")

    @field_validator("steps")
    @classmethod
    def _in_order(cls, steps: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        for (before, _), (after, _) in itertools.pairwise(steps):
            if after <= before:
                raise ValueError(f"{after:g} s follows {before:g} s; put them in order of time")
        return steps

    @model_validator(mode="after")
    def _whole(self) -> Interferer:
        if (self.kind == "steps") == (self.power_dbm is not None):
            raise ValueError(
                "power_dbm is in the steps; remove it"
                if self.kind == "steps"
                else f'kind "{self.kind}" needs power_dbm'
            )
        if self.kind == "steps" and bool(self.steps) == (self.trace is not None):
            raise ValueError(
                "trace gives the same as steps; remove one"
                if self.steps
                else 'kind "steps" needs steps = [[t_s, dbm], …], or a trace'
            )
        if self.stop_s is not None and self.stop_s <= self.start_s:
            raise ValueError(f"stop_s {self.stop_s:g} is not after start_s {self.start_s:g}")
        if self.kind != "bluetooth" and (self.low_mhz is None or self.high_mhz is None):
            raise ValueError(f'kind "{self.kind}" needs low_mhz and high_mhz')
        low, high = self.band_mhz
        if high <= low:
            raise ValueError(f"high_mhz {high:g} is not above low_mhz {low:g}")
        return self

    @property
    def band_mhz(self) -> tuple[float, float]:
        """What it fills, from and to, in MHz."""
        low, high = BLUETOOTH_MHZ
        return (
            low if self.low_mhz is None else self.low_mhz,
            high if self.high_mhz is None else self.high_mhz,
        )

    @property
    def share_on(self) -> float:
        """The share of its period, or of a hop, for which it is on."""
        if self.duty is not None:
            return self.duty
        return BLUETOOTH_DUTY if self.kind == "bluetooth" else 0.5


def with_steps(one: Interferer, index: int, folder: Path) -> Interferer:
    """Return an interferer with the steps of its trace, a file in ``folder``, in the trace's place.

    Raises `ScenarioError` that names file, row and value.
    """
    if one.trace is None:
        return one
    path = folder / one.trace
    found = rows(path, f"interferer.{index}.trace", COLUMNS, MAX_STEPS, "an interferer's power")
    given = one.model_dump(exclude_unset=True, exclude={"trace"})
    try:
        return Interferer.model_validate({**given, "steps": tuple(found)})
    except ValidationError as error:
        first = worded(error)[0]
        at = [part for part in first["loc"] if isinstance(part, int)]
        row = f": row {at[0] + 1}" if at else ""
        raise ScenarioError(f"{path}{row}: {first['msg']}") from None
