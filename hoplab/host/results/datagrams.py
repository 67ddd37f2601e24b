# SPDX-License-Identifier: Apache-2.0
"""Rows of table `udp` from captured datagrams, as `daemons/traffic-core` makes them in a run.

They are of flows whose receiver writes none: iperf3's, and programs'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

PERCENTILES = (50, 95, 99)
GAIN = 1 / 16
"""Share of a difference by which the estimate of jitter moves (RFC 3550 6.4.1)."""


class Arrival(NamedTuple):
    """A datagram that came, ``at_s`` in scenario time. Number and delay are None if unknown."""

    at_s: float
    bytes: int
    number: int | None = None
    delay_ms: float | None = None


def delays(times_ms: Sequence[float]) -> dict[str, float | None]:
    """Return mean and percentiles of one-way times in ms, to the nanosecond, by their columns. None
    of no times. A percentile is the nearest rank."""
    ordered = sorted(times_ms)
    mean = round(math.fsum(ordered) / len(ordered), 6) if ordered else None
    ranks = {f"latency_ms_p{share}": _rank(ordered, share) for share in PERCENTILES}
    return {"latency_ms_mean": mean, **ranks}


def _rank(ordered: Sequence[float], percent: int) -> float | None:
    if not ordered:
        return None
    return round(ordered[max(1, -(-len(ordered) * percent // 100)) - 1], 6)


def jitter_ms(*courses_ms: Sequence[float]) -> float | None:
    """Return the mean difference of successive one-way times, in the order of arrival, of one or
    more connections. None if none has two."""
    gaps = [abs(later - earlier) for times in courses_ms for earlier, later in pairwise(times)]
    return round(math.fsum(gaps) / len(gaps), 6) if gaps else None


def of_packets(
    flow: str, packets: pa.Table, start_s: float, stop_s: float, interval_s: float
) -> list[dict[str, Any]]:
    """Return the rows of a flow from its rows of table `packets`."""
    arrivals = [
        Arrival(at_s, row["bytes"], row["seq"], 1e3 * (at_s - row["sent_s"]))
        for row in packets.to_pylist()
        if (at_s := row["received_s"]) is not None
    ]
    return list(rows(flow, arrivals, start_s, stop_s, interval_s))


def rows(
    flow: str,
    arrivals: Iterable[Arrival],
    start_s: float,
    stop_s: float,
    interval_s: float,
    numbered: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield a row at each whole ``interval_s`` after ``start_s``, and at ``stop_s``. Losses are
    unknown unless datagrams are ``numbered``."""
    coming = sorted(arrivals)
    received = octets = highest = place = 0
    jitter: float | None = None
    last: float | None = None
    for t_s in _times(start_s, stop_s, interval_s):
        since: list[float] = []
        while place < len(coming) and coming[place].at_s <= t_s:
            one = coming[place]
            place, received, octets = place + 1, received + 1, octets + one.bytes
            highest = max(highest, one.number or 0)
            if one.delay_ms is None:
                continue
            since.append(one.delay_ms)
            if last is not None:
                jitter = (jitter or 0.0) + (abs(one.delay_ms - last) - (jitter or 0.0)) * GAIN
            last = one.delay_ms
        yield {
            "t_s": t_s,
            "flow": flow,
            "received": received,
            "delivered_bytes": octets,
            "lost": max(0, highest - received) if numbered else None,
            **delays(since),
            "jitter_ms": None if jitter is None else round(jitter, 6),
        }


def _times(start_s: float, stop_s: float, interval_s: float) -> Iterator[float]:
    step = math.floor(round(start_s / interval_s, 9)) + 1
    while (t_s := round(step * interval_s, 9)) < stop_s:
        yield t_s
        step += 1
    yield stop_s
