# SPDX-License-Identifier: Apache-2.0
"""Read mac80211's own queues of each station and access category, through nl80211."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from pyroute2.iwutil import IW

from hoplab.guest.network.namespaces import inside
from hoplab.guest.network.netlink import (
    DONE,
    DUMP,
    ERROR,
    GENERIC,
    GENERIC_PROTOCOL,
    HEADER,
    LARGEST_ANSWER,
    REQUEST,
    attribute,
    attributes,
    messages,
)
from hoplab.model.errors import HoplabError
from hoplab.model.network.plan import Plan
from hoplab.model.network.wlans import Wlan
from hoplab.model.records.writer import Records

NL80211_CMD_GET_STATION = 17
NL80211_ATTR_IFINDEX, NL80211_ATTR_MAC, NL80211_ATTR_STA_INFO = 3, 6, 21
NL80211_STA_INFO_TID_STATS = 31
NL80211_TID_STATS_TXQ_STATS = 6
COLUMNS = {
    1: "backlog_bytes",
    2: "backlog_packets",
    4: "drops",
    5: "marks",
    6: "overflows",
    9: "sent_bytes",
    10: "sent_packets",
}
"""Attributes of a queue (enum nl80211_txq_stats, linux/nl80211.h)."""
SOJOURN = {12: "sojourn_ns"}
"""The attribute of the guest's kernel (`wifi-sojourn.patch`): how long all sent packets waited,
together."""
COUNTED = COLUMNS | SOJOURN
CATEGORY_OF_TID = (
    *("best-effort", "background", "background", "best-effort"),
    *("video", "video", "voice", "voice"),
)
"""Access category by user priority (IEEE 802.11-2020 table 10-1)."""

Counts = dict[str, int]


class WifiQueues:
    """Table `wifi_queues`: where packets wait with `radio.queue = "fq_codel"`.

    A queue has rows from its first packet on. A general netlink library parses every answer, so
    this class reads only what the table keeps. A radio costs two calls a sample.
    """

    def __init__(self, plan: Plan, records: Records) -> None:
        self._records = records
        self._names = {bytes.fromhex(mac.replace(":", "")): n for n, mac in plan.mac.items()}
        every = [wlan for name in plan.radios for wlan in plan.wlans[name]]
        self._radios = {wlan.name: _Radio(wlan) for wlan in every}
        self._left: dict[tuple[str, str, str], tuple[int, int]] = {}
        """Of each queue at its last row: packets that had left it, and their waits in ns."""

    def sample(self, t_s: float) -> None:
        """A row for every queue that was ever in use."""
        for node, radio in self._radios.items():
            for mac, categories in radio.queues():
                for category, counts in categories.items():
                    if counts["sent_packets"] or counts["backlog_packets"]:
                        self._add(t_s, node, self._names.get(mac, mac.hex(":")), category, counts)

    def close(self) -> None:
        for radio in self._radios.values():
            radio.close()

    def _add(self, t_s: float, node: str, peer: str, category: str, counts: Counts) -> None:
        key = (node, peer, category)
        now = counts["sent_packets"], counts["sojourn_ns"]
        before = self._left.get(key, (0, 0))
        self._left[key] = now
        if now[0] < before[0] or now[1] < before[1]:
            # The station has associated again, and its queues are new.
            before = 0, 0
        packets, waits_ns = now[0] - before[0], now[1] - before[1]
        self._records.add(
            "wifi_queues",
            t_s=round(t_s, 6),
            node=node,
            peer=peer,
            category=category,
            sojourn_ms=1e-6 * waits_ns / packets if packets else None,
            **{column: counts[column] for column in COLUMNS.values()},
        )


class _Radio:
    """The stations that a radio knows."""

    def __init__(self, wlan: Wlan) -> None:
        with inside(wlan.station):
            index = socket.if_nametoindex(wlan.interface)
            with IW() as iw:
                family = iw.prid
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC_PROTOCOL
            )
        self._socket.bind((0, 0))
        body = GENERIC.pack(NL80211_CMD_GET_STATION, 0, 0)
        body += attribute(NL80211_ATTR_IFINDEX, struct.pack("=I", index))
        self._request = HEADER.pack(HEADER.size + len(body), family, REQUEST | DUMP, 0, 0) + body

    def queues(self) -> Iterator[tuple[bytes, Mapping[str, Counts]]]:
        """Yield each station's address, and the sums of its queues by access category."""
        self._socket.send(self._request)
        while True:
            for kind, message in messages(memoryview(self._socket.recv(LARGEST_ANSWER))):
                if kind == DONE:
                    return
                if kind == ERROR:
                    code = -struct.unpack_from("=i", message)[0]
                    raise HoplabError(f"nl80211: the kernel refuses: {os.strerror(code)}")
                yield _station(message[GENERIC.size :])

    def close(self) -> None:
        self._socket.close()


def _station(message: memoryview) -> tuple[bytes, Mapping[str, Counts]]:
    mac = b""
    found: dict[str, Any] = {}
    for kind, value in attributes(message):
        if kind == NL80211_ATTR_MAC:
            mac = bytes(value)
        elif kind == NL80211_ATTR_STA_INFO:
            info = dict(attributes(value))
            found = _categories(info.get(NL80211_STA_INFO_TID_STATS, memoryview(b"")))
    return mac, found


def _categories(tids: memoryview) -> dict[str, Counts]:
    """Return the sums over the user priorities of each access category."""
    found: dict[str, Counts] = {}
    for number, stats in attributes(tids):
        queue = dict(attributes(stats)).get(NL80211_TID_STATS_TXQ_STATS)
        # Attribute 1 is TID 0. TIDs above 7 have no priority, and Linux uses none of them.
        if queue is None or number > len(CATEGORY_OF_TID):
            continue
        counts = found.setdefault(CATEGORY_OF_TID[number - 1], dict.fromkeys(COUNTED.values(), 0))
        for kind, value in attributes(queue):
            if kind in COUNTED:
                counts[COUNTED[kind]] += int.from_bytes(value, "little")
    return found
