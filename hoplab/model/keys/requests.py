# SPDX-License-Identifier: Apache-2.0
"""What can be asked of a running network. Pages, agents and branches ask it, and events say it.

A request is a JSON object, whose ``do`` says what to do. The medium reads those of `OfChannel`
(``daemons/channel/src/request.rs``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.declare import (
    LEAST_DBM,
    MOST_DBM,
    Coordinate,
    Integer,
    Label,
    Name,
    Number,
    Probability,
    Table,
    Text,
    Time,
)
from hoplab.model.keys.faults import Event, require_apart
from hoplab.model.keys.measure import Seeded
from hoplab.model.reading import mistake

RIGHT_AFTER_S = 0.001
"""An event of a future comes so long after the branch, up to which all is as it was."""


class Request(Table):
    """One request. ``do`` is its word."""

    # Not at the first request: a copy of a guest would read its clock more often than one that
    # booted.
    model_config = ConfigDict(defer_build=False)
    do: ClassVar[str]

    def document(self) -> dict[str, Any]:
        """Return the request as an object of JSON."""
        return {"do": self.do, **self.model_dump(exclude_none=True)}


class OfChannel(Request):
    """A change of the channel, which the medium carries out."""


class Happening(OfChannel):
    """A change of the channel that a scenario says by an event of the same kind."""

    do: ClassVar[Literal["down", "up", "move", "loss"]]

    def event(self, at_s: float) -> Event:
        """Return the scenario's event that does the same at ``at_s``."""
        return Event(at_s=at_s, kind=self.do, **self.model_dump())


class Down(Happening):
    """A station's radio goes off."""

    do = "down"
    station: Name


class Up(Happening):
    """A station's radio goes on."""

    do = "up"
    station: Name


class _ToPlace(Request):
    """A station and where it comes to be."""

    station: Name
    x_m: Coordinate
    y_m: Coordinate


class Move(_ToPlace, Happening):
    """A station is at another place, at once."""

    do = "move"


class Lose(Happening):
    """From now on, ``rate`` of the frames from ``src`` to ``dst`` are lost."""

    do = "loss"
    src: Name
    dst: Name
    rate: Probability

    @model_validator(mode="after")
    def _check(self) -> Lose:
        require_apart(self.src, self.dst)
        return self


class Transmit(OfChannel):
    """A station's transmit power."""

    do = "transmit"
    station: Name
    dbm: Annotated[Number, Field(ge=LEAST_DBM, le=MOST_DBM)]


class Reseed(OfChannel, Seeded):
    """What the channel draws from now on follows from what it drew before, and from ``seed``."""

    do = "reseed"


class Drag(_ToPlace):
    """A move while a page holds the station. The move that ends it makes one event of all."""

    do = "drag"

    @property
    def move(self) -> Move:
        """The move that it is."""
        return Move(**self.model_dump())


class Start(Request):
    """A flow begins to send. If it was stopped, another one like it begins."""

    do = "start"
    flow: Label


class Stop(Request):
    """A flow ends."""

    do = "stop"
    flow: Label


class NewFlow(Request):
    """A flow of TCP that the scenario does not have begins to send."""

    do = "flow"
    source: Name
    destination: Name
    congestion_control: Text | None = None


class Window(Request):
    """The most segments that a flow's sender has in flight."""

    do = "window"
    flow: Label
    segments: Annotated[Integer, Field(ge=1)]


class Route(Request):
    """A station's next hop towards ``destination`` is ``via``."""

    do = "route"
    station: Name
    destination: Name
    via: Name


class Scheme(Request):
    """A station's data frames have this modulation and coding scheme."""

    do = "mcs"
    station: Name
    mcs: Annotated[Integer, Field(ge=0)]


class Rate(Request):
    """A station's data frames have this rate."""

    do = "rate"
    station: Name
    mbps: Annotated[Number, Field(gt=0)]


class Branch(Request):
    """Another future of a run, from ``at_s`` on. It is ``without`` some later events of the
    scenario, which are named by their numbers. If it has a ``kind``, one more event comes right
    after that time."""

    do = "branch"
    at_s: Time
    without: Annotated[Text, Field(pattern=r"^(\d{1,6}(,\d{1,6})*)?$", max_length=700)] = ""
    kind: Literal["down", "up", "move", "loss"] | None = None
    station: Name | None = None
    x_m: Coordinate | None = None
    y_m: Coordinate | None = None
    src: Name | None = None
    dst: Name | None = None
    rate: Probability | None = None

    def events(self, planned: Sequence[Event]) -> list[dict[str, Any]]:
        """Return the events of that future, as a scenario has them."""
        left = {int(number) for number in self.without.split(",") if number}
        kept = [
            event.model_dump(exclude_none=True)
            for i, event in enumerate(planned)
            if event.at_s <= self.at_s or i not in left
        ]
        if self.kind is None:
            return kept
        more = self.model_dump(exclude={"at_s", "without"}, exclude_none=True)
        return [*kept, {"at_s": round(self.at_s + RIGHT_AFTER_S, 6), **more}]


class End(Request):
    """The session is over."""

    do = "end"


KINDS: tuple[type[Request], ...] = (
    *(Down, Up, Move, Lose, Transmit, Drag),
    *(Start, Stop, NewFlow, Window, Route, Scheme, Rate, End),
)


def read(given: Mapping[str, Any], kinds: Collection[type[Request]] = KINDS) -> Request:
    """Return the request of an object of JSON. Raises `ScenarioError` for none of these kinds."""
    what = given.get("do")
    by_word = {kind.do: kind for kind in kinds}
    kind = by_word.get(what) if isinstance(what, str) else None
    if kind is None:
        shown = f"{what!r:.40}" if isinstance(what, str) else type(what).__name__
        raise ScenarioError(f"do: {shown} is not known; one of: {', '.join(by_word)}")
    try:
        return kind.model_validate({key: value for key, value in given.items() if key != "do"})
    except ValidationError as error:
        raise ScenarioError(f"{what}: {mistake(error)}") from None


def of_event(event: Event) -> Happening:
    """Return the request that does what an event says."""
    kind = next(kind for kind in Happening.__subclasses__() if kind.do == event.kind)
    return kind(**event.model_dump(exclude={"at_s", "kind"}, exclude_none=True))
