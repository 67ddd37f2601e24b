# SPDX-License-Identifier: Apache-2.0
"""The typed description of a run. Nothing else configures one.

A `Scenario` is what a TOML file says after validation. `hoplab.scenario.resolve` expands topology,
movement and radio profile into explicit stations and links; the result is a `Scenario` again,
so a resolved scenario is itself a valid scenario.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

NAME_PATTERN = r"^[a-z][a-z0-9]{0,7}$"
"""Station names become namespace and, with a suffix, interface names (IFNAMSIZ is 16)."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
Coordinate = Annotated[float, Field(allow_inf_nan=False)]

MAX_DURATION_S = 86_000
"""iperf3 transfers for at most a day."""
RATES_MBPS = (1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54)
"""DSSS/CCK (IEEE 802.11-2020 clauses 15, 16) and OFDM (clause 17) rates in Mbit/s."""


def _known_rate(value: object) -> object:
    if value not in RATES_MBPS:
        raise ValueError(
            f"{value!r} Mbit/s is no rate of 802.11a/b/g; one of "
            + ", ".join(str(rate) for rate in sorted(RATES_MBPS))
        )
    return value


def _known_rate_or_auto(value: object) -> object:
    return value if value == "auto" else _known_rate(value)


Rate = Annotated[float, BeforeValidator(_known_rate)]
RateOrAuto = Annotated[float | str, BeforeValidator(_known_rate_or_auto)]


class Table(BaseModel):
    """A TOML table: unknown keys are refused, values are never coerced from strings."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Queue(Table):
    """The output queue of each end of a wired link."""

    kind: Literal["droptail", "red"] = "droptail"
    packets: Annotated[int, Field(ge=1, le=100_000)] = 50
    min_packets: Annotated[int, Field(ge=1)] = 5
    max_packets: Annotated[int, Field(ge=2)] = 15
    drop_probability: Annotated[float, Field(gt=0, le=1)] = 0.1
    packet_bytes: Annotated[int, Field(ge=40, le=65_535)] = 1000
    """Average packet, by which RED's byte thresholds and averaging weight are worked out."""

    @model_validator(mode="after")
    def _check(self) -> Queue:
        if self.kind == "red" and not self.min_packets < self.max_packets <= self.packets:
            raise ValueError(
                f"RED needs min_packets < max_packets <= packets, got {self.min_packets}, "
                f"{self.max_packets}, {self.packets}"
            )
        return self


class Topology(Table):
    """A network to choose from; ``kind`` decides which of the other keys count.

    `explicit` (the scenario's own stations), `chain`, `grid`, `pair`, `random-waypoint`, `trace`
    (positions from a movement file), or the name of a file in ``topologies/``.
    """

    kind: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")] = "explicit"
    stations: Annotated[int, Field(ge=1, le=250)] = 4
    """Number of stations of chain, random-waypoint and trace."""
    spacing_m: Positive = 200.0
    rows: Annotated[int, Field(ge=1, le=100)] = 2
    columns: Annotated[int, Field(ge=1, le=100)] = 2
    width_m: Positive = 1500.0
    height_m: Positive = 300.0
    min_speed_mps: Positive = 1.0
    max_speed_mps: Positive = 20.0
    pause_s: NonNegative = 0.0
    movement: str | None = None
    """Movement file: ns-2 (``.ns2``, ``.tcl``) or BonnMotion (``.movements``)."""
    rate_mbps: Positive = 10.0
    """Rate, delay and queue of the wired links of a topology file."""
    delay_ms: NonNegative = 10.0
    queue: Queue = Queue()

    @model_validator(mode="after")
    def _check(self) -> Topology:
        if self.min_speed_mps > self.max_speed_mps:
            raise ValueError(
                f"min_speed_mps {self.min_speed_mps} exceeds max_speed_mps {self.max_speed_mps}"
            )
        if self.kind == "trace" and self.movement is None:
            raise ValueError('kind "trace" needs movement = "FILE"')
        return self


class Station(Table):
    """A host: a network namespace with a radio, wired interfaces, or both."""

    name: Name
    x_m: Coordinate = 0.0
    y_m: Coordinate = 0.0
    radio: bool = True
    waypoints: tuple[tuple[NonNegative, Coordinate, Coordinate], ...] = ()
    """(time in s, x in m, y in m): linear movement between them, at rest before and after."""

    @field_validator("waypoints")
    @classmethod
    def _ordered(
        cls, value: tuple[tuple[float, float, float], ...]
    ) -> tuple[tuple[float, float, float], ...]:
        times = [point[0] for point in value]
        if times != sorted(times):
            raise ValueError("waypoint times must not decrease")
        return value


class Link(Table):
    """A full-duplex wired link between two stations."""

    ends: tuple[Name, Name]
    rate_mbps: Positive = 10.0
    delay_ms: NonNegative = 10.0
    loss: Probability = 0.0
    queue: Queue = Queue()

    @model_validator(mode="after")
    def _check(self) -> Link:
        if self.ends[0] == self.ends[1]:
            raise ValueError(f"a link joins two different stations, got {self.ends[0]} twice")
        return self


class Energy(Table):
    """Power draw of a radio in W; the battery, where given, in J. Keys go over the preset's."""

    preset: Literal["ns2", "lucent-bronze", "lucent-silver"] | None = None
    tx_w: NonNegative | None = None
    rx_w: NonNegative | None = None
    idle_w: NonNegative | None = None
    sleep_w: NonNegative | None = None
    battery_j: Positive | None = None


class Nic(Table):
    """Transmit ring and receive path of the network card; 0 means not modelled."""

    tx_ring: Annotated[int, Field(ge=0)] = 0
    rx_service_mbps: NonNegative = 0.0
    rx_buffer_packets: Annotated[int, Field(ge=0)] = 0


class Radio(Table):
    """The 802.11 channel and the stations' radios; every key not given comes from the profile."""

    profile: Literal["wavelan", "hv99", "ns2-stock", "80211b", "80211g", "80211a"] = "wavelan"
    rules: Literal["802.11", "ns-2"] | None = None
    standard: Literal["802.11", "802.11b", "802.11g", "802.11a"] | None = None
    channel: Annotated[int, Field(ge=1, le=165)] | None = None
    rate_mbps: RateOrAuto | None = None
    basic_rate_mbps: Rate | None = None
    plcp_rate_mbps: Literal[1, 2, 6] | None = None
    preamble: Literal["long", "short"] | None = None
    mac: Literal["80211", "csma-ca-noack"] | None = None
    rts_threshold: Annotated[int, Field(ge=0, le=2347)] | None = None
    retry_short: Annotated[int, Field(ge=1, le=255)] | None = None
    retry_long: Annotated[int, Field(ge=1, le=255)] | None = None
    retry_rules: Literal["standard", "kernel"] | None = None
    queue_packets: Annotated[int, Field(ge=1, le=10_000)] | None = None
    routing_priority: bool | None = None
    """Whether routing messages go before all others in the interface queue."""
    cw_min: Annotated[int, Field(ge=0, le=1023)] | None = None
    cw_max: Annotated[int, Field(ge=0, le=32_767)] | None = None
    slot_us: Positive | None = None
    sifs_us: Positive | None = None
    propagation: Literal["two-ray", "friis", "log-distance"] | None = None
    exponent: Positive | None = None
    shadowing_db: NonNegative | None = None
    reference_m: Positive | None = None
    fading: Literal["none", "rayleigh", "nakagami"] | None = None
    nakagami_m: Annotated[float, Field(ge=0.5)] | None = None
    tx_power_dbm: Coordinate | None = None
    frequency_mhz: Positive | None = None
    antenna_height_m: Positive | None = None
    antenna_gain_dbi: Coordinate | None = None
    range_m: Positive | None = None
    carrier_sense_m: Positive | None = None
    rx_threshold_dbm: Coordinate | None = None
    cs_threshold_dbm: Coordinate | None = None
    capture_db: NonNegative | None = None
    capture_later: bool | None = None
    """Whether a receiver changes to a later frame that is stronger by ``capture_db``."""
    noise_dbm: Coordinate | None = None
    reception: Literal["threshold", "error-rate"] | None = None
    nic: Nic | None = None
    energy: Energy | None = None


class Routing(Table):
    """How packets find their way; ``settings`` go to the protocol's daemon, over the preset's."""

    protocol: Literal["static", "batmand", "babeld", "batman-adv", "dsr"] = "static"
    preset: Literal["monarch"] | None = None
    """Settings by name: "monarch" is DSR as in ns-2.35."""
    settings: dict[str, bool | int | float | str] = {}


class Tcp(Table):
    """What every station's TCP is set to before the first flow."""

    profile: Literal["linux", "classic"] = "linux"
    initial_window: Annotated[int, Field(ge=1, le=1000)] | None = None
    delayed_ack: bool | None = None
    min_rto_ms: Annotated[int, Field(ge=1, le=60_000)] | None = None


class Flow(Table):
    """One transfer from ``source`` to ``destination``."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")] | None = None
    protocol: Literal["tcp", "udp"] = "tcp"
    source: Name
    destination: Name
    start_s: NonNegative = 0.0
    stop_s: Positive | None = None
    packets: Annotated[int, Field(ge=1)] | None = None
    """A counted transfer: this many packets of ``packet_bytes``, as fast as the path takes them."""
    packet_bytes: Annotated[int, Field(ge=16, le=65_000)] | None = None
    rate_kbps: Positive | None = None
    """Constant bit rate of a UDP flow, in payload bits."""
    spacing: Literal["even", "random"] | None = None
    """Between packets of a UDP flow with ``rate_kbps``: always the same, which is the default, or
    uniform between half and one and a half times that (ns-2's CBR with ``random_``)."""
    congestion_control: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$")] | None = None
    mss: Annotated[int, Field(ge=88, le=9000)] | None = None
    window: Annotated[int, Field(ge=1, le=40_000)] | None = None
    """Limit of the sender's window in segments, as ns-2's ``window_``."""
    sack: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> Flow:
        if self.source == self.destination:
            raise ValueError(f"source and destination are both {self.source}")
        if self.stop_s is not None and self.stop_s <= self.start_s:
            raise ValueError(f"stop_s {self.stop_s} is not after start_s {self.start_s}")
        if self.protocol == "udp":
            for key in ("congestion_control", "mss", "window", "sack"):
                if getattr(self, key) is not None:
                    raise ValueError(f"{key} is for TCP flows; this one is udp")
            if self.packets is None and self.rate_kbps is None:
                raise ValueError("a udp flow needs rate_kbps or packets")
        elif self.rate_kbps is not None:
            raise ValueError("rate_kbps is for udp flows; this one is tcp")
        if self.spacing is not None and self.rate_kbps is None:
            raise ValueError("spacing is for udp flows with rate_kbps; this one has none")
        if self.packets is not None and self.packet_bytes is None:
            raise ValueError("a counted transfer (packets = N) needs packet_bytes too")
        return self


class Loss(Table):
    """Frames lost at the receiver, on top of what the channel does (`docs/medium.md`).

    Where a wired link joins ``src`` and ``dst``, data packets lost on it in that direction:
    uniform ``rate``, or a list of ``frames`` counted from 1 (`hoplab.network.wired_loss`).
    """

    kind: Literal["uniform", "gilbert-elliott", "burst", "list"] = "uniform"
    src: Name | None = None
    dst: Name | None = None
    rate: Probability | None = None
    p_good_to_bad: Probability | None = None
    p_bad_to_good: Probability | None = None
    loss_good: Probability | None = None
    loss_bad: Probability | None = None
    on_s: Positive | None = None
    period_s: Positive | None = None
    start_s: NonNegative | None = None
    frames: tuple[Annotated[int, Field(ge=1)], ...] | None = None


class Event(Table):
    """Something that happens at a time: a station fails, returns or moves, a link gets lossy."""

    at_s: NonNegative
    kind: Literal["down", "up", "move", "loss"]
    station: Name | None = None
    x_m: Coordinate | None = None
    y_m: Coordinate | None = None
    src: Name | None = None
    dst: Name | None = None
    rate: Probability | None = None

    @model_validator(mode="after")
    def _check(self) -> Event:
        needs = {
            "down": ("station",),
            "up": ("station",),
            "move": ("station", "x_m", "y_m"),
            "loss": ("src", "dst", "rate"),
        }[self.kind]
        for key in needs:
            if getattr(self, key) is None:
                raise ValueError(f'an event of kind "{self.kind}" needs {key}')
        return self


class Measure(Table):
    """What is recorded beside the tables that every run has."""

    interval_s: Annotated[float, Field(ge=0.001, le=60)] = 0.1
    packets: bool = False
    """Exact one-way delay of every packet of every flow."""
    frames: bool = False
    """Every frame on the air with its fate."""
    captures: tuple[str, ...] = ()
    """Interfaces to capture, ``STATION`` or ``STATION:INTERFACE``; ``air`` for the channel."""


class Scenario(Table):
    """The whole of a run. Times in seconds from the start of the measured part."""

    title: str = ""
    duration_s: Annotated[float, Field(gt=0, le=MAX_DURATION_S)] = 60.0
    warm_up_s: NonNegative | None = None
    """Network up and routing converging before time 0; default by routing protocol."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    topology: Topology = Topology()
    station: tuple[Station, ...] = ()
    link: tuple[Link, ...] = ()
    radio: Radio = Radio()
    routing: Routing = Routing()
    tcp: Tcp = Tcp()
    flow: tuple[Flow, ...] = ()
    loss: tuple[Loss, ...] = ()
    event: tuple[Event, ...] = ()
    measure: Measure = Measure()

    def is_wired(self, loss: Loss) -> bool:
        """Whether a wired link joins the two stations that ``loss`` names."""
        return any({loss.src, loss.dst} == set(link.ends) for link in self.link)
