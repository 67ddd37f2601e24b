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
    "arp_queue_packets": 1,
}
"""Where RFC 4728 leaves a choice or came later. The hold-down of gratuitous replies is there in
ns-2, but its time is written into the wrong entry."""
