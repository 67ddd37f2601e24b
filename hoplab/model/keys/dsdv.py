# SPDX-License-Identifier: Apache-2.0
"""The settings of DSDV: what C. Perkins and P. Bhagwat, "Highly Dynamic Destination-Sequenced
Distance-Vector Routing (DSDV) for Mobile Computers" (SIGCOMM 1994), leave open.

Where the paper has no interval, it is that of the Monarch project (Broch et al. 1998) and of ns-3.
`DsdvFile` holds the settings of one station's daemon.
"""

from __future__ import annotations

from hoplab.model.keys.declare import Integer, Probability, Switch, Text, Time, Wait, key
from hoplab.model.keys.router import RouterFile, RouterSettings, control, tun


class DsdvSettings(RouterSettings):
    """`settings` of `[routing]` where `protocol` is dsdv."""

    update_interval_s: Wait = key(15.0, "between updates with all routes", unit="s")
    triggered_interval_s: Wait = key(
        1.0, "least time between updates with what changed; a break waits for nothing", unit="s"
    )
    hold_times: Integer = key(
        3, "update intervals after which a silent neighbour, or a route, is gone", ge=1, le=1000
    )
    settling_time_s: Time = key(
        6.0, "settling time of a route until one was measured (Monarch 6, ns-3 5)", unit="s"
    )
    settling_weight: Probability = key(0.875, "weight of the mean settling time so far")
    damp_times: Integer = key(
        2,
        "settling times for which nobody hears of a longer route with a new number (Monarch 2, "
        "ns-3 1)",
        ge=0,
        le=1000,
    )
    damp_shorter: Switch = key(False, "a shorter route waits as well, as in ns-3")
    triggered_by_sequence: Switch = key(
        False, "a new sequence number alone triggers an update: DSDV-SQ of Broch et al. 1998"
    )
    breaks_of_next_hop: Switch = key(
        False, "a break counts only if the next hop tells of it, as in ns-3"
    )
    link_layer_feedback: Switch = key(True, "frames that nobody acknowledged break a link")
    keep_failed_packets: Switch = key(
        True, "a packet of such a frame waits for another route; false: it is lost"
    )
    broadcast_jitter_s: Time = key(0.01, "most that an update waits", unit="s")
    queue_packets: Integer = key(
        64, "packets that wait for a route at a station; 0: none does", ge=0, le=100_000
    )
    queue_timeout_s: Wait = key(30.0, "longest wait of such a packet", unit="s")
    route_table_size: Integer = key(4096, "routes of a station", ge=16, le=100_000)


class DsdvFile(RouterFile):
    """What `hoplab-dsdv` is to do at one station, as `hoplab dsdv` reads it."""

    control: Text = control("dsdv")
    tun: Text = tun("dsdv")
    settings: DsdvSettings = key(DsdvSettings(), "the protocol's settings")
