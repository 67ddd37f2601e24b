# SPDX-License-Identifier: Apache-2.0
"""The keys of the network itself: `[topology]`, `[network]` and `[[station]]`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from hoplab.model.keys.declare import (
    MAX_COORDINATE_M,
    Address,
    Arrival,
    Conditions,
    Coordinate,
    Integer,
    Mac,
    Name,
    Number,
    Switch,
    Table,
    Text,
    Time,
    key,
)
from hoplab.model.keys.queues import Queue
from hoplab.model.keys.radio import Nic, Width
from hoplab.model.keys.traffic import Sysctls, Tcp
from hoplab.model.movement.trace import Trace

MAX_STATIONS = 2000
"""With DSR so many take 2.5 GB, and a guest has 8 GB at most."""
GENERATED = ("explicit", "chain", "grid", "pair", "random-waypoint", "mininet-wifi", "trace")
"""Kinds of topology that have no file in `topologies/`."""
SPEEDS = ("min_speed_mps", "max_speed_mps")
WITH_SPEEDS = ("RandomDirection", "RandomWayPoint")
"""Mobility models of Mininet-WiFi that take speeds."""
SAME_PLACE_M = 0.001


class Topology(Table):
    """A network to choose from: which keys count depends on `kind`."""

    only: ClassVar[Conditions] = {
        "stations": ("kind", ("chain", "random-waypoint", "mininet-wifi", "trace")),
        "spacing_m": ("kind", ("chain", "grid", "pair")),
        **dict.fromkeys(("rows", "columns"), ("kind", ("grid",))),
        **dict.fromkeys(
            ("width_m", "height_m", "min_speed_mps", "max_speed_mps"),
            ("kind", ("random-waypoint", "mininet-wifi")),
        ),
        "pause_s": ("kind", ("random-waypoint",)),
        "model": ("kind", ("mininet-wifi",)),
        "movement": ("kind", ("trace",)),
    }

    kind: Annotated[str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)] = key(
        "explicit",
        "`explicit`, `chain`, `grid`, `pair`, `random-waypoint`, `mininet-wifi`, `trace`, "
        "or a file of `topologies/`",
    )
    stations: Integer = key(
        4,
        "how many; with a `trace`, its first ones, all by default",
        ge=1,
        le=MAX_STATIONS,
    )
    spacing_m: Number = key(200.0, "between neighbours", unit="m", gt=0, le=MAX_COORDINATE_M)
    rows: Integer = key(2, "number of rows", ge=1, le=MAX_STATIONS)
    columns: Integer = key(2, "stations in a row", ge=1, le=MAX_STATIONS)
    width_m: Number = key(1500.0, "of the area", unit="m", ge=1, le=MAX_COORDINATE_M)
    height_m: Number = key(300.0, "of the area", unit="m", ge=1, le=MAX_COORDINATE_M)
    min_speed_mps: Number = key(1.0, "lowest", unit="m/s", ge=1e-3, le=1000)
    max_speed_mps: Number = key(20.0, "highest", unit="m/s", ge=1e-3, le=1000)
    pause_s: Time = key(0.0, "rest after each leg", unit="s")
    model: Literal[
        "RandomWalk",
        "TruncatedLevyWalk",
        "RandomDirection",
        "RandomWayPoint",
        "GaussMarkov",
    ] = key("RandomWayPoint", "of Mininet-WiFi")
    movement: Text | None = key(
        None,
        "file of ns-2 (`.ns2`, `.tcl`, `.ns_movements`), BonnMotion (`.movements`), SUMO "
        "(`.xml`) or GPS tracks (`.gpx`), plain or `.gz`",
    )
    rate_mbps: Number = key(10.0, "topology file's links", unit="Mbit/s", ge=0.001, le=10_000)
    delay_ms: Number = key(10.0, "topology file's links", unit="ms", ge=0, le=100_000)
    queue: Queue = key(Queue(), "topology file's links")

    def counts(self, name: str) -> bool:
        if name in ("rate_mbps", "delay_ms", "queue"):
            return self.kind not in GENERATED
        if name in SPEEDS and self.kind == "mininet-wifi":
            return self.model in WITH_SPEEDS
        return super().counts(name)

    def where(self, name: str) -> str:
        if name in SPEEDS and self.kind == "mininet-wifi":
            return f'where model is {" or ".join(WITH_SPEEDS)}; here it is "{self.model}"'
        if name in self.only:
            return super().where(name)
        return f'with a file of topologies/; here kind is "{self.kind}"'

    @model_validator(mode="after")
    def _check(self) -> Topology:
        if (
            self.kind in ("random-waypoint", "mininet-wifi")
            and self.min_speed_mps > self.max_speed_mps
        ):
            raise ValueError(
                f"min_speed_mps {self.min_speed_mps} exceeds max_speed_mps {self.max_speed_mps}"
            )
        if self.kind == "trace" and self.movement is None:
            raise ValueError('kind "trace" needs movement = "FILE"')
        if self.kind == "grid" and self.rows * self.columns > MAX_STATIONS:
            raise ValueError(
                f"{self.rows} rows of {self.columns} columns are {self.rows * self.columns} "
                f"stations; at most {MAX_STATIONS}"
            )
        return self


class Placed(Table):
    """Where something is, and goes."""

    name: Annotated[str, Field(strict=True, min_length=1, max_length=64)] = key(
        ..., "in records and captures"
    )
    x_m: Coordinate = key(0.0, "place", unit="m")
    y_m: Coordinate = key(0.0, "place", unit="m")
    z_m: Coordinate = key(0.0, "height above the ground, also on its way", unit="m")
    waypoints: tuple[tuple[Arrival, Coordinate, Coordinate], ...] = key(
        (), "`[[t_s, x_m, y_m], …]`: straight lines between, rest before and after"
    )

    @field_validator("waypoints")
    @classmethod
    def _ordered(
        cls, value: tuple[tuple[float, float, float], ...]
    ) -> tuple[tuple[float, float, float], ...]:
        times = [point[0] for point in value]
        if times != sorted(times):
            raise ValueError("waypoint times must not decrease")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.waypoints:
            for name, at_start in zip(("x_m", "y_m"), self.place(), strict=True):
                given = getattr(self, name)
                if name in self.model_fields_set and abs(given - at_start) > SAME_PLACE_M:
                    raise ValueError(
                        f"{name} {given:g} contradicts the waypoints, which begin at {at_start:g}; "
                        "remove one"
                    )
        return self

    def place(self, t_s: float = 0.0) -> tuple[float, float]:
        """Where it is at ``t_s``, in m: on its way where it has waypoints."""
        if self.waypoints:
            return Trace.of(self.waypoints).at(t_s)
        return self.x_m, self.y_m


class Network(Table):
    """Who makes the stations and their radios, and where the medium works."""

    built_by: Literal["hoplab", "mininet-wifi", "script"] = key(
        "hoplab",
        "`mininet-wifi` must be installed; `script`: in results of a Mininet-WiFi script",
    )
    medium: Literal["kernel", "daemon"] = key(
        "kernel",
        "in virtual time: in the guest's kernel, or as a slower process that you can "
        "debug; in real time a process",
    )
    routing: Literal["kernel", "process", "daemon"] = key(
        "kernel",
        "the same for Hoplab's routing daemons and ends of flows; `process`: the kernel runs what "
        "processes start, with the results of `daemon`",
    )
    ipv6: Switch = key(
        False,
        "IPv6 addresses too; a flow with `ip = 6` implies it",
    )

    @model_validator(mode="before")
    @classmethod
    def _under_its_old_name(cls, given: Any) -> Any:
        """Take ``dsr``, which was the name of ``routing`` when DSR was the only such protocol."""
        if not isinstance(given, dict) or "dsr" not in given:
            return given
        if "routing" in given:
            raise ValueError("dsr is the old name of routing; remove dsr")
        return {"routing" if name == "dsr" else name: value for name, value in given.items()}


class Port(Table):
    """A station's radio as its builder has made it."""

    interface: Annotated[str, Field(strict=True, pattern=r"^[^/\s]{1,15}$")] = key(
        ..., "name in the station"
    )
    address: Address = key(..., "used by flows")
    prefix: Integer = key(24, "length of the network prefix", ge=1, le=32)
    mac: Mac = key(..., "hardware address")


Scheduler = Annotated[str, Field(strict=True, pattern=r"^[a-zA-Z0-9_-]{1,15}$")]
"""A name of net.mptcp.available_schedulers (MPTCP_SCHED_NAME_MAX)."""


class Multipath(Table):
    """Settings of a station's path manager, the kernel's own (`ip mptcp`)."""

    subflows: Integer = key(
        8, "subflows that a connection may have beside the first; the kernel's limit", ge=0, le=8
    )
    without: tuple[Name, ...] = key(
        (), "neighbours by wire or second radio that no path begins with", max_length=64
    )
    backup: tuple[Name, ...] = key(
        (),
        "such neighbours whose paths only carry data when no other one does",
        max_length=64,
    )
    scheduler: Scheduler | None = key(
        None, "who chooses the subflow of a segment, by the kernel's name; default `default`"
    )


class Station(Placed):
    """A host: a network namespace with a radio, wired interfaces, or both."""

    name: Name = key(..., "up to eight small letters or digits, a letter first")
    radio: Switch = key(True, "false: wired only")
    nic: Nic | None = key(None, "its own card: keys that differ from `[radio.nic]`")
    mcs: Integer | None = key(
        None,
        "data rate of an 802.11n client, both ways; default `radio.mcs`",
        ge=0,
        le=15,
    )
    width_mhz: Width | None = key(
        None, "a client's part of its cell's channel, by default all of it", unit="MHz"
    )
    airtime_weight: Integer | None = key(
        None,
        "a client's weight in the access point's air time, with `radio.queue = "
        '"fq_codel"`; default 256, the kernel\'s',
        ge=1,
        le=65_535,
    )
    queue: Queue | None = key(
        None, "above its radios, [where it shapes](links.md#a-queue-above-a-radio)"
    )
    tcp: Tcp | None = key(None, "its own TCP: keys that differ from `[tcp]`")
    sysctl: Sysctls | None = key(None, "settings of its kernel, over `tcp.sysctl`")
    mptcp: Multipath | None = key(None, "paths of its MPTCP connections ([paths](mptcp.md))")
    port: Port | None = key(None, 'its radio, if `network.built_by = "script"`')

    @model_validator(mode="after")
    def _has_a_card(self) -> Self:
        if self.nic is not None and not self.radio:
            raise ValueError("nic is a radio's; with radio = false there is none")
        if self.queue is not None:
            self._check_queue(self.queue)
        return self

    def _check_queue(self, queue: Queue) -> None:
        if not self.radio:
            raise ValueError(
                "queue is above a radio, and with radio = false there is none; give queue of a "
                "[[link]]"
            )
        if queue.shape_mbps is None and queue.kind != "fq":
            raise ValueError(
                f"queue of kind {queue.kind} holds nothing back above a radio, which takes every "
                'packet, unless it shapes; give shape_mbps, or kind "fq" for pacing'
            )
