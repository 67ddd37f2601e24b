# SPDX-License-Identifier: Apache-2.0
"""The settings of AODV: every constant of RFC 3561 §10 and every choice that its text leaves open.

The defaults are the RFC's. A constant that §10 computes from others has no default of its own.
`AodvFile` holds the settings of one station's daemon.
"""

from __future__ import annotations

from typing import Any

from hoplab.model.keys.declare import Integer, Switch, Text, Time, Wait, key
from hoplab.model.keys.router import RouterFile, RouterSettings, control, tun

DELETE_PERIOD_K = 5
"""K of DELETE_PERIOD (RFC 3561 §10)."""
REPAIR_SHARE = 0.3
"""MAX_REPAIR_TTL as a share of NET_DIAMETER (§10)."""
QUEUEING_S = 0.01
"""By which NEXT_HOP_WAIT exceeds NODE_TRAVERSAL_TIME (§10)."""


class AodvSettings(RouterSettings):
    """`settings` of `[routing]` where `protocol` is aodv. Clauses are those of RFC 3561."""

    # RFC 3561 §10
    active_route_timeout_s: Wait = key(
        3.0, "ACTIVE_ROUTE_TIMEOUT: life of a route after its last packet", unit="s"
    )
    allowed_hello_loss: Integer = key(
        2, "ALLOWED_HELLO_LOSS: Hellos until a neighbour is gone (§6.9)", ge=1, le=1000
    )
    blacklist_timeout_s: Time | None = key(
        None, "BLACKLIST_TIMEOUT (§6.8); unset: RREQ_RETRIES · NET_TRAVERSAL_TIME", unit="s"
    )
    delete_period_s: Wait | None = key(
        None,
        "DELETE_PERIOD: memory of a broken route (§6.11); unset: 5 · the longer of "
        "ACTIVE_ROUTE_TIMEOUT and HELLO_INTERVAL",
        unit="s",
    )
    hello_interval_s: Wait = key(1.0, "HELLO_INTERVAL (§6.9)", unit="s")
    local_add_ttl: Integer = key(2, "LOCAL_ADD_TTL (§6.12)", ge=0, le=255)
    max_repair_ttl: Integer | None = key(
        None,
        "MAX_REPAIR_TTL: farthest destination to repair a route to (§6.12); unset: "
        "0.3 · NET_DIAMETER",
        unit="hops",
        ge=0,
        le=255,
    )
    my_route_timeout_s: Wait | None = key(
        None,
        "MY_ROUTE_TIMEOUT: lifetime in a destination's reply (§6.6.1); unset: "
        "2 · ACTIVE_ROUTE_TIMEOUT",
        unit="s",
    )
    net_diameter: Integer = key(
        35, "NET_DIAMETER: TTL of the widest request", unit="hops", ge=1, le=255
    )
    net_traversal_time_s: Wait | None = key(
        None,
        "NET_TRAVERSAL_TIME: wait after the widest request (§6.3); unset: "
        "2 · NODE_TRAVERSAL_TIME · NET_DIAMETER",
        unit="s",
    )
    next_hop_wait_s: Wait | None = key(
        None,
        "NEXT_HOP_WAIT for a RREP-ACK (§6.8); unset: NODE_TRAVERSAL_TIME + 10 ms",
        unit="s",
    )
    node_traversal_time_s: Wait = key(
        0.04, "NODE_TRAVERSAL_TIME: what one hop is taken to need", unit="s"
    )
    path_discovery_time_s: Wait | None = key(
        None,
        "PATH_DISCOVERY_TIME: memory of a request (§6.3); unset: 2 · NET_TRAVERSAL_TIME",
        unit="s",
    )
    rerr_ratelimit: Integer = key(
        10, "RERR_RATELIMIT: Route Errors a second (§6.11)", ge=0, le=1_000_000
    )
    rreq_retries: Integer = key(
        2, "RREQ_RETRIES: further requests of the widest kind (§6.3)", ge=0, le=63
    )
    rreq_ratelimit: Integer = key(
        10, "RREQ_RATELIMIT: a station's requests a second (§6.3)", ge=1, le=1_000_000
    )
    timeout_buffer: Integer = key(
        2, "TIMEOUT_BUFFER: hops by which a ring's wait is longer (§6.4)", ge=0, le=1000
    )
    ttl_start: Integer = key(1, "TTL_START: first ring of a search (§6.4)", ge=1, le=255)
    ttl_increment: Integer = key(2, "TTL_INCREMENT: to the next ring (§6.4)", ge=1, le=255)
    ttl_threshold: Integer = key(7, "TTL_THRESHOLD: last ring (§6.4)", ge=0, le=255)

    # What stations may do
    destination_only: Switch = key(
        False, "requests have the flag D: only the destination answers (§6.6)"
    )
    gratuitous_rrep: Switch = key(
        False, "requests have the flag G: a relay that answers tells the destination (§6.6.3)"
    )
    rrep_ack: Switch = key(False, "replies have the flag A: the next hop confirms them (§6.7)")
    local_repair: Switch = key(True, "a relay looks for another way when a link breaks (§6.12)")
    hello: Switch = key(False, "Hellos, and breaks by their absence (§6.9)")
    link_layer_feedback: Switch = key(True, "frames that nobody acknowledged break a link (§6.10)")
    keep_failed_packets: Switch = key(
        True, "a packet of such a frame waits for the next route; false: it is lost"
    )
    after_reboot: Switch = key(
        False, "the station was up before, and waits DELETE_PERIOD first (§6.13)"
    )

    # What the RFC leaves open
    broadcast_jitter_s: Time = key(0.01, "most that a broadcast waits", unit="s")
    queue_packets: Integer = key(64, "packets that wait for a route at a station", ge=1, le=100_000)
    queue_timeout_s: Wait = key(30.0, "longest wait of such a packet", unit="s")
    route_table_size: Integer = key(4096, "routes of a station", ge=16, le=100_000)
    request_table_size: Integer = key(
        4096, "requests that a station remembers", ge=16, le=1_000_000
    )

    def computed(self) -> dict[str, Any]:
        """Return the constants that §10 computes from others."""
        traversal_s = self.net_traversal_time_s
        if traversal_s is None:
            traversal_s = 2 * self.node_traversal_time_s * self.net_diameter
        longest_s = max(self.active_route_timeout_s, self.hello_interval_s)
        return {
            "net_traversal_time_s": traversal_s,
            "path_discovery_time_s": 2 * traversal_s,
            "blacklist_timeout_s": self.rreq_retries * traversal_s,
            "delete_period_s": DELETE_PERIOD_K * longest_s,
            "max_repair_ttl": int(REPAIR_SHARE * self.net_diameter),
            "my_route_timeout_s": 2 * self.active_route_timeout_s,
            "next_hop_wait_s": self.node_traversal_time_s + QUEUEING_S,
        }


class AodvFile(RouterFile):
    """What `hoplab-aodv` is to do at one station, as `hoplab aodv` reads it."""

    control: Text = control("aodv")
    tun: Text = tun("aodv")
    elfn: Switch = key(
        False, "tell the kernel module elfn of destinations without a route, and of own segments"
    )
    settings: AodvSettings = key(AodvSettings(), "the protocol's settings")
