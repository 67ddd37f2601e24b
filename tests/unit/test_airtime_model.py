# SPDX-License-Identifier: Apache-2.0
"""The model of "Ending the Anomaly" against the paper's own table of it."""

import pytest

from hoplab.many.study import airtime
from hoplab.many.study.airtime import SUBFRAME_OCTETS, Aggregates

FAST_MBPS, SLOW_MBPS = 144.4, 7.2


def stations(*octets: int) -> dict[str, Aggregates]:
    rates = (FAST_MBPS, FAST_MBPS, SLOW_MBPS)
    return {
        name: Aggregates(size / SUBFRAME_OCTETS, rate)
        for name, size, rate in zip(("fast1", "fast2", "slow"), octets, rates, strict=True)
    }


def test_rates_alone_are_the_papers() -> None:
    """Table 1: mean aggregates in octets, and what a station alone would get, in Mbit/s."""
    for octets, mbps in ((6892, 97.3), (7833, 101.1), (28434, 126.7), (28557, 126.8)):
        alone = Aggregates(octets / SUBFRAME_OCTETS, FAST_MBPS).rate_alone_mbps
        assert alone == pytest.approx(mbps, abs=0.15)
    slow = Aggregates(2914 / SUBFRAME_OCTETS, SLOW_MBPS).rate_alone_mbps
    assert slow == pytest.approx(6.5, abs=0.05)


def test_turns_are_the_papers_fifo() -> None:
    found = stations(6892, 7833, 2914)
    shares = airtime.shares_by_turns(found)
    assert list(shares.values()) == pytest.approx([0.10, 0.11, 0.79], abs=0.006)
    assert list(airtime.throughput_mbps(found, shares).values()) == pytest.approx(
        [9.7, 11.4, 5.1], abs=0.15
    )


def test_equal_shares_are_the_papers_airtime_fairness() -> None:
    found = stations(28434, 28557, 2914)
    mbps = airtime.throughput_mbps(found, airtime.equal_shares(found))
    assert list(mbps.values()) == pytest.approx([42.2, 42.3, 2.2], abs=0.05)


def test_turns_with_all_of_their_time_are_the_papers_turns_for_long_aggregates() -> None:
    found = stations(10**7, 10**7, 10**7)
    paper = airtime.throughput_mbps(found, airtime.shares_by_turns(found))
    assert list(airtime.mbps_by_turns(found).values()) == pytest.approx(list(paper.values()), 1e-3)
    short = stations(3000, 3000, 3000)
    paper = airtime.throughput_mbps(short, airtime.shares_by_turns(short))
    assert airtime.mbps_by_turns(short)["fast1"] > 1.2 * paper["fast1"]


def test_equal_packets_cost_each_station_its_time_a_packet() -> None:
    found = {"fast": Aggregates(10, FAST_MBPS), "slow": Aggregates(1, SLOW_MBPS)}
    shares = airtime.shares_by_packets(found)
    assert shares["slow"] / shares["fast"] == pytest.approx(
        10 * found["slow"].data_us / found["fast"].data_us
    )
