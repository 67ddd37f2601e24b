# SPDX-License-Identifier: Apache-2.0
"""Two fast stations and a slow one behind an access point: "Ending the Anomaly".

T. Høiland-Jørgensen et al., USENIX ATC 2017: HT at 20 MHz and 5 GHz, MCS 15 and MCS 0 with short
guard intervals. A wired server sends UDP to each of them above what it can get. Shares of air time
and throughput are held against the paper's model, evaluated with this run's mean aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import airtime
from hoplab.many.study.airtime import PACKET_OCTETS, Aggregates
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import received_mbps, sender, station
from tests.validate.throughput import SEEDS

PAYLOAD = PACKET_OCTETS - 28
"""Of UDP over IPv4."""
MBPS_OF_MCS = {15: 144.4, 0: 7.2}
CLIENTS = {"fast1": 15, "fast2": 15, "slow": 0}
OFFERED_MBPS = 50
STARTED_S, DURATION_S = 1.0, 4.0
SHARE_POINTS = 0.05
THROUGHPUT = 0.1

Shares = Callable[[Mapping[str, Aggregates]], dict[str, float]]


@dataclass(frozen=True)
class Case:
    """How packets wait at the access point, and who is served by it."""

    radio: dict[str, Any]
    shares: Shares


CASES = {
    "fifo": Case({"queue_packets": 1000}, airtime.shares_by_turns),
    "fq-codel": Case({"queue": "fq_codel", "airtime_fairness": False}, airtime.shares_by_turns),
    "airtime-fairness": Case({"queue": "fq_codel"}, airtime.equal_shares),
}


@dataclass(frozen=True)
class Draw:
    """What one run had of each station."""

    share: dict[str, float]
    mbps: dict[str, float]
    aggregates: dict[str, Aggregates]


def scenario(case: Case) -> dict[str, Any]:
    clients = [
        {**station(name, 5.0 * (i - 1), 5.0), "mcs": mcs}
        for i, (name, mcs) in enumerate(CLIENTS.items())
    ]
    return {
        "title": "two fast stations and a slow one behind an access point",
        "duration_s": DURATION_S,
        "station": [{"name": "server", "radio": False}, station("ap", 0.0), *clients],
        "link": [{"ends": ["server", "ap"], "rate_mbps": 1000, "delay_ms": 0.1}],
        "cell": [{"access_point": "ap", "clients": list(CLIENTS)}],
        "radio": {"profile": "80211n", "mcs": 15, "guard_ns": 400, **case.radio},
        "flow": [sender("server", name, PAYLOAD, OFFERED_MBPS) for name in CLIENTS],
        "measure": {"packets": True, "frames": True},
    }


def read(results: Results) -> Draw:
    frames = results.frames.select(list(airtime.FRAME_COLUMNS)).to_pylist()
    mbps = {name: MBPS_OF_MCS[mcs] for name, mcs in CLIENTS.items()}
    served = airtime.served(frames, "ap", "udp", mbps, STARTED_S)
    received = received_mbps(results, STARTED_S)
    return Draw(
        served.share,
        {name: received[f"server-{name}"] * PACKET_OCTETS / PAYLOAD for name in CLIENTS},
        served.aggregates,
    )


def items() -> Iterator[Figure]:
    """Each station's share of the air time, within 5 points, and IP throughput, within 10 %. In a
    FIFO aggregates are so short that `airtime.mbps_by_turns` is held; the paper's own equation is
    beside it as information."""
    found = measure_seeds([scenario(case) for case in CASES.values()], SEEDS, read)
    for (name, case), draws in zip(CASES.items(), found, strict=True):
        laws = [case.shares(draw.aggregates) for draw in draws]
        papers = [
            airtime.throughput_mbps(draw.aggregates, law)
            for draw, law in zip(draws, laws, strict=True)
        ]
        turns = [airtime.mbps_by_turns(draw.aggregates) for draw in draws]
        for client in CLIENTS:
            where = f"wifi/airtime/{name}/{client}"
            expected = [law[client] for law in laws]
            share = [draw.share[client] for draw in draws]
            yield figure(
                f"{where}/share", share, expected, SHARE_POINTS * len(laws) / sum(expected)
            )
            mbps = [draw.mbps[client] for draw in draws]
            paper = [one[client] for one in papers]
            if name == "fifo":
                yield figure(f"{where}_Mbps", mbps, [one[client] for one in turns], THROUGHPUT)
                yield figure(f"{where}/as-published_Mbps", mbps, paper, None)
            else:
                yield figure(f"{where}_Mbps", mbps, paper, THROUGHPUT)
