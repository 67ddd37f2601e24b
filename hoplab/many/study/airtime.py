# SPDX-License-Identifier: Apache-2.0
"""The model of "Ending the Anomaly" (Høiland-Jørgensen et al., USENIX ATC 2017):
what stations that differ in rate and in size of aggregates get of an access point's downlink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PACKET_OCTETS = 1500
SUBFRAME_OCTETS = 1544
"""Delimiter, MAC header, packet, FCS, padded to words."""
PREAMBLE_US = 32.0
DIFS_US, SIFS_US = 34.0, 16.0
BACKOFF_US = 67.5
"""Mean of CWmin, 15 slots of 9 us, without collisions."""
BLOCK_ACK_OCTETS = 58
"""It is sent at the data's rate, a SIFS after it."""


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
