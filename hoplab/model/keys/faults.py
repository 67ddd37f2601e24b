# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[loss]]` and `[[event]]`: losses and other faults."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from hoplab.model.keys.declare import (
    MAX_DURATION_S,
    Conditions,
    Coordinate,
    Name,
    Number,
    Probability,
    Table,
    Time,
    given,
    key,
)

SHORTEST_PERIOD_S = 1e-6


def require_apart(src: str | None, dst: str | None) -> None:
    """Raise ValueError if a link goes from a station to itself."""
    if src is not None and src == dst:
        raise ValueError(f"src and dst are both {src}; nothing is sent from one to itself")


class Loss(Table):
    """Frames lost at the receiver, on top of what the channel does (`docs/medium.md`).

    Where a wired link joins `src` and `dst`, data packets lost on it in that direction. They are
    uniform
    `rate`, or a list of `frames` counted from 1 (`hoplab.guest.network.wired_loss`).
    """

    only: ClassVar[Conditions] = {
        "rate": ("kind", ("uniform", "burst")),
        **dict.fromkeys(
            ("p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"),
            ("kind", ("gilbert-elliott",)),
        ),
        **dict.fromkeys(("on_s", "period_s", "start_s"), ("kind", ("burst",))),
        "frames": ("kind", ("list",)),
        "takes": ("kind", ("uniform", "gilbert-elliott", "burst")),
    }

    kind: Literal["uniform", "gilbert-elliott", "burst", "list"] = key(
        "uniform", "which frames are lost"
    )
    src: Name | None = key(None, "sender; default any")
    dst: Name | None = key(None, "receiver; default any")
    takes: Literal["data", "frames", "packets"] = key(
        "data",
        "`data`: tries of data frames; `frames`: ACK, RTS and CTS too; `packets`: those "
        "acknowledged by the radio, so that only TCP repeats them",
    )
    rate: Probability | None = key(None, "probability; of burst while it is on")
    p_good_to_bad: Probability | None = key(None, "per frame, to the bad state")
    p_bad_to_good: Probability | None = key(None, "per frame, to the good state")
    loss_good: Probability = key(0.0, "loss in the good state")
    loss_bad: Probability = key(1.0, "loss in the bad state")
    on_s: Number | None = key(
        None, "so long in every period", unit="s", ge=SHORTEST_PERIOD_S, le=MAX_DURATION_S
    )
    period_s: Number | None = key(
        None, "from one burst to the next", unit="s", ge=SHORTEST_PERIOD_S, le=MAX_DURATION_S
    )
    start_s: Time = key(0.0, "first burst", unit="s")
    frames: tuple[Annotated[int, Field(strict=True, ge=1, le=2**53)], ...] | None = key(
        None, "these data frames, counted from 1", max_length=100_000
    )

    @model_validator(mode="after")
    def _check(self) -> Loss:
        needs: dict[str, tuple[str, ...]] = {
            "uniform": ("rate",),
            "gilbert-elliott": ("p_good_to_bad", "p_bad_to_good"),
            "burst": ("rate", "on_s", "period_s"),
            "list": ("frames",),
        }
        for name in needs[self.kind]:
            if getattr(self, name) in (None, ()):
                raise ValueError(f'a loss of kind "{self.kind}" needs {name}')
        if self.on_s is not None and self.period_s is not None and self.on_s > self.period_s:
            raise ValueError(
                f"on_s {self.on_s:g} is longer than period_s {self.period_s:g}; a burst ends with "
                "its period"
            )
        require_apart(self.src, self.dst)
        return self


class Event(Table):
    """Something that happens at a time: a station fails, returns or moves, a link gets lossy."""

    only: ClassVar[Conditions] = {
        "station": ("kind", ("down", "up", "move")),
        **dict.fromkeys(("x_m", "y_m"), ("kind", ("move",))),
        **dict.fromkeys(("src", "dst", "rate"), ("kind", ("loss",))),
    }

    at_s: Time = key(..., "when", unit="s")
    kind: Literal["down", "up", "move", "loss"] = key(..., "what happens")
    station: Name | None = key(None, "which one")
    x_m: Coordinate | None = key(None, "where to", unit="m")
    y_m: Coordinate | None = key(None, "where to", unit="m")
    src: Name | None = key(None, "sender")
    dst: Name | None = key(None, "receiver")
    rate: Probability | None = key(None, "of frames, until the next such event")

    @model_validator(mode="after")
    def _check(self) -> Event:
        for name in self.only:
            if self.counts(name) and getattr(self, name) is None:
                raise ValueError(f'an event of kind "{self.kind}" needs {name}')
        require_apart(self.src, self.dst)
        return self

    @property
    def node(self) -> str:
        """The station that it is about: of a link, the sender."""
        return given(self.station or self.src)

    @property
    def place(self) -> tuple[float, float]:
        """Where a move puts its station, in m."""
        return given(self.x_m), given(self.y_m)
