# SPDX-License-Identifier: Apache-2.0
"""Read mac80211's own queues of each station and access category, through nl80211."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hoplab.guest.network.generic import Generic
from hoplab.guest.network.inside import index_of
from hoplab.guest.network.netlink import attributes, octets, u32
from hoplab.guest.network.nl80211 import Attr, Command, Wireless
from hoplab.model.network.plan import Plan
from hoplab.model.network.wlans import Wlan
from hoplab.model.records.writer import Records

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
NOTHING = memoryview(b"")


class WifiQueues:
    """Table `wifi_queues`: where packets wait with `radio.queue = "fq_codel"`.

    A queue has rows from its first packet on. A radio costs two calls a sample.
    """

    def __init__(self, plan: Plan, records: Records) -> None:
        self._records = records
        self._names = {octets(mac): n for n, mac in plan.mac.items()}
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
        self._over = Generic(wlan.station, f"queues of {wlan.name}")
        self._over.take_number()
        self._radio = Wireless(self._over)
        self._given = {Attr.IFINDEX: u32(index_of(wlan.station, wlan.interface))}

    def queues(self) -> Iterator[tuple[bytes, Mapping[str, Counts]]]:
        """Yield each station's address, and the sums of its queues by access category."""
        for found in self._radio.dump(Command.GET_STATION, self._given):
            info = dict(attributes(found.get(Attr.STA_INFO, NOTHING)))
            tids = info.get(NL80211_STA_INFO_TID_STATS, NOTHING)
            yield bytes(found[Attr.MAC]), _categories(tids)

    def close(self) -> None:
        self._over.close()


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
