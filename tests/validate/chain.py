# SPDX-License-Identifier: Apache-2.0
"""TCP over a chain of 1 to 10 hops, 200 m apart: what was published, and what ns-2.35 gives."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from hoplab.many.study import ns2, plot
from hoplab.many.study.figures import Figure, figure
from tests.validate import recorded
from tests.validate.runs import goodput_kbps, measure_seeds

HOPS = range(1, 11)
PUBLISHED_KBPS = (1463.0, 729.0, 484.4, 339.9, 246.4, 205.2, 198.1, 191.8, 185.3, 182.4)
"""Holland and Vaidya 1999, 1 to 10 hops, Reno, window 8, packets of 1460 bytes."""
NS2_RADIOS = {"ns2-stock": 1, "ns2-wavelan": 2}
"""Profiles of ns-2.35's radio, RTS on, and the Mbit/s of their data."""
SHORT = (1, 2)
"""Hops over which no link fails, so that routing plays no part; `collapse` runs the rest."""
SEEDS = {"static": (1, 2, 3), "dsr": tuple(range(1, 13))}
NS2_SEEDS = range(1, 21)
NS2_SHORT_SEEDS = range(1, 11)
TRIES = {"static": 1000, "dsr": 10}
"""RTS of a frame in ns-2: with a thousand no link ever fails, and routing plays no part."""
DURATION_S = 100
PACKET_BYTES = 1460
"""In ns-2 of 1999 a packet's size was all of it, and goodput counted all of it."""
TCP_IP_HEADER_BYTES = 40


def scenario(profile: str, hops: int, protocol: str) -> dict[str, Any]:
    """The chain study's setting on the real stack."""
    mss = PACKET_BYTES - (TCP_IP_HEADER_BYTES if profile == "hv99" else 0)
    return {
        "title": f"{profile}, {hops} hops, {protocol}",
        "duration_s": DURATION_S,
        "topology": {"kind": "chain", "stations": hops + 1, "spacing_m": 200},
        "radio": {"profile": profile},
        "routing": {
            "protocol": protocol,
            **({"preset": "monarch"} if protocol == "dsr" else {}),
        },
        "tcp": {
            "profile": "classic",
            "delayed_ack": False,
            "initial_window": 1 if profile == "hv99" else 2,
        },
        "flow": [
            {
                "source": "n0",
                "destination": f"n{hops}",
                "window": 8,
                "mss": mss,
                "congestion_control": "reno",
            },
        ],
    }


@dataclass(frozen=True)
class Account:
    """A chain's run with one of `NS2_RADIOS` and DSR."""

    goodput_kbps: float
    link_failures: float
    route_errors: float
    timeouts: float


def ns2_accounts(profile: str, hops: int, seeds: Iterable[int]) -> list[Account]:
    """Runs of ns-2.35, one for each seed."""
    mbps = NS2_RADIOS[profile]
    # The rows of the radio that scripts set do not name its rate, which is the script's default.
    rate = "" if mbps == 2 else f" -mbps {mbps}"
    options = [f"-stations {hops + 1} -time {DURATION_S} -seed {seed}{rate}" for seed in seeds]
    names = tuple(field.name for field in fields(Account))
    return [Account(*row) for row in recorded.rows("chain", names, options, _account_in_ns2)]


def _account_in_ns2(options: str) -> recorded.Row:
    trace = ns2.trace(recorded.SCRIPTS / "chain.tcl", **recorded.words(options))
    words = trace.printed.split()
    acknowledged, timeouts = (
        int(words[words.index(name) + 1]) for name in ("acknowledged", "timeouts")
    )
    goodput_kbps = acknowledged * PACKET_BYTES * 8e-3 / DURATION_S
    return (round(goodput_kbps, 3), trace.link_failures, trace.route_errors, timeouts)


def hv99_kbps(protocol: str) -> list[list[float]]:
    """Goodput as the study counts it, headers included, by hops and seed."""
    scale = PACKET_BYTES / (PACKET_BYTES - TCP_IP_HEADER_BYTES)
    documents = [scenario("hv99", hops, protocol) for hops in HOPS]
    found = measure_seeds(documents, SEEDS[protocol], goodput_kbps)
    return [[kbps * scale for kbps in draws] for draws in found]


def ns2_kbps(protocol: str) -> list[list[float]]:
    """The same in ns-2.35, with DSR, and where links never fail."""
    options = [
        f"-stations {hops + 1} -tries {TRIES[protocol]} -seed {seed}"
        for hops in HOPS
        for seed in NS2_SEEDS
    ]
    found = [kbps for kbps, _ in recorded.rows("hv99", ("kbps", "timeouts"), options, _in_ns2)]
    return [found[i : i + len(NS2_SEEDS)] for i in range(0, len(found), len(NS2_SEEDS))]


def _in_ns2(options: str) -> recorded.Row:
    printed = ns2.run(recorded.SCRIPTS / "hv99.tcl", **recorded.words(options)).split()
    return tuple(float(printed[printed.index(name) + 1]) for name in ("kbps", "timeouts"))


def hv99(protocol: str, limit: float) -> Iterator[Figure]:
    """Beside ns-2.35 in the same setting; the published table is there as information."""
    found = zip(HOPS, hv99_kbps(protocol), ns2_kbps(protocol), strict=True)
    for hops, kbps, reference in found:
        name = f"{protocol}/hv99/{hops}-hops"
        yield figure(f"{name}_beside-ns-2_kbps", kbps, reference, limit)
        yield figure(f"{name}_beside-published_kbps", kbps, PUBLISHED_KBPS[hops - 1], None)


def static() -> Iterator[Figure]:
    """Within 5 % of ns-2.35 without link failures; 1 and 2 hops of its own radios too."""
    yield from hv99("static", 0.05)
    yield from short("static")


def dsr() -> Iterator[Figure]:
    """Within 10 % of ns-2.35's DSR."""
    yield from hv99("dsr", 0.10)
    yield from short("dsr")


def draw(static_kbps: list[float], dsr_kbps: list[float]) -> str:
    """Five curves over the hops: published, ns-2 and ours, with routes that break and without."""
    panel = plot.Panel("goodput, kbit/s", (0.5, 10.5), (150, 1600))
    close = plot.Panel("relative to the published", (0.5, 10.5), (0.9, 1.3))
    for kind, kbps in {
        "published": list(PUBLISHED_KBPS),
        "ns-2": [fmean(draws) for draws in ns2_kbps("dsr")],
        "ns-2, no link fails": [fmean(draws) for draws in ns2_kbps("static")],
        "static routes": static_kbps,
        "DSR": dsr_kbps,
    }.items():
        panel.add(kind, list(zip(HOPS, kbps, strict=True)))
        ratios = [one / table for one, table in zip(kbps, PUBLISHED_KBPS, strict=True)]
        close.add(kind, list(zip(HOPS, ratios, strict=True)))
    title = "TCP Reno over a chain, as Holland and Vaidya 1999"
    return plot.svg([panel, close], "hops", "", title)


def short(protocol: str) -> Iterator[Figure]:
    """Within 5 % of ns-2.35's radio as it comes, and at 2 Mbit/s."""
    jobs = [(profile, hops) for profile in NS2_RADIOS for hops in SHORT]
    documents = [scenario(profile, hops, protocol) for profile, hops in jobs]
    measured = measure_seeds(documents, SEEDS["static"], goodput_kbps)
    for (profile, hops), kbps in zip(jobs, measured, strict=True):
        reference = [run.goodput_kbps for run in ns2_accounts(profile, hops, NS2_SHORT_SEEDS)]
        yield figure(f"{protocol}/{profile}/{hops}-hops_kbps", kbps, reference, 0.05)


if __name__ == "__main__":
    own = ([fmean(draws) for draws in hv99_kbps(protocol)] for protocol in ("static", "dsr"))
    Path(sys.argv[1]).write_text(draw(*own), encoding="utf-8")
