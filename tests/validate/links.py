# SPDX-License-Identifier: Apache-2.0
"""Links whose capacity follows a trace, and a path of Wi-Fi that a trace repeats.

* Datagrams above the capacity get all of it: in each second of a CSV trace, and at each opportunity
  of Mahimahi's. The limit is 1 %.
* A run over Wi-Fi is exported as a trace, and the trace replayed in a wire gives the same flow the
  same throughput within 5 %. What reacts to load, such as other stations' backoff, no trace has. So
  the path is that of a single saturated flow.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoplab.host.analysis import path_trace
from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure, measure_all

SEEDS = (1, 2, 3)
SECONDS = 12
LEAST_MBPS, MOST_MBPS = 4.0, 20.0
FULL_BYTES = 1472
"""Payload of a full packet of UDP, which takes one opportunity."""
HEADERS_BYTES = 28
PER_MS = (0, 0, 1, 1, 2)
"""Opportunities in a millisecond, drawn alike."""
LIMIT, REPLAYED_LIMIT = 0.01, 0.05


def _wire(up: dict[str, Any], flow: dict[str, Any], seed: int, duration_s: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "duration_s": duration_s,
        "station": [{"name": name, "radio": False} for name in "ab"],
        "link": [{"ends": ["a", "b"], "delay_ms": 0, "up": up, "down": {"rate_mbps": 100}}],
        "flow": [{"source": "a", "destination": "b", **flow}],
        "measure": {"packets": True},
    }


def _datagrams(trace: Path, payload_bytes: int, seed: int) -> dict[str, Any]:
    flow = {"protocol": "udp", "packet_bytes": payload_bytes, "rate_kbps": 1500 * MOST_MBPS}
    return _wire({"trace": str(trace)}, flow, seed, SECONDS)


def arrivals(results: Results) -> list[tuple[float, int]]:
    """Time and octets of IP of each packet that arrived."""
    return [
        (row["received_s"], row["bytes"] + HEADERS_BYTES)
        for row in results.rows("packets")
        if row["received_s"] is not None
    ]


def _csv(folder: Path) -> Iterator[Figure]:
    documents, rates = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        mbps = [round(draw.uniform(LEAST_MBPS, MOST_MBPS), 3) for _ in range(SECONDS)]
        path = folder / f"{seed}.csv"
        rows = "".join(f"{t},{rate}\n" for t, rate in enumerate(mbps))
        path.write_text(f"t_s,rate_mbps\n{rows}", encoding="utf-8")
        documents.append(_datagrams(path, 1000, seed))
        rates.append(mbps)
    carried, worst = [], []
    for mbps, packets in zip(rates, measure_all(documents, arrivals), strict=True):
        got = [0.0] * (SECONDS + 1)
        for t_s, octets in packets:
            got[int(t_s)] += 8e-6 * octets
        # The flow's packets of the first second began a little after it.
        shares = [got[t] / mbps[t] for t in range(1, SECONDS)]
        carried.append(sum(got[1:SECONDS]) / sum(mbps[1:]))
        worst.append(max(shares, key=lambda share: abs(share - 1)))
    yield figure("tcp/links/csv/carried", carried, 1.0, LIMIT)
    yield figure("tcp/links/csv/worst-second", worst, 1.0, LIMIT)


def _mahimahi(folder: Path) -> Iterator[Figure]:
    documents, given = [], []
    for seed in SEEDS:
        draw = random.Random(seed)
        times_ms = [ms for ms in range(1, 4001) for _ in range(draw.choice(PER_MS))]
        path = folder / f"{seed}.trace"
        path.write_text("".join(f"{ms}\n" for ms in times_ms), encoding="utf-8")
        documents.append(_datagrams(path, FULL_BYTES, seed))
        in_run = [ms + again for again in (0, 4000, 8000) for ms in times_ms]
        given.append(sum(1000 <= ms < 1000 * (SECONDS - 1) for ms in in_run))
    shares = [
        sum(1 <= t_s < SECONDS - 1 for t_s, _ in packets) / expected
        for expected, packets in zip(given, measure_all(documents, arrivals), strict=True)
    ]
    yield figure("tcp/links/mahimahi/carried", shares, 1.0, LIMIT)


def wifi(seed: int) -> dict[str, Any]:
    """A saturated flow over two hops of 802.11a."""
    return {
        "seed": seed,
        "duration_s": SECONDS,
        "topology": {"kind": "chain", "stations": 3, "spacing_m": 20},
        "radio": {"profile": "80211a"},
        "flow": [{"source": "n0", "destination": "n2"}],
        "measure": {"packets": True},
    }


def _path(results: Results) -> tuple[float, list[path_trace.Packet]]:
    (flow,) = results.rows("flows")
    return flow["goodput_kbps"], path_trace.of_flow(results, results.resolved, None)


def goodput_kbps(results: Results) -> float:
    (flow,) = results.rows("flows")
    return float(flow["goodput_kbps"])


def _replayed(folder: Path) -> Iterator[Figure]:
    for form in ("csv", "mahimahi"):
        shares = []
        for seed in SEEDS:
            had_kbps, packets = measure(wifi(seed), _path)
            path = folder / f"replayed-{seed}.{path_trace.SUFFIXES[form]}"
            path.write_text(path_trace.text(packets, form, path.name), encoding="utf-8")
            up: dict[str, Any] = {"trace": str(path), "queue": {"packets": 1000}}
            shares.append(measure(_wire(up, {}, seed, SECONDS), goodput_kbps) / had_kbps)
        yield figure(f"tcp/links/replayed-{form}/throughput", shares, 1.0, REPLAYED_LIMIT)


def items() -> Iterator[Figure]:
    """Capacity of traces, and a path of Wi-Fi replayed."""
    with tempfile.TemporaryDirectory(prefix="hoplab-traces-") as folder:
        yield from _csv(Path(folder))
        yield from _mahimahi(Path(folder))
        yield from _replayed(Path(folder))
