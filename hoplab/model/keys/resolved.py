# SPDX-License-Identifier: Apache-2.0
"""A scenario as it runs: every value that a run needs is there.

Each type is the written table with narrower keys. None remains only where it means something: no
wall, no limit of a queue, no own channel. `hoplab.model.resolve.resolve` makes these objects, and
`scenario.json` of a run is one. Code that has one needs no default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import Discriminator, Field, Tag

from hoplab.model.keys.backbones import Backbone
from hoplab.model.keys.branch import Branch
from hoplab.model.keys.cells import Cell, Ssid
from hoplab.model.keys.declare import Integer, Label, Number, Switch, Table
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.multilink import FurtherLink
from hoplab.model.keys.program import Program
from hoplab.model.keys.radio import (
    WINDOW,
    WINDOWS,
    Band,
    Edca,
    Energy,
    Guard,
    HeaderRate,
    Nic,
    Radio,
    Rate,
    Standard,
    Width,
    band_of,
)
from hoplab.model.keys.scenario import Scenario
from hoplab.model.keys.split import Split
from hoplab.model.keys.traffic import Draw, Flow
from hoplab.model.wording import UNION

T = TypeVar("T", bound=Table)


def narrows(written: type[Table]) -> Callable[[type[T]], type[T]]:
    """Give the keys that a resolved table declares anew the limits of the ``written`` ones."""

    def limited(resolved: type[T]) -> type[T]:
        for name in resolved.__annotations__.keys() & written.model_fields.keys():
            resolved.model_fields[name].metadata.extend(written.model_fields[name].metadata)
        return resolved

    return limited


@narrows(Radio)
class ResolvedRadio(Radio):
    """`[radio]` with its profile's values."""

    rules: Literal["802.11", "ns-2", "edca"]
    standard: Standard
    channel: Integer
    # Radios before 802.11n have no such keys. Where all radios count, they have these values.
    mcs: Integer = 0
    width_mhz: Width = 20
    guard_ns: Guard = 800
    streams: Integer = 1
    basic_rate_mbps: Rate
    plcp_rate_mbps: HeaderRate
    preamble: Literal["long", "short"]
    mac: Literal["80211", "csma-ca-noack"]
    rts_threshold: Integer
    retry_short: Integer
    retry_long: Integer
    retry_rules: Literal["standard", "kernel"]
    queue_packets: Integer
    cw_min: Integer
    cw_max: Integer
    slot_us: Number
    sifs_us: Number
    propagation: Literal["two-ray", "friis", "log-distance"]
    propagation_delay: Switch = True
    tx_power_dbm: Number
    frequency_mhz: Number
    antenna_height_m: Number
    antenna_gain_dbi: Number
    capture_db: Number
    edca: Edca = Edca()
    energy: Energy
    nic: Nic = Nic()

    @property
    def band(self) -> float:
        """The band of `channel` in GHz."""
        return band_of(self.channel, self.band_ghz)

    @property
    def frames_ahead(self) -> int:
        """Frames of an access category that a radio with Linux's own queues takes ahead: of HE two
        windows."""
        return self.queue_frames or 2 * WINDOWS.get(self.standard, WINDOW)


@narrows(Flow)
class ResolvedFlow(Flow):
    """What all flows have."""

    name: Label
    stop_s: Number


@narrows(ResolvedFlow)
class TcpFlow(ResolvedFlow):
    """A transfer by TCP, of a number of packets or until its end."""

    protocol: Literal["tcp", "mptcp"]
    congestion_control: Annotated[str, Field(strict=True)]
    mss: Integer
    sack: Switch
    split: Split | None = None

    @property
    def window_bytes(self) -> int | None:
        """The limit of the sender's window in octets."""
        return None if self.window is None else self.window * self.mss

    @property
    def counted_bytes(self) -> int | None:
        """The octets of a transfer of a given number of packets."""
        if self.packets is None or self.packet_bytes is None:
            return None
        return self.packets * self.packet_bytes


@narrows(TcpFlow)
class MptcpFlow(TcpFlow):
    """The same by Multipath TCP (RFC 8684). Its segments are the kernel's."""

    protocol: Literal["mptcp"]
    generator: Literal["hoplab"] = "hoplab"
    mss: Integer = 1460


@narrows(ResolvedFlow)
class UdpFlow(ResolvedFlow):
    """Datagrams of one size."""

    protocol: Literal["udp"]
    packet_bytes: Integer


@narrows(ResolvedFlow)
class PingFlow(ResolvedFlow):
    """Echoes of ICMP."""

    protocol: Literal["ping"]
    packet_bytes: Integer
    interval_s: Number
    timeout_s: Number


@narrows(ResolvedFlow)
class RequestFlow(ResolvedFlow):
    """Requests and responses in turn."""

    protocol: Literal["rr"]
    request: Draw
    response: Draw
    think: Draw


@narrows(ResolvedFlow)
class CallFlow(ResolvedFlow):
    """A video call in both directions."""

    protocol: Literal["call"]
    rate_kbps: Number
    late_ms: Number


def _protocol(value: object) -> str:
    known = value.get("protocol") if isinstance(value, dict) else getattr(value, "protocol", None)
    return f"{UNION}{known}"


AnyFlow = Annotated[
    Annotated[TcpFlow, Tag(f"{UNION}tcp")]
    | Annotated[MptcpFlow, Tag(f"{UNION}mptcp")]
    | Annotated[UdpFlow, Tag(f"{UNION}udp")]
    | Annotated[PingFlow, Tag(f"{UNION}ping")]
    | Annotated[RequestFlow, Tag(f"{UNION}rr")]
    | Annotated[CallFlow, Tag(f"{UNION}call")],
    Discriminator(_protocol),
]
FLOWS: dict[str, type[TcpFlow | UdpFlow | PingFlow | RequestFlow | CallFlow]] = {
    "tcp": TcpFlow,
    "mptcp": MptcpFlow,
    "udp": UdpFlow,
    "ping": PingFlow,
    "rr": RequestFlow,
    "call": CallFlow,
}
"""A flow's type by its protocol."""


@narrows(FurtherLink)
class ResolvedLink(FurtherLink):
    """A further link with its width and band."""

    width_mhz: Width
    band_ghz: Band


@narrows(Cell)
class ResolvedCell(Cell):
    """A cell with its names."""

    name: Label
    ssid: Ssid
    links: tuple[ResolvedLink, ...] = ()


@narrows(Backbone)
class ResolvedBackbone(Backbone):
    """A backbone with its name."""

    name: Label


@narrows(Program)
class ResolvedProgram(Program):
    """A program with its name, at one station."""

    name: Label


class ResolvedBranch(Branch):
    """A branch with what its future is a future of."""

    past: Resolved


@narrows(Scenario)
class Resolved(Scenario):
    """The whole of a run, with nothing left to be chosen."""

    warm_up_s: Number
    radio: ResolvedRadio
    cell: tuple[ResolvedCell, ...] = ()
    backbone: tuple[ResolvedBackbone, ...] = ()
    flow: tuple[AnyFlow, ...] = ()
    program: tuple[ResolvedProgram, ...] = ()
    branch: ResolvedBranch | None = None

    @property
    def networks(self) -> tuple[tuple[ResolvedCell, ...], ...]:
        """The cells by the network that they are of: a station reaches all of one without a
        router. Cells that roam and have one SSID are one, any other cell is its own."""
        found: dict[str | int, list[ResolvedCell]] = {}
        for i, cell in enumerate(self.cell):
            roams = cell.roaming is not None
            found.setdefault(cell.ssid if roams else i, []).append(cell)
        return tuple(tuple(cells) for cells in found.values())


@narrows(MediumFile)
class ResolvedMedium(MediumFile):
    """A medium daemon's file with its radio's values."""

    radio: ResolvedRadio
