# SPDX-License-Identifier: Apache-2.0
"""The keys of `[tcp]` and `[[flow]]`."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, Tag, field_validator, model_validator

from hoplab.model.keys.declare import (
    MAX_DURATION_S,
    SWITCH,
    TABLE,
    Conditions,
    Integer,
    Label,
    Name,
    Number,
    Switch,
    Table,
    Time,
    given,
    key,
    switch_or,
)
from hoplab.model.keys.split import SplitChoice
from hoplab.model.keys.variants import CONGESTION_CONTROLS, FIXED_WINDOW, LINUX_RENO, variant

MAX_FLOWS = 250
OTHER_CONGESTION_CONTROL = re.compile("[a-z][a-z0-9_-]{0,14}")
"""The kernel's TCP_CA_NAME_MAX is 16, with its end."""
ALIKE = 0.8
"""Names more alike than this are one with a mistake."""
SLOWEST_PACKET_S = 1000.0
"""iperf3 paces in microseconds of 32 bits."""
FASTEST_PACKETS_PER_S = 250_000
"""A-MPDUs of 100 octets each at 866.7 Mbit/s carry 206,000 a second. Each costs a guest some ten to
a hundred microseconds of a core."""
MOST_DRAWN = 1e12
LEAST_ON_S = 1e-4
"""Mean time of sending between two silences."""
MAX_OCTETS = 1e9
"""Mean octets of a request or a response."""
MAX_BUFFER_BYTES = 212_992
"""The kernel's net.core.wmem_max. It cuts a program's larger request down to this."""


class Elfn(Table):
    """How connections stand by when a notice says that their route failed (`docs/elfn.md`)."""

    probe_ms: Integer = key(2000, "between probes", unit="ms", ge=10, le=30_000)
    first_probe: Literal["rto", "interval"] = key(
        "rto",
        "`rto`: when the retransmission timer would have fired, at the latest after "
        "`probe_ms`; `interval`: after `probe_ms`",
    )
    resume: Literal["as-before", "window-1", "default-timer"] = key(
        "as-before",
        "former window and timer, a window of one segment, or a new connection's timer",
    )
    give_up_s: Number = key(
        300.0, "longest stand-by; then the kernel's timer takes over", unit="s", gt=0, le=86_000
    )


ElfnChoice = Annotated[
    Annotated[Switch, Tag(SWITCH)] | Annotated[Elfn, Tag(TABLE)], switch_or(Elfn)
]


RESERVED_SYSCTLS = {
    "net.ipv4.tcp_sack": "sack of flows says it",
    "net.ipv4.tcp_rto_min_us": "tcp.min_rto_ms says it",
    "net.ipv4.ip_forward": "every station forwards",
}
"""Settings that the lab makes itself, and why."""
SYSCTL_PATTERN = r"^net\.(ipv4|ipv6|mptcp|core)(\.[a-zA-Z0-9_-]{1,64}){1,4}$"


def _sysctl(name: str) -> str:
    if name in RESERVED_SYSCTLS:
        raise ValueError(f"{name} is not free: {RESERVED_SYSCTLS[name]}")
    return name


Sysctl = Annotated[str, Field(strict=True, pattern=SYSCTL_PATTERN), AfterValidator(_sysctl)]
SysctlValue = (
    Annotated[int, Field(strict=True)]
    | Annotated[str, Field(strict=True, pattern=r"^[ -~]{1,256}$")]
)
Sysctls = Annotated[dict[Sysctl, SysctlValue], Field(max_length=100)]


class Tcp(Table):
    """What every station's TCP is set to before the first flow."""

    profile: Literal["linux", "classic"] = key(
        "linux", "`linux`: unchanged; `classic`: what papers of 1996 to 2004 assume (`docs/tcp.md`)"
    )
    initial_window: Integer | None = key(
        None, "default: `linux` 10, `classic` 1", unit="segments", ge=1, le=1000
    )
    delayed_ack: Switch | None = key(None, "default: the kernel's")
    min_rto_ms: Integer | None = key(None, "default: the kernel's 200", unit="ms", ge=1, le=60_000)
    ecn: Switch | None = key(
        None,
        "connections ask for ECN (RFC 3168): queues mark packets instead of dropping "
        "them; default: `linux` only answers, `classic` has none",
    )
    elfn: ElfnChoice = key(False, "stand by when a route fails: `true`, or `[tcp.elfn]`")
    sysctl: Sysctls = key(
        {},
        "settings of the kernel for every station: `net.ipv4.…`, `net.ipv6.…`, `net.mptcp.…`, "
        "`net.core.…`",
    )

    def over(self, below: Tcp) -> Tcp:
        """Return these settings, with those of ``below`` where nothing is given."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        given["sysctl"] = {**below.sysctl, **self.sysctl}
        return below.model_copy(update=given)


class Draw(Table):
    """How a number is drawn, each time anew, by the scenario's `seed`."""

    only: ClassVar[Conditions] = {
        "mean": ("kind", ("fixed", "exponential", "pareto")),
        "low": ("kind", ("uniform",)),
        "high": ("kind", ("uniform", "exponential", "pareto")),
        "shape": ("kind", ("pareto",)),
    }

    kind: Literal["fixed", "uniform", "exponential", "pareto"] = key(
        "fixed", "`fixed`: always the mean"
    )
    mean: Number | None = key(None, "before `high` cuts it", ge=0, le=MOST_DRAWN)
    low: Number = key(0.0, "the least", ge=0, le=MOST_DRAWN)
    high: Number | None = key(
        None,
        "the most; larger draws become it",
        ge=0,
        le=MOST_DRAWN,
    )
    shape: Number | None = key(None, "exponent; up to 2 of infinite variance", gt=1, le=100)

    @model_validator(mode="after")
    def _check(self) -> Draw:
        needed = {"uniform": ("high",), "pareto": ("mean", "shape")}.get(self.kind, ("mean",))
        for name in needed:
            if getattr(self, name) is None:
                raise ValueError(f"{name} is not given, which {self.kind} needs")
        if self.kind == "uniform" and self.low > given(self.high):
            raise ValueError(f"low {self.low:g} is above high {self.high:g}; exchange them")
        return self

    @property
    def typical(self) -> float:
        """Its mean, as long as `high` cuts nothing."""
        if self.kind == "uniform":
            return (self.low + given(self.high)) / 2
        return given(self.mean)


UDP_BYTES = 512
"""Default payload of a datagram."""
CALL_KBPS, CALL_LEAST_KBPS, CALL_LATE_MS = 2500.0, 100.0, 150.0
"""Highest and lowest rate of a call, and when a frame is late."""
PING_INTERVAL_S, PING_TIMEOUT_S, PING_BYTES = 1.0, 10.0, 56
"""Defaults of Linux' ping (iputils): its interval, its longest wait for a reply, its payload."""


TRANSFERS = ("tcp", "mptcp")


class Flow(Table):
    """What goes from `source` to `destination`: a transfer, echoes, or requests and responses."""

    only: ClassVar[Conditions] = {
        **dict.fromkeys(("mss", "window", "elfn", "split"), ("protocol", ("tcp",))),
        **dict.fromkeys(("congestion_control", "sack"), ("protocol", (*TRANSFERS, "rrul"))),
        "dscp": ("protocol", (*TRANSFERS, "udp", "ping", "rr", "call")),
        **dict.fromkeys(("spacing", "on", "off", "buffer_bytes"), ("protocol", ("udp",))),
        "rate_kbps": ("protocol", ("udp", "call")),
        "late_ms": ("protocol", ("call",)),
        "generator": ("protocol", ("tcp", "udp")),
        **dict.fromkeys(("packets", "packet_bytes"), ("protocol", ("tcp", "udp", "ping", "mptcp"))),
        **dict.fromkeys(("interval_s", "timeout_s"), ("protocol", ("ping",))),
        **dict.fromkeys(("request", "response", "think", "transactions"), ("protocol", ("rr",))),
    }

    name: Label | None = key(None, "default `flow0`, `flow1`, …")
    protocol: Literal["tcp", "udp", "ping", "rr", "mptcp", "call", "rrul"] = key(
        "tcp",
        "`tcp`, `udp`: a transfer; `ping`: ICMP echoes; `rr`: requests and responses in "
        "turn on one TCP connection; `mptcp`: a transfer by Multipath TCP ([paths](mptcp.md)); "
        "`call`: a video call, [both ways](traffic.md#a-call); `rrul`: flent's test, "
        "[four transfers each way and echoes](traffic.md#rrul)",
    )
    ip: Literal[4, 6] = key(4, "version of IP")
    dscp: Integer | None = key(
        None,
        "differentiated services code point; the kernel derives the access category (RFC "
        "8325): 46 (EF) is voice, 34 (AF41) video, 8 (CS1) background",
        ge=0,
        le=63,
    )
    source: Name = key(..., "sending station")
    destination: Name = key(..., "receiving station")
    start_s: Time = key(0.0, "begin", unit="s")
    stop_s: Number | None = key(None, "end; default the run's", unit="s", gt=0, le=MAX_DURATION_S)
    packets: Integer | None = key(
        None,
        "end after so many packets or echoes",
        ge=1,
        le=10**9,
    )
    packet_bytes: Integer | None = key(
        None,
        "of a counted transfer; payload of UDP packets (default 512) and echoes (56)",
        unit="octets",
        ge=16,
        le=65_000,
    )
    rate_kbps: Number | None = key(
        None,
        "constant bit rate of payload; default as fast as the socket takes it. Of a call the "
        "highest, each way; default 2500",
        unit="kbit/s",
        ge=0.001,
        le=10_000_000,
    )
    late_ms: Number | None = key(
        None,
        "a frame that took longer is late; default 150 (ITU-T G.114)",
        unit="ms",
        gt=0,
        le=10_000,
    )
    spacing: Literal["even", "random", "poisson"] | None = key(
        None,
        "`random`: half to one and a half times the mean, so that no phase against other "
        "traffic decides who is dropped; `poisson`: exponential gaps",
    )
    on: Draw | None = key(
        None, "seconds of sending at `rate_kbps` before each silence, a draw; needs `off`"
    )
    off: Draw | None = key(None, "seconds of each silence, a draw; needs `on`")
    buffer_bytes: Integer | None = key(
        None,
        "of the sending socket; a program that filled it waits; default the kernel's",
        unit="octets",
        ge=4096,
        le=MAX_BUFFER_BYTES,
    )
    generator: Literal["hoplab", "iperf3"] = key(
        "hoplab", "program that sends and receives; `iperf3` connects by TCP first"
    )
    interval_s: Number | None = key(None, "between echoes; default 1", unit="s", ge=0.001, le=1000)
    timeout_s: Number | None = key(
        None,
        "an unanswered echo is then lost; default 10",
        unit="s",
        gt=0,
        le=60,
    )
    request: Draw | None = key(
        None, "octets of a request, a draw; default 1, as netperf's `TCP_RR`"
    )
    response: Draw | None = key(None, "octets of a response, a draw; default 1")
    think: Draw | None = key(None, "seconds from response to next request, a draw; default 0")
    transactions: Integer | None = key(None, "end after so many requests", ge=1, le=10**9)
    congestion_control: Annotated[str, Field(strict=True)] | None = key(
        None,
        "`cubic`, `bbr`, `linux-reno`, `newreno`, … (`docs/tcp.md`); default `cubic`, with "
        "`classic` `newreno`",
    )
    mss: Integer | None = key(
        None,
        "largest segment with options; default 1460, of a split flow 1444",
        unit="octets",
        ge=88,
        le=2232,
    )
    window: Integer | None = key(
        None,
        "limit of the sender's window, like ns-2's `window_`",
        unit="segments",
        ge=1,
        le=40_000,
    )
    sack: Switch | None = key(
        None,
        "selective acknowledgements; default true, with `tahoe`, `classic-reno` and `newreno` "
        "false",
    )
    elfn: ElfnChoice | None = key(None, "default `[tcp]`'s")
    split: SplitChoice | None = key(
        None,
        "proxies split it; or keys over `[split]`; default true if that has `proxies` or "
        "`every_hops`",
    )

    @field_validator("congestion_control")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        """Check that a name is not a known one with a mistake. Another may be a module of the
        user's, which the kernel has or not."""
        if value is None or value in CONGESTION_CONTROLS:
            return value
        close = difflib.get_close_matches(value[:40].lower(), CONGESTION_CONTROLS, 1, ALIKE)
        # Of letters alone it may be a mistake; bbr2 and cubic_x are other versions.
        another = OTHER_CONGESTION_CONTROL.fullmatch(value)
        if another is None or (close and value.isalpha()):
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ValueError(
                f"{value[:40]!r} is not known{hint}; one of: {', '.join(CONGESTION_CONTROLS)}, or "
                "the name of your own module"
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> Flow:
        if self.source == self.destination:
            raise ValueError(f"source and destination are both {self.source}")
        if self.stop_s is not None and self.stop_s <= self.start_s:
            raise ValueError(f"stop_s {self.stop_s} is not after start_s {self.start_s}")
        if self.protocol != "ping" and self.packets is not None and self.packet_bytes is None:
            raise ValueError("a counted transfer (packets = N) needs packet_bytes too")
        if self.protocol == "udp":
            self._check_udp()
        elif self.protocol == "rr":
            self._check_sizes()
        elif self.protocol == "call":
            if self.rate_kbps is not None and self.rate_kbps < CALL_LEAST_KBPS:
                raise ValueError(
                    f"rate_kbps {self.rate_kbps:g} is below {CALL_LEAST_KBPS:g}, a call's least; "
                    "raise it"
                )
        elif self.is_counted and self.is_iperf3:
            raise ValueError(
                "a counted transfer is not iperf3's, which ends with octets on their way; remove "
                "packets or generator"
            )
        elif self._is_transfer and self.packet_bytes is not None and self.packets is None:
            raise ValueError("packet_bytes is for udp and for counted transfers; use mss")
        known = variant(self.congestion_control)
        if self.congestion_control == FIXED_WINDOW and self.window is None and not self.split:
            raise ValueError(
                f'congestion_control = "{FIXED_WINDOW}" keeps the window that it is given; '
                "give window"
            )
        if known and known.sack is not None and self.sack not in (None, known.sack):
            raise ValueError(
                f"sack = {str(self.sack).lower()} contradicts congestion_control = "
                f'"{self.congestion_control}", which is {"with" if known.sack else "without"} '
                "selective acknowledgements; remove one, or use "
                f'"{LINUX_RENO}", which takes either'
            )
        return self

    @property
    def transport(self) -> str:
        """What its packets are to IP: ``tcp``, ``udp`` or ``icmp``."""
        return {"ping": "icmp", "rr": "tcp", "mptcp": "tcp", "call": "udp"}.get(
            self.protocol, self.protocol
        )

    @property
    def traffic_class(self) -> int:
        """The octet of IP's header with the code point in it; ECN is the kernel's own."""
        return (self.dscp or 0) << 2

    @property
    def is_counted(self) -> bool:
        """Whether it is a TCP transfer of a given number of packets."""
        return self._is_transfer and self.packets is not None

    @property
    def _is_transfer(self) -> bool:
        return self.protocol in TRANSFERS

    @property
    def is_endless(self) -> bool:
        """Whether it sends UDP as fast as its socket takes it, until its end."""
        return self.protocol == "udp" and self.rate_kbps is None and self.packets is None

    @property
    def is_iperf3(self) -> bool:
        """Whether iperf3 sends and receives it, with its control connection."""
        return self.generator == "iperf3"

    @property
    def is_exchange(self) -> bool:
        """Whether what it sends is answered: its rows are those of table `exchanges`."""
        return self.protocol in ("ping", "rr")

    def _check_sizes(self) -> None:
        for name in ("request", "response"):
            draw = getattr(self, name)
            if draw is not None and not 1 <= draw.typical <= MAX_OCTETS:
                raise ValueError(f"{name}: {draw.typical:g} octets; a mean of 1 to {MAX_OCTETS:g}")
        if self.think is not None and self.think.typical > MAX_DURATION_S:
            raise ValueError(
                f"think: {self.think.typical:g} s; a mean of at most {MAX_DURATION_S} s"
            )

    def _check_pauses(self) -> None:
        if (self.on is None) != (self.off is None):
            raise ValueError("on and off, times of sending and of silence, need each other")
        if self.on is None or self.off is None:
            return
        if self.rate_kbps is None:
            raise ValueError("on and off need the rate while it sends; give rate_kbps")
        if not LEAST_ON_S <= self.on.typical <= MAX_DURATION_S:
            raise ValueError(f"on: {self.on.typical:g} s; a mean of at least {LEAST_ON_S:g} s")
        if self.off.typical > MAX_DURATION_S:
            raise ValueError(f"off: {self.off.typical:g} s; a mean of at most {MAX_DURATION_S} s")

    def _check_udp(self) -> None:
        if self.generator == "iperf3" and (self.spacing not in (None, "even") or self.on):
            name = "on" if self.on else f'spacing = "{self.spacing}"'
            raise ValueError(f'{name} is not iperf3\'s; remove it or generator = "iperf3"')
        if self.spacing is not None and self.rate_kbps is None:
            raise ValueError("spacing is that of a constant rate; give rate_kbps")
        self._check_pauses()
        packet_bytes = self.packet_bytes or UDP_BYTES
        if self.buffer_bytes is not None and self.buffer_bytes < packet_bytes:
            raise ValueError(
                f"buffer_bytes {self.buffer_bytes} is less than a packet of {packet_bytes} "
                "octets, which could never be sent; raise it or lower packet_bytes"
            )
        if self.rate_kbps is not None:
            interval_s = packet_bytes * 8 / (self.rate_kbps * 1000)
            if interval_s * FASTEST_PACKETS_PER_S < 1:
                raise ValueError(
                    f"rate_kbps {self.rate_kbps:g} is {1 / interval_s:.3g} packets a second; at "
                    f"most {FASTEST_PACKETS_PER_S}, more than any radio can send: lower it or "
                    "raise packet_bytes"
                )
            if interval_s > SLOWEST_PACKET_S:
                raise ValueError(
                    f"rate_kbps {self.rate_kbps:g} is a packet in {interval_s:.0f} s; at least one "
                    f"in {SLOWEST_PACKET_S:g} s"
                )
