# SPDX-License-Identifier: Apache-2.0
"""The keys of `[split]`, and the settings of Split-TCP's daemon."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Tag, model_validator

from hoplab.model.keys.declare import (
    SWITCH,
    TABLE,
    Address,
    Integer,
    Name,
    Number,
    Switch,
    Table,
    Text,
    Time,
    key,
    switch_or,
)
from hoplab.model.keys.documents import final

MAX_CONNECTIONS = 1000
MARK = 0x53504C54
"""Mark of the daemon's own packets, which must not come to it again."""
MAX_HOPS = 63
"""Linux sends with a TTL of 64, from which a proxy counts hops from the source."""
STAMP_BYTES = 16
"""Octets by which a taken segment becomes longer (daemons/wire/src/split.rs)."""


class Buffers(Table):
    """How a split connection's proxies and ends behave."""

    every_hops: Integer | None = key(
        None,
        "a proxy every so many hops of the route, from the source",
        ge=1,
        le=MAX_HOPS,
    )
    buffer_packets: Integer = key(
        64,
        "segments that a proxy holds for a connection; a full one declines",
        unit="segments",
        ge=1,
        le=10_000,
    )
    window: Integer = key(
        64,
        "what the source may have unacknowledged end to end",
        unit="segments",
        ge=1,
        le=40_000,
    )
    ack_every: Integer = key(
        8,
        "the destination sends every n-th end-to-end acknowledgement, and each the source "
        "waits for",
        ge=1,
        le=1000,
    )


class Split(Buffers):
    """Split-TCP (`docs/split-tcp.md`): stations of a route take over segments as proxies."""

    proxies: tuple[Name, ...] = key((), "stations that are proxies for any segment that they meet")

    @model_validator(mode="after")
    def _check(self) -> Split:
        if self.proxies and self.every_hops is not None:
            raise ValueError(
                "proxies and every_hops both say which stations are proxies; remove one"
            )
        for i, name in enumerate(self.proxies):
            if name in self.proxies[:i]:
                raise ValueError(f"proxies: {name!r} is given twice")
        return self

    @property
    def says_where(self) -> bool:
        """Whether it says which stations are proxies."""
        return bool(self.proxies) or self.every_hops is not None

    def over(self, below: Split | None) -> Split:
        """With what it leaves open from ``below``."""
        if below is None:
            return self
        under = below.model_dump(exclude_unset=True)
        if self.says_where:
            under = {k: v for k, v in under.items() if k not in ("proxies", "every_hops")}
        given = self.model_dump(exclude_unset=True, exclude_none=True)
        if not self.proxies:
            given.pop("proxies", None)
        return Split.model_validate({**under, **given})


SplitChoice = Annotated[
    Annotated[Switch, Tag(SWITCH)] | Annotated[Split, Tag(TABLE)], switch_or(Split)
]


class SplitConnection(Buffers):
    """A connection that is split; a station's own address says what it is to it: source, proxy,
    destination. An end that is not given is any."""

    name: Text | None = key(None, "what the tables call it", max_length=100)
    source: Address | None = key(None, "address of the end that sends")
    source_port: Integer | None = key(None, "its port", ge=1, le=65_535)
    destination: Address | None = key(None, "address of the end that receives")
    destination_port: Integer | None = key(None, "its port", ge=1, le=65_535)
    proxies: tuple[Address, ...] = key((), "addresses of the stations that are proxies")


class Started(Table):
    """What the daemons of DSR and of Split-TCP are both started with."""

    name: Text = key("n0", "of the station, in records", min_length=1, max_length=100)
    epoch_ns: Integer = key(
        0, "CLOCK_MONOTONIC of time 0 of the records", unit="ns", ge=0, le=2**63 - 1
    )
    duration_s: Number | None = key(
        None,
        "when the records end, after time 0; without it, when the daemon does",
        unit="s",
        ge=0,
        le=1e9,
    )
    events: Text | None = key(None, "file to which events are appended, JSON lines")
    keep_privileges: Switch = key(
        False, "stay the user who started it instead of becoming `nobody` after set-up"
    )

    def document(self) -> dict[str, Any]:
        """The daemon's document."""
        made: dict[str, Any] = final(self)
        duration_ns = made.pop("duration_ns")
        end_ns = None if duration_ns is None else self.epoch_ns + duration_ns
        return {**made, "end_ns": end_ns}


class SplitFile(Started):
    """What `hoplab-split` is to do at one station, as `hoplab split` reads it."""

    address: Address = key(..., "the station's: of its segments and its local acknowledgements")
    connection: tuple[SplitConnection, ...] = key(
        ..., "the first that a segment fits counts", max_length=MAX_CONNECTIONS
    )
    queue: Integer = key(0, "number of the packet filter's queue", ge=0, le=65_535)
    mark: Integer = key(MARK, "of the packets that the daemon sends", ge=0, le=2**32 - 1)
    mtu: Integer = key(
        1500,
        "largest IP packet that every interface on the way takes; a segment becomes "
        f"{STAMP_BYTES} octets longer where it is taken first",
        unit="octets",
        ge=68,
        le=65_535,
    )
    table: Text | None = key(None, "file to which rows of table `split` are appended, JSON lines")
    interval_s: Time = key(0.1, "least time between two rows of a connection", unit="s")
    control: Text = key("@hoplab-split", "control socket; a leading @ means an abstract name")
