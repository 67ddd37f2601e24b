# SPDX-License-Identifier: Apache-2.0
"""The settings of DSR: every constant of RFC 4728 §9 and every choice that its text leaves open.

The defaults are the RFC's. `DsrFile` holds the settings of one station's daemon.
"""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hoplab.model.keys.declare import (
    ADDRESS_PATTERN,
    Integer,
    Number,
    Switch,
    Table,
    Text,
    Time,
    Wait,
    key,
)
from hoplab.model.keys.measure import Seeded
from hoplab.model.keys.radio import RADIO_MTU
from hoplab.model.keys.split import MAX_CONNECTIONS, SplitConnection, Started

Network = Annotated[
    str,
    Field(strict=True, pattern=ADDRESS_PATTERN.removesuffix("$") + "/[0-9]{1,2}$"),
    AfterValidator(lambda text: str(IPv4Interface(text))),
]
"""An address and the length of its prefix."""


class DsrSettings(Table):
    """`settings` of `[routing]` where `protocol` is dsr. Clauses are those of RFC 4728."""

    # RFC 4728 §9
    discovery_hop_limit: Integer = key(
        255, "DiscoveryHopLimit (§9): hops of a Route Request", ge=1, le=255
    )
    broadcast_jitter_s: Time = key(
        0.01, "BroadcastJitter (§9): most that a broadcast waits", unit="s"
    )
    route_cache_timeout_s: Time = key(
        300.0, "RouteCacheTimeout (§4.1, §9): life of a cached route", unit="s"
    )
    send_buffer_timeout_s: Time = key(30.0, "SendBufferTimeout (§4.2, §9)", unit="s")
    send_buffer_packets: Integer = key(
        64, "SendBufferSize (§4.2): packets that wait for a route", ge=1, le=100_000
    )
    request_table_size: Integer = key(64, "RequestTableSize (§4.3, §9): nodes", ge=1, le=100_000)
    request_table_ids: Integer = key(
        16, "RequestTableIds (§4.3, §9): identifiers per node", ge=1, le=100_000
    )
    max_request_rexmt: Integer = key(
        16, "MaxRequestRexmt (§9): requests for a destination", ge=0, le=1000
    )
    max_request_period_s: Wait = key(
        10.0,
        "MaxRequestPeriod (§9)",
        unit="s",
    )
    request_period_s: Wait = key(
        0.5,
        "RequestPeriod (§9): time to the second propagating request",
        unit="s",
    )
    nonprop_request_timeout_s: Wait = key(
        0.03,
        "NonpropRequestTimeout (§9): wait after a one-hop request",
        unit="s",
    )
    maintenance_buffer_packets: Integer = key(50, "RexmtBufferSize (§4.5, §9)", ge=1, le=100_000)
    maint_holdoff_s: Time = key(0.25, "MaintHoldoffTime (§8.3, §9)", unit="s")
    max_maint_rexmt: Integer = key(
        2, "MaxMaintRexmt (§8.3, §9): repeated Acknowledgement Requests", ge=0, le=100
    )
    try_passive_acks: Integer = key(1, "TryPassiveAcks (§8.3.2, §9)", ge=0, le=100)
    passive_ack_timeout_s: Wait = key(0.1, "PassiveAckTimeout (§8.3.2, §9)", unit="s")
    grat_reply_holdoff_s: Time = key(1.0, "GratReplyHoldoff (§4.4, §9)", unit="s")
    max_salvage_count: Integer = key(15, "MAX_SALVAGE_COUNT (§8.3.6, §9)", ge=0, le=15)
    init_stability_s: Time = key(25.0, "InitStability (§4.1, §9)", unit="s")
    stability_incr_factor: Number = key(4.0, "StabilityIncrFactor (§4.1, §9)", gt=0, le=1000)
    stability_decr_factor: Number = key(2.0, "StabilityDecrFactor (§4.1, §9)", gt=0, le=1000)
    min_lifetime_s: Time = key(1.0, "MinLifetime (§4.1, §9)", unit="s")
    use_extends_s: Time = key(120.0, "UseExtends (§4.1, §9)", unit="s")

    # Route discovery (§8.2)
    nonpropagating_first: Switch = key(True, "the first request goes one hop (§8.2.1)")
    nonpropagating_every_time: Switch = key(
        False, "a one-hop request before each propagating one, as Monarch"
    )
    request_backoff: Integer = key(
        2, "factor between request periods (§8.2.1: 2; Monarch: 4)", ge=1, le=100
    )
    reply_from_cache: Switch = key(True, "Cached Route Replies (§8.2.3)")
    reply_hop_delay_s: Time = key(0.001, "H of §8.2.5: a cached reply's delay per hop", unit="s")
    prevent_reply_storms: Switch = key(True, "delay replies and cancel needless ones (§8.2.5)")
    piggyback_errors: Switch = key(True, "Route Errors ride on the next Route Request (§8.3.5)")
    error_news_s: Time = key(1.0, "older errors are not spread", unit="s")

    # Route maintenance (§8.3)
    acknowledgement: Literal["link", "passive", "network"] = key(
        "link", "by link layer (§8.3.1), overhearing (§8.3.2) or options (§8.3.3)"
    )
    salvage: Switch = key(True, "Packet Salvaging (§8.3.6)")
    visited_option: Switch = key(True, "salvaged packets list visited nodes and avoid them")
    salvage_discovery: Switch = key(
        False,
        "a stuck packet waits for request_period_s while its holder asks neighbours, as Monarch",
    )
    gratuitous_replies: Switch = key(True, "Automatic Route Shortening (§8.1.4)")
    status_timeout_s: Wait = key(
        0.5,
        "a unicast frame without a status this long has failed",
        unit="s",
    )
    network_ack_timeout_s: Wait = key(
        0.2,
        "first wait for an acknowledgement by options, before a measured round trip",
        unit="s",
    )
    lost_segment_extension: Switch = key(
        True, "Route Errors name the TCP segments that a break stopped"
    )
    carriage: Literal["route-error", "icmp"] = key(
        "route-error",
        "what informs a TCP sender: that extension, or ICMP host unreachable",
    )
    blacklist_timeout_s: Time = key(
        3.0, 'time from "probable" one-way link to "questionable" (§4.6)', unit="s"
    )
    use_blacklist: Switch = key(True, "Blacklist of one-way links (§4.6)")

    # Route cache (§4.1)
    cache: Literal["path", "link"] = key("path", "structure of the Route Cache (§4.1)")
    cache_timeout: Literal["none", "unused", "fixed", "adaptive"] = key(
        "unused",
        "a route ends never, route_cache_timeout_s after its last use (unused) or its learning "
        "(fixed), or by how long broken routes lived (adaptive)",
    )
    primary_routes: Integer = key(30, "path cache: routes in use", ge=1, le=100_000)
    secondary_routes: Integer = key(64, "path cache: routes learned and not used", ge=1, le=100_000)
    overhear_routes: Switch = key(True, "learn from overheard packets (§3.3.1)")
    learning: Literal["full", "onward"] = key(
        "full",
        "from a packet its whole route (§3.3.1), or only the part ahead of it, as Monarch",
    )
    overhear_every_hop: Switch = key(
        True,
        "learn from a data packet at each hop; false: only where first heard, as Monarch",
    )
    negative_cache_s: Time = key(
        0.0, "a link that broke is refused this long, whatever others report", unit="s"
    )
    adaptive_factor: Number = key(
        1.25,
        "adaptive: factor on the mean life of broken routes",
        gt=0,
        le=1000,
    )
    adaptive_minimum_s: Time = key(1.0, "adaptive: shortest life", unit="s")
    signal_threshold_dbm: Integer | None = key(
        None,
        "weaker links serve only where no others exist; unset: signal does not count",
        unit="dBm",
        ge=-126,
        le=126,
    )

    # Link layer
    queue_packets: Integer = key(50, "interface queue (§4.5)", ge=1, le=100_000)
    outstanding: Integer = key(
        2, "most unicast frames in the driver without a status", ge=1, le=1000
    )
    resolution: Literal["learned", "arp"] = key(
        "learned", "link-layer addresses from neighbours' frames, or by ARP alone"
    )
    neighbour_timeout_s: Wait = key(
        55.0,
        "life of a learned address; Linux's is 60 s",
        unit="s",
    )
    arp_queue_packets: Integer = key(
        101, "packets that wait for an address; 1 is the BSD queue", ge=1, le=100_000
    )
    arp_retry_s: Wait = key(1.0, "between two questions", unit="s")
    arp_tries: Integer = key(3, "questions for an address", ge=1, le=1000)
    arp_timeout_s: Wait = key(30.0, "life of an answer", unit="s")
    link_mtu: Integer = key(
        RADIO_MTU,
        "largest IP packet in a frame, if the interface's MTU allows",
        unit="octets",
        ge=576,
        le=RADIO_MTU,
    )


NOTICES = ("lost_segment_extension", "carriage")
"""Settings of ELFN's notices, which are a layer of their own in the daemon."""


class DsrFile(Started, Seeded):
    """What `hoplab-dsr` is to do at one station, as `hoplab dsr` reads it."""

    interface: Text = key(..., "wireless interface that DSR packets use", min_length=1)
    address: Network = key(..., "of the TUN interface, with prefix length: 10.0.0.1/24")
    counters: Text | None = key(None, "file: the counters, once, at the end")
    control: Text = key("@hoplab-dsr", "control socket; @ begins an abstract name")
    tun: Text = key("dsr0", "TUN interface to create", min_length=1)
    tun_mtu: Integer = key(1500, "its largest packet", unit="octets", ge=68, le=65_535)
    overhear: Literal["monitor", "promiscuous", "off"] = key(
        "monitor",
        "frames for others come by a monitor interface, the interface itself or not at all",
    )
    elfn: Switch = key(
        False, "report own segments that met a broken link to the kernel module elfn"
    )
    connection: tuple[SplitConnection, ...] = key(
        (), "connections to split", max_length=MAX_CONNECTIONS
    )
    split_table: Text | None = key(None, "file: rows of table `split`")
    split_interval_s: Time = key(0.1, "least time between rows of a connection", unit="s")
    resident: Switch = key(
        True, "run in the guest's kernel, if that offers it (virtual time); `false`: as a process"
    )
    settings: DsrSettings = key(DsrSettings(), "the protocol's settings")

    def document(self) -> dict[str, Any]:
        """The daemon's document."""
        address, _, prefix = self.address.partition("/")
        made = super().document()
        notices = {name: made["settings"].pop(name) for name in NOTICES}
        return {**made, "address": address, "prefix": int(prefix), "notices": notices}
