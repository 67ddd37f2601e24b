# SPDX-License-Identifier: Apache-2.0
"""The settings of OLSR: every constant of RFC 3626 §18 and every choice that its text leaves open.

The defaults are the RFC's. `OlsrFile` holds the settings of one station's daemon.
"""

from __future__ import annotations

from typing import Any, Literal

from hoplab.model.keys.declare import Integer, Number, Probability, Switch, Text, Time, Wait, key
from hoplab.model.keys.router import RouterFile, RouterSettings, control, tun

HOLD = 3
"""Intervals after which a message is no longer valid (RFC 3626 §18.3)."""
JITTER_SHARE = 0.25
"""MAXJITTER as a share of HELLO_INTERVAL (§18.3)."""
ALL_NEIGHBOURS = 2
"""TC_REDUNDANCY with which the whole topology is known (§15)."""


class OlsrSettings(RouterSettings):
    """`settings` of `[routing]` where `protocol` is olsr. Clauses are those of RFC 3626."""

    # RFC 3626 §18
    hello_interval_s: Wait = key(2.0, "HELLO_INTERVAL", unit="s")
    tc_interval_s: Wait = key(5.0, "TC_INTERVAL", unit="s")
    neighb_hold_time_s: Wait | None = key(
        None, "NEIGHB_HOLD_TIME: life of what a HELLO says; unset: 3 · HELLO_INTERVAL", unit="s"
    )
    top_hold_time_s: Wait | None = key(
        None, "TOP_HOLD_TIME: life of what a TC says; unset: 3 · TC_INTERVAL", unit="s"
    )
    dup_hold_time_s: Wait = key(30.0, "DUP_HOLD_TIME: memory of a message", unit="s")
    max_jitter_s: Time | None = key(
        None,
        "MAXJITTER: by which an interval is shorter at most, and most that a message waits "
        "before it is sent on; unset: HELLO_INTERVAL / 4",
        unit="s",
    )
    willingness: Integer = key(
        3, "WILLINGNESS to carry others' packets: 0 never, 7 always (§8.3)", ge=0, le=7
    )
    tc_redundancy: Literal[0, 1, 2] | None = key(
        None,
        "TC_REDUNDANCY (§15): a TC has those that chose this relay (0), also its own relays (1), "
        "or all neighbours (2); unset: 0, with ETX 2",
    )
    mpr_coverage: Integer = key(
        1, "MPR_COVERAGE (§16): relays to each station two hops away", ge=1, le=255
    )
    hyst_threshold_high: Probability = key(0.8, "HYST_THRESHOLD_HIGH (§14)")
    hyst_threshold_low: Probability = key(0.3, "HYST_THRESHOLD_LOW (§14)")
    hyst_scaling: Probability = key(0.5, "HYST_SCALING (§14)")

    # What stations may do
    hysteresis: Switch = key(False, "a link counts only after several packets in a row (§14)")
    triggered_tc: Switch = key(False, "a TC as soon as its content changes (§9.3)")
    link_layer_feedback: Switch = key(
        False, "frames that nobody acknowledged break a link for NEIGHB_HOLD_TIME (§13)"
    )
    keep_failed_packets: Switch = key(
        True, "a packet of such a frame takes another route; false: it is lost"
    )

    # Beyond the RFC
    metric: Literal["hops", "etx"] = key(
        "hops", "`etx`: fewest expected transmissions, with olsrd's LQ_HELLO and LQ_TC"
    )
    etx_aging: Number = key(0.05, "weight of a packet in a link's quality", gt=0, le=1)
    topology_table_size: Integer = key(8192, "advertised links", ge=16, le=1_000_000)
    duplicate_table_size: Integer = key(
        4096, "messages that a station remembers", ge=16, le=1_000_000
    )

    def computed(self) -> dict[str, Any]:
        """Return the defaults that §18 computes from others."""
        return {
            "neighb_hold_time_s": HOLD * self.hello_interval_s,
            "top_hold_time_s": HOLD * self.tc_interval_s,
            "max_jitter_s": JITTER_SHARE * self.hello_interval_s,
            "tc_redundancy": ALL_NEIGHBOURS if self.metric == "etx" else 0,
        }


class OlsrFile(RouterFile):
    """What `hoplab-olsr` is to do at one station, as `hoplab olsr` reads it."""

    control: Text = control("olsr")
    tun: Text = tun("olsr")
    settings: OlsrSettings = key(OlsrSettings(), "the protocol's settings")
