# SPDX-License-Identifier: Apache-2.0
"""The anomaly study's shares, throughputs and verdicts, on cases worked out by hand."""

from typing import Any

import pytest

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import airtime, folder
from hoplab.many.study.swept import Run
from tests.validate.airtime import CLIENTS, MBPS_OF_MCS

STUDY = folder.find("anomaly")
ANALYSIS: Any = STUDY.analysis()


def frame(to: str, began_s: float, took_s: float, mpdu: int | None, **other: Any) -> dict[str, Any]:
    row = {"t_s": began_s, "until_s": began_s + took_s, "src": "ap", "dst": to, "kind": "data"}
    return {**row, "protocol": "udp", "mpdu": mpdu, **other}


FRAMES = [
    frame("fast1", 0.5, 9.0, None),  # before the steady part
    frame("fast1", 1.0, 0.1, 1),
    frame("fast1", 1.0, 0.1, 2),
    frame("fast2", 1.2, 0.1, None),
    frame("slow", 1.4, 0.6, 1),
    frame("slow", 1.4, 0.6, 2, protocol="icmp"),
    frame("ap", 1.6, 5.0, None, src="slow"),
]


class Told:
    """A run with these tables."""

    def __init__(self, **tables: list[dict[str, Any]]):
        self.tables = tables

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.tables[name]


def run(part: str, **tables: list[dict[str, Any]]) -> Run:
    return Run(part, {"queue": "FIFO"}, 1, Told(**tables), "m")


def test_an_aggregate_counts_its_air_time_once_and_each_of_its_packets() -> None:
    served = airtime.served(FRAMES, "ap", "udp", ANALYSIS.MBPS, 1.0)
    assert served.share == pytest.approx({"fast1": 0.125, "fast2": 0.125, "slow": 0.75})
    sizes = {name: one.frames for name, one in served.aggregates.items()}
    assert sizes == {"fast1": 2, "fast2": 1, "slow": 1}


def test_datagrams_count_between_the_beginning_and_the_last_that_is_sent() -> None:
    arrivals = [("fast1", 0.9), ("fast1", 1.5), ("slow", 2.9), ("slow", 3.1), ("fast2", None)]
    packets = [
        {"flow": flow, "bytes": 1472, "sent_s": 3.0, "received_s": at_s} for flow, at_s in arrivals
    ]
    drawn = ANALYSIS.draw(run("udp", frames=FRAMES, packets=packets, wifi_queues=[]))
    one = 8e-6 * 1500 / 2
    assert drawn.mbps == pytest.approx({"fast1": one, "fast2": 0, "slow": one})
    assert drawn.waiting == {}


def test_an_echo_without_a_reply_is_slower_than_all() -> None:
    times = [None, 30.0, None, 20.0, 10.0]
    echoes = [
        {"flow": f"ping-{name}", "sent_s": at_s, "rtt_ms": rtt_ms}
        for name in ("fast", "slow")
        for at_s, rtt_ms in [(4.0, 1.0), *((5.0 + i, ms) for i, ms in enumerate(times))]
    ]
    samples = [
        {"flow": name, "t_s": at_s, "delivered_bytes": octets}
        for name in ANALYSIS.MBPS
        for at_s, octets in ((0.0, 0), (5.0, 1_000_000), (9.0, 2_000_000))
    ]
    frames = [{**row, "t_s": row["t_s"] + 5, "protocol": "tcp"} for row in FRAMES]
    queues = [
        {"node": "ap", "peer": name, "category": category, "t_s": at_s, "backlog_packets": packets}
        for name in ANALYSIS.MBPS
        for category, at_s, packets in (
            ("best-effort", 4.5, 100),
            ("best-effort", 5.0, 4),
            ("best-effort", 5.5, 2),
            ("voice", 5.5, 100),
        )
    ]
    tables = {"frames": frames, "exchanges": echoes, "tcp": samples, "wifi_queues": queues}
    drawn = ANALYSIS.draw(run("", **tables))
    assert drawn.waiting == dict.fromkeys(ANALYSIS.MBPS, 3.0)
    assert drawn.ping_ms == {"fast": 30.0, "slow": 30.0}
    assert drawn.mbps == pytest.approx(dict.fromkeys(ANALYSIS.MBPS, 2.0))


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [((True, True), "reproduced"), ((True, False), "in part"), ((False, False), "not")],
)
def test_a_claim_of_several_parts(parts: tuple[bool, ...], verdict: str) -> None:
    assert ANALYSIS._verdict(*parts) == verdict


def test_what_is_above_by_chance_is_not_above() -> None:
    assert ANALYSIS._above(Sample(2.0), Sample(1.0))
    assert ANALYSIS._above(Sample.of([2.0, 2.1, 2.2]), Sample.of([1.0, 1.1, 1.2]))
    assert not ANALYSIS._above(Sample.of([0.0, 2.0, 4.0]), Sample.of([1.0, 1.1, 1.2]))


def test_stations_have_the_rates_that_the_validation_has() -> None:
    assert {name: MBPS_OF_MCS[mcs] for name, mcs in CLIENTS.items()} == ANALYSIS.MBPS
