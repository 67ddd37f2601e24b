# SPDX-License-Identifier: Apache-2.0
"""The model of "Ending the Anomaly" (Høiland-Jørgensen et al., USENIX ATC 2017):
what stations that differ in rate and in size of aggregates get of an access point's downlink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PACKET_OCTETS = 1500
SUBFRAME_OCTETS = 1544
"""Delimiter, MAC header, packet, FCS, padded to words."""
PREAMBLE_US = 32.0
DIFS_US, SIFS_US = 34.0, 16.0
BACKOFF_US = 67.5
"""Mean of CWmin, 15 slots of 9 us, without collisions."""
BLOCK_ACK_OCTETS = 58
"""It is sent at the data's rate, a SIFS after it."""
FRAME_COLUMNS = ("t_s", "until_s", "src", "dst", "kind", "protocol", "mpdu")
"""Of table `frames`: what `served` reads."""


@dataclass(frozen=True)
class Aggregates:
    """What the access point sends to a station."""

    frames: float
    """Mean of the packets in an aggregate, each of ``PACKET_OCTETS``."""
    rate_mbps: float

    @property
    def data_us(self) -> float:
        """An aggregate's time on the air."""
        return PREAMBLE_US + 8 * self.frames * SUBFRAME_OCTETS / self.rate_mbps

    @property
    def turn_us(self) -> float:
        """With what goes before and after: interframe spaces, mean backoff, block ack."""
        answer_us = SIFS_US + 8 * BLOCK_ACK_OCTETS / self.rate_mbps
        return DIFS_US + BACKOFF_US + self.data_us + SIFS_US + answer_us

    @property
    def rate_alone_mbps(self) -> float:
        """IP throughput of a station that has the channel for itself."""
        return self.bits / self.turn_us

    @property
    def bits(self) -> float:
        """Of its packets, from the IP header on."""
        return 8 * self.frames * PACKET_OCTETS


@dataclass(frozen=True)
class Served:
    """What an access point's data to each of its stations took of the channel."""

    share: dict[str, float]
    """Of the air time of all of them; each try counts."""
    aggregates: dict[str, Aggregates]


def served(
    frames: Iterable[Mapping[str, Any]],
    access_point: str,
    protocol: str,
    mbps: Mapping[str, float],
    since_s: float,
) -> Served:
    """From rows of table `frames`: frames of ``protocol`` that began at ``since_s`` or later, to
    the stations of ``mbps``, whose rates these are. Each has to have had one."""
    on_air: Counter[str] = Counter()
    packets: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for row in frames:
        ours = (row["src"], row["kind"], row["protocol"]) == (access_point, "data", protocol)
        if not ours or row["t_s"] < since_s:
            continue
        packets[row["dst"]] += 1
        # The frames of an A-MPDU share its time.
        if row["mpdu"] in (None, 1):
            sent[row["dst"]] += 1
            on_air[row["dst"]] += row["until_s"] - row["t_s"]
    return Served(
        {name: on_air[name] / on_air.total() for name in mbps},
        {name: Aggregates(packets[name] / sent[name], mbps[name]) for name in mbps},
    )


def shares_by_turns(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Air time where stations take turns, an aggregate each."""
    return _shares({name: one.data_us for name, one in stations.items()})


def shares_by_packets(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Air time where each station gets the same number of packets, which is the anomaly (Heusse et
    al., INFOCOM 2003): a queue that all share lets as many in of each as each offers."""
    return _shares({name: one.data_us / one.frames for name, one in stations.items()})


def equal_shares(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Airtime fairness."""
    return _shares(dict.fromkeys(stations, 1.0))


def throughput_mbps(
    stations: Mapping[str, Aggregates], shares: Mapping[str, float]
) -> dict[str, float]:
    """IP throughput of each station with its share of the air time."""
    return {name: shares[name] * one.rate_alone_mbps for name, one in stations.items()}


def mbps_by_turns(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """IP throughput where stations take turns, each turn with all of its time.

    The paper's `shares_by_turns` leaves the overhead out of a turn, which its `throughput_mbps`
    counts once more in the rate alone. For long aggregates both are the same; the throughput of a
    fast station whose aggregates are as short as a FIFO's comes out a quarter too low by them.
    """
    round_us = sum(one.turn_us for one in stations.values())
    return {name: one.bits / round_us for name, one in stations.items()}


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
