# SPDX-License-Identifier: Apache-2.0
"""Settings of Hoplab's DSR that follow the Monarch project's code in ns-2.35 (`docs/dsr.md`)."""

from __future__ import annotations

MONARCH: dict[str, bool | int | float | str] = {
    "cache_timeout": "none",
    "learning": "onward",
    "overhear_every_hop": False,
    "nonpropagating_every_time": True,
    "request_period_s": 2.0,
    "request_backoff": 4,
    "prevent_reply_storms": False,
    "grat_reply_holdoff_s": 0.0,
    "use_blacklist": False,
    "visited_option": False,
    "salvage_discovery": True,
    "resolution": "arp",
    "arp_queue_packets": 1,
    "arp_retry_s": 0.5,
    "arp_timeout_s": 55.0,
}
"""Where RFC 4728 leaves a choice or came later, and the ARP below: one packet waits for an
address, and the fourth packet to come gives up, which at 2 packets/s is 1.5 s."""
