# SPDX-License-Identifier: Apache-2.0
"""The typed description of a run. Nothing else configures one.

A `Scenario` is the content of a TOML file after validation. `hoplab.model.resolve.resolve` expands
topology, movement and radio profile into explicit stations and links. The result is a `Scenario`
again, so a resolved scenario is itself a valid scenario. Its tables stand in `radio`, `stations`,
`traffic`, `program`, `cells`, `split`, `faults`, `dsr` and `aodv`.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import PlainValidator, ValidationError, model_validator

from hoplab.model.keys.backbones import Backbone
from hoplab.model.keys.branch import Branch
from hoplab.model.keys.building import MAX_FLOORS, MAX_WALLS, Floor, Wall
from hoplab.model.keys.cells import MAX_CELLS, Cell
from hoplab.model.keys.declare import MAX_DURATION_S, Conditions, Number, Table, Text, key
from hoplab.model.keys.dsr import DsrSettings
from hoplab.model.keys.faults import Event, Loss
from hoplab.model.keys.interferers import MAX_INTERFERERS, Interferer
from hoplab.model.keys.links import Link
from hoplab.model.keys.measure import Measure, Seeded
from hoplab.model.keys.program import MAX_PROGRAMS, Additions, Program
from hoplab.model.keys.queues import Queue
from hoplab.model.keys.radio import RATES_MBPS, Energy, Nic, Radio
from hoplab.model.keys.routers import ROUTERS, settings_of
from hoplab.model.keys.snr import MAX_MEASURED_LINKS, Snr
from hoplab.model.keys.split import Split
from hoplab.model.keys.stations import Network, Station, Topology
from hoplab.model.keys.traffic import MAX_FLOWS, Flow, Tcp

__all__ = [
    "RATES_MBPS",
    "DsrSettings",
    "Energy",
    "Event",
    "Flow",
    "Link",
    "Loss",
    "Measure",
    "Network",
    "Nic",
    "Queue",
    "Radio",
    "Routing",
    "Scenario",
    "Split",
    "Station",
    "Tcp",
    "Topology",
]

OPTIONS_OF_DAEMON = {
    "batmand": ("A", "a", "g", "o", "p", "r"),
    "babeld": ("A", "H", "M", "h", "k", "l", "m", "p", "r", "s", "t", "T", "w", "z"),
}
"""Options of foreign daemons that the user may set; the lab sets the others."""


def _scalar(value: object) -> object:
    if not isinstance(value, bool | int | float | str) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise ValueError("expected a string, a number or true or false")
    return value


Setting = Annotated[
    bool | int | float | str,
    PlainValidator(_scalar, json_schema_input_type=bool | int | float | str),
]


ProtocolName = Literal[
    "static", "batmand", "babeld", "batman-adv", "hwmp", "dsr", "aodv", "olsr", "dsdv"
]
RoutingName = Literal[ProtocolName, "own"]
"""A protocol's name, or "own" for the user's: a program, or a script's network's."""
SETTINGS_OF: dict[str, type[Table]] = {
    "dsr": DsrSettings,
    **{name: settings_of(name) for name in ROUTERS},
}
"""The settings of Hoplab's own protocols."""


class Routing(Table):
    """How packets find their way; `settings` go to the protocol's daemon."""

    only: ClassVar[Conditions] = {"preset": ("protocol", ("dsr",))}

    protocol: RoutingName = key(
        "static",
        "`static`: shortest paths in hops at time 0; `hwmp`: one 802.11s mesh, paths "
        "below IP; `own`: your daemon, a `[[program]]` with `stations`, or a script's network's",
    )
    preset: Literal["monarch"] | None = key(
        None, "`monarch`: DSR as in ns-2.35 (`docs/dsr.md`); `settings` override it"
    )
    settings: dict[str, Setting] = key(
        {}, "of Hoplab's protocol (its page), or options of batmand or babeld: `{ h = 2 }`"
    )

    @model_validator(mode="after")
    def _check(self) -> Routing:
        if not self.settings:
            return self
        if (table := SETTINGS_OF.get(self.protocol)) is not None:
            try:
                table.model_validate(self.settings)
            except ValidationError as error:
                # Report each mistake at its own key.
                raise NestedMistakes("settings", table, error) from None
            return self
        allowed = OPTIONS_OF_DAEMON.get(self.protocol)
        if allowed is None:
            raise ValueError(f"settings: protocol {self.protocol!r} has none; remove them")
        for name in self.settings:
            if name not in allowed:
                raise ValueError(
                    f"settings.{name}: no option of {self.protocol}; one of: {', '.join(allowed)}"
                )
        return self


class NestedMistakes(ValueError):
    """The mistakes of a table that another key's value decides about."""

    def __init__(self, name: str, table: type[Table], error: ValidationError) -> None:
        super().__init__(f"{name}: {error.error_count()} mistakes")
        self.name = name
        self.table = table
        self.error = error


class Scenario(Seeded):
    """The whole of a run. Times in seconds from the start of the measured part."""

    title: Text = key("", "heads the report", max_length=200)
    duration_s: Number = key(60.0, "measured time", unit="s", gt=0, le=MAX_DURATION_S)
    warm_up_s: Number | None = key(
        None,
        "before time 0, for network and routing; default 20 (`batmand`, `babeld`, `dsdv`, `own`), "
        "30 (`olsr`), 40 (`batman-adv`), 10 (`hwmp`, mesh backbones), 4 + 0.5 a client "
        "(`[[cell]]`), else 0",
        unit="s",
        ge=0,
        le=3600,
    )
    network: Network = key(Network(), "who builds it")
    topology: Topology = key(Topology(), "a ready-made network")
    station: tuple[Station, ...] = key((), "hosts of an explicit topology")
    link: tuple[Link, ...] = key((), "wired links", max_length=2000)
    cell: tuple[Cell, ...] = key((), "access points and their clients", max_length=MAX_CELLS)
    backbone: tuple[Backbone, ...] = key((), "mesh and ad-hoc networks", max_length=MAX_CELLS)
    radio: Radio = key(Radio(), "channel")
    wall: tuple[Wall, ...] = key((), "walls", max_length=MAX_WALLS)
    floor: tuple[Floor, ...] = key((), "floors", max_length=MAX_FLOORS)
    interferer: tuple[Interferer, ...] = key(
        (), "transmitters that are no radios of the network", max_length=MAX_INTERFERERS
    )
    routing: Routing = key(Routing(), "routing protocol")
    tcp: Tcp = key(Tcp(), "TCP's settings")
    split: Split | None = key(None, "Split-TCP's proxies")
    flow: tuple[Flow, ...] = key((), "traffic", max_length=MAX_FLOWS)
    machine: Additions = key(Additions(), "software for programs")
    program: tuple[Program, ...] = key((), "your programs at stations", max_length=MAX_PROGRAMS)
    loss: tuple[Loss, ...] = key((), "frames lost on top of the channel", max_length=1000)
    snr: tuple[Snr, ...] = key((), "measured links", max_length=MAX_MEASURED_LINKS)
    event: tuple[Event, ...] = key((), "failures, moves and losses", max_length=10_000)
    measure: Measure = key(Measure(), "additional records")
    branch: Branch | None = key(None, "another future, from a time on")

    @property
    def roams(self) -> bool:
        """Whether clients go over from one cell to another."""
        return any(cell.roaming is not None for cell in self.cell)

    @property
    def saving(self) -> Cell | None:
        """A cell whose clients doze, as all that do."""
        return next((cell for cell in self.cell if cell.power_save), None)

    @property
    def uses_ipv6(self) -> bool:
        """Whether stations have addresses of IPv6."""
        return self.network.ipv6 or any(flow.ip == 6 for flow in self.flow)

    def tcp_of(self, station: str) -> Tcp:
        """A station's own settings of TCP, or those of all."""
        own = (one.tcp for one in self.station if one.name == station)
        return next(own, None) or self.tcp

    def stands_by(self, flow: Flow) -> bool:
        """Whether a flow of TCP stands by when its route fails, by its own word or `[tcp]`'s."""
        return bool(flow.elfn or (flow.elfn is None and self.tcp_of(flow.source).elfn))

    @property
    def is_found(self) -> bool:
        """Whether the network was there before the run: nobody builds it, nobody ends it."""
        return self.network.built_by == "script"

    def is_wired(self, loss: Loss) -> bool:
        """Whether a wired link joins the two stations that ``loss`` names."""
        return any({loss.src, loss.dst} == set(link.ends) for link in self.link)
