# SPDX-License-Identifier: Apache-2.0
"""The model of "Ending the Anomaly" (Høiland-Jørgensen et al., USENIX ATC 2017): the shares of an
access point's downlink. Its stations differ in rate and in size of aggregates."""

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
"""Octets of a block ack, which is sent at the data's rate, a SIFS after the data."""
FRAME_COLUMNS = ("t_s", "until_s", "src", "dst", "kind", "protocol", "mpdu")
"""Columns of table `frames` that `served` reads."""


@dataclass(frozen=True)
class Aggregates:
    """The access point's traffic to a station."""

    frames: float
    """Mean of the packets in an aggregate, each of ``PACKET_OCTETS``."""
    rate_mbps: float

    @property
    def data_us(self) -> float:
        """Time on the air of an aggregate."""
        return PREAMBLE_US + 8 * self.frames * SUBFRAME_OCTETS / self.rate_mbps

    @property
    def turn_us(self) -> float:
        """That time with interframe spaces, mean backoff and block ack."""
        answer_us = SIFS_US + 8 * BLOCK_ACK_OCTETS / self.rate_mbps
        return DIFS_US + BACKOFF_US + self.data_us + SIFS_US + answer_us

    @property
    def rate_alone_mbps(self) -> float:
        """IP throughput of a station that has the channel to itself."""
        return self.bits / self.turn_us

    @property
    def bits(self) -> float:
        """Bits of its packets, from the IP header on."""
        return 8 * self.frames * PACKET_OCTETS


@dataclass(frozen=True)
class Served:
    """Air time that an access point's data to each of its stations took."""

    share: dict[str, float]
    """Share of the air time of all stations; each try counts."""
    aggregates: dict[str, Aggregates]


def served(
    frames: Iterable[Mapping[str, Any]],
    access_point: str,
    protocol: str,
    mbps: Mapping[str, float],
    since_s: float,
) -> Served:
    """Measure from rows of table `frames`. Counted are frames of ``protocol`` that began at
    ``since_s`` or later, to the stations of ``mbps``, which holds their rates. Each station must
    have at least one."""
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
    """Return shares of air time if stations take turns, with one aggregate each."""
    return _shares({name: one.data_us for name, one in stations.items()})


def shares_by_packets(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Return shares of air time if each station gets the same number of packets. This is the
    anomaly (Heusse et al., INFOCOM 2003): a queue shared by all admits packets of each station as
    they are offered."""
    return _shares({name: one.data_us / one.frames for name, one in stations.items()})


def equal_shares(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Return equal shares: airtime fairness."""
    return _shares(dict.fromkeys(stations, 1.0))


def throughput_mbps(
    stations: Mapping[str, Aggregates], shares: Mapping[str, float]
) -> dict[str, float]:
    """IP throughput of each station with its share of the air time."""
    return {name: shares[name] * one.rate_alone_mbps for name, one in stations.items()}


def mbps_by_turns(stations: Mapping[str, Aggregates]) -> dict[str, float]:
    """Return IP throughput if stations take turns, counting all time of each turn.

    The paper's `shares_by_turns` omits the overhead from a turn. Its `throughput_mbps` counts the
    overhead once more, in the rate alone. For long aggregates both agree. For a fast station whose
    aggregates are as short as a FIFO's, the paper's throughput is a quarter too low.
    """
    round_us = sum(one.turn_us for one in stations.values())
    return {name: one.bits / round_us for name, one in stations.items()}


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
