# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of a bottleneck of 10 Mbit/s, each beside its own law.

All traffic is of UDP that does not react, so what is measured is the discipline's alone.

* CoDel in its dropping state drops at intervals of ``interval / sqrt(count)`` (RFC 8289 5.5). The
  time from drop 100 to drop 1600 is then a sum.
* PIE's integral term holds the wait at its target (RFC 8033 4.2). The wait is the packet's one-way
  time without what the wire adds: `AHEAD_MS` and a frame's time before it. The token bucket takes a
  packet as soon as the one before it has gone.
* A fair queue gives max-min shares (RFC 8290 4.1.3): a flow below its share loses nothing, and the
  others get equal parts.
* CAKE shares among hosts first, then among a host's flows (Høiland-Jørgensen et al. 2018).
* ETS shares by its quanta (IEEE 802.1Q-2018 8.6.8.3), and its strict bands go first.
* A shaper passes its rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from hoplab.guest.network.wired import BURST_BYTES
from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_all

PAYLOAD_BYTES = 1000
FRAME_BYTES = PAYLOAD_BYTES + 42
BOTTLENECK_MBPS, ACCESS_MBPS = 10.0, 100.0
DELAY_MS = 5.0
FRAME_MS = FRAME_BYTES * 8e-3 / BOTTLENECK_MBPS
AHEAD_MS = (BURST_BYTES - FRAME_BYTES) * 8e-3 / BOTTLENECK_MBPS
"""So long before its transmission a packet leaves a busy queue here (`docs/links.md`)."""
WIRES_MS = FRAME_BYTES * 8e-3 / ACCESS_MBPS + FRAME_MS + DELAY_MS
CAPACITY_KBPS = BOTTLENECK_MBPS * 1000 * PAYLOAD_BYTES / FRAME_BYTES
SEEDS = (1, 2, 3)
PIE_SEEDS = (1, 2, 3, 4, 5)
"""PIE's wait goes up and down around its target for seconds, so that a run's mean differs more."""
FROM_S, TO_S = 10.0, 20.0
FIRST_DROP, LAST_DROP = 100, 1600
INTERVAL_S = 0.1
TARGET_MS = 15.0
PIES = ("pie", "fq_pie")
SHAPED_MBPS = 8.0
OFFERED_KBPS = (1000.0, 6000.0, 12_000.0)
"""A flow below its share and two above it."""
VIDEO, VOICE = 34, 46
"""DSCPs of which the kernel makes the priorities 2 and 4 (`docs/links.md`)."""


class Sent(NamedTuple):
    """A flow of datagrams to the sink."""

    source: str
    kbps: float
    dscp: int | None = None


def scenario(queue: dict[str, Any], sent: tuple[Sent, ...], interval_s: float = 0.1) -> Any:
    """Sources behind a router, and a sink behind the bottleneck."""
    sources = sorted({one.source for one in sent})
    deep = {"kind": "droptail", "packets": 10_000}
    return {
        "title": str(queue),
        "duration_s": TO_S,
        "station": [{"name": name, "radio": False} for name in (*sources, "r", "b")],
        "link": [
            *(
                {"ends": [name, "r"], "rate_mbps": ACCESS_MBPS, "delay_ms": 0, "queue": deep}
                for name in sources
            ),
            {
                "ends": ["r", "b"],
                "rate_mbps": BOTTLENECK_MBPS,
                "delay_ms": DELAY_MS,
                "queue": queue,
            },
        ],
        "flow": [
            {
                "name": f"f{i}",
                "protocol": "udp",
                "source": one.source,
                "destination": "b",
                "rate_kbps": one.kbps,
                "packet_bytes": PAYLOAD_BYTES,
                "spacing": "random",
                **({} if one.dscp is None else {"dscp": one.dscp}),
            }
            for i, one in enumerate(sent)
        ],
        "measure": {"interval_s": interval_s, "packets": queue["kind"] in PIES},
    }


def drop_times(results: Results) -> float:
    """Return the seconds from one drop to a later one, between samples of the counter."""
    rows = [row for row in results.rows("queues") if row["node"] == "r" and row["drops"]]
    before, after = (_when(rows, drops) for drops in (FIRST_DROP, LAST_DROP))
    return after - before


def _when(rows: list[dict[str, Any]], drops: int) -> float:
    for earlier, later in pairwise(rows):
        if earlier["drops"] <= drops < later["drops"]:
            share = (drops - earlier["drops"]) / (later["drops"] - earlier["drops"])
            passed: float = earlier["t_s"] + share * (later["t_s"] - earlier["t_s"])
            return passed
    return math.nan


def wait_ms(results: Results) -> float:
    """Return the mean wait of packets at the bottleneck."""
    times = [
        1000 * (row["received_s"] - row["sent_s"])
        for row in results.rows("packets")
        if row["received_s"] is not None and row["sent_s"] >= FROM_S
    ]
    return fmean(times) - WIRES_MS - AHEAD_MS - FRAME_MS


def rates_kbps(results: Results) -> list[float]:
    """Return the rate at which each flow's payload arrives once all is steady."""
    carried: dict[str, list[tuple[float, int]]] = {}
    for row in results.rows("udp"):
        if row["t_s"] >= FROM_S:
            carried.setdefault(row["flow"], []).append((row["t_s"], row["delivered_bytes"]))
    return [
        8e-3 * (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0])
        for _, rows in sorted(carried.items())
    ]


def _drawn(
    queue: dict[str, Any],
    sent: tuple[Sent, ...],
    read: Callable[[Results], Any],
    interval_s: float = 0.1,
    seeds: tuple[int, ...] = SEEDS,
) -> list[Any]:
    documents = [{**scenario(queue, sent, interval_s), "seed": seed} for seed in seeds]
    return measure_all(documents, read)


def _codel() -> Iterator[Figure]:
    law_s = sum(INTERVAL_S / math.sqrt(count) for count in range(FIRST_DROP, LAST_DROP))
    # The queue grows to thousands of packets before it drops as much as is too much.
    queue = {"kind": "codel", "limit_packets": 100_000}
    found = _drawn(queue, (Sent("a", 16_000),), drop_times, 0.01)
    yield figure("tcp/queues/codel/drops-100-to-1600_s", found, law_s, 0.02)


def _pie() -> Iterator[Figure]:
    for kind in PIES:
        queue = {"kind": kind, "target_ms": TARGET_MS}
        found = _drawn(queue, (Sent("a", 1.25 * CAPACITY_KBPS),), wait_ms, seeds=PIE_SEEDS)
        yield figure(f"tcp/queues/{kind}/wait_ms", found, TARGET_MS, 0.05)


def _fair() -> Iterator[Figure]:
    sent = tuple(Sent("a", kbps) for kbps in OFFERED_KBPS)
    share = (CAPACITY_KBPS - OFFERED_KBPS[0]) / 2
    for kind in ("fq_codel", "fq_pie", "fq", "sfq", "cake"):
        found = _drawn({"kind": kind}, sent, rates_kbps)
        for i, expected in enumerate((OFFERED_KBPS[0], share, share)):
            name = f"tcp/queues/{kind}/flow-{OFFERED_KBPS[i]:.0f}_kbps"
            yield figure(name, [rates[i] for rates in found], expected, 0.02)


def _hosts() -> Iterator[Figure]:
    sent = (*(Sent("a", 5000) for _ in range(3)), Sent("c", 9000))
    for flowmode, alone in (("dual-srchost", 1 / 2), ("flows", 1 / 4)):
        found = _drawn({"kind": "cake", "flowmode": flowmode}, sent, rates_kbps)
        name = f"tcp/queues/cake/{flowmode}"
        expected = alone * CAPACITY_KBPS
        yield figure(f"{name}/host-of-one_kbps", [r[3] for r in found], expected, 0.02)
        each = (1 - alone) / 3 * CAPACITY_KBPS
        for i in range(3):
            yield figure(f"{name}/flow-{i}-of-three_kbps", [r[i] for r in found], each, 0.02)


def _ets() -> Iterator[Figure]:
    sent = (Sent("a", 12_000), Sent("a", 12_000, VIDEO), Sent("a", 2000, VOICE))
    queue = {"kind": "ets", "quanta_bytes": [3000, 6000], "strict": 1, "priomap": [1, 1, 2, 1, 0]}
    rest = CAPACITY_KBPS - 2000
    found = _drawn(queue, sent, rates_kbps)
    for i, (name, expected) in enumerate(
        (("quantum-3000", rest / 3), ("quantum-6000", 2 * rest / 3), ("strict", 2000.0))
    ):
        figures = [rates[i] for rates in found]
        yield figure(f"tcp/queues/ets/{name}_kbps", figures, expected, 0.02)


def _shaped() -> Iterator[Figure]:
    expected = CAPACITY_KBPS * SHAPED_MBPS / BOTTLENECK_MBPS
    for kind in ("droptail", "fq_codel", "cake"):
        queue = {"kind": kind, "shape_mbps": SHAPED_MBPS}
        found = _drawn(queue, (Sent("a", 12_000),), rates_kbps)
        yield figure(f"tcp/queues/{kind}/shaped_kbps", [r[0] for r in found], expected, 0.01)


def items() -> Iterator[Figure]:
    """Every discipline of the default kernel."""
    yield from _codel()
    yield from _pie()
    yield from _fair()
    yield from _hosts()
    yield from _ets()
    yield from _shaped()
