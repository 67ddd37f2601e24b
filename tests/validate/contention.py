# SPDX-License-Identifier: Apache-2.0
"""Saturated stations that share a receiver, against Bianchi's Markov chain.

``python -m tests.validate.contention FILE`` draws the figure of `docs/medium-figures.md`.

G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC
18(3), 2000. The engine's figures, up to 50 stations, are those of its own example.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import plot
from hoplab.many.study.figures import Figure, figure
from hoplab.model.errors import HoplabError
from hoplab.model.resources import PROJECT
from tests.validate.runs import measure_seeds
from tests.validate.saturation import DSSS, air_us, received_mbps, sender, station

PAYLOAD = 1472
FRAME_BYTES = 1536
RATE_MBPS = 2.0
DATA_US = air_us(FRAME_BYTES, RATE_MBPS)
ACK_US, RTS_US, CTS_US = DSSS.control_us(14), DSSS.control_us(20), DSSS.control_us(14)
WINDOW, STAGES = 32, 5
SETTLED_S = 10.0
MEASURED_S = {1: 10.0, 2: 300.0, 5: 40.0, 10: 30.0, 20: 25.0}
"""In each run; eight of them leave chance 2 to 4 % of the collision probability."""
SEEDS = range(1, 9)
SLOTTED_TRIES = 1_000_000
ENGINE_STATIONS = (1, 2, 5, 10, 20, 50)
ENGINE_EXAMPLE = "saturated"
ENGINE_S = 300
OFFERED = 1.6
"""Times what the channel carries: every queue is full before `SETTLED_S`."""


@dataclass(frozen=True)
class Share:
    """Frames a second of all stations together, and the probability that a try collides."""

    frames_per_s: float
    collisions: float


def bianchi(n: int, rts: bool) -> Share:
    """Fixed point of his equations 7 and 9, throughput by equation 13.

    After a collision the others wait for EIFS = SIFS + ACK + DIFS.
    """
    sifs, difs = DSSS.sifs_us, DSSS.difs_us
    success_us = DATA_US + sifs + ACK_US + difs
    collision_us = success_us
    if rts:
        success_us += RTS_US + sifs + CTS_US + sifs
        collision_us = RTS_US + sifs + ACK_US + difs

    def tau(p: float) -> float:
        stages = p * WINDOW * (1 - (2 * p) ** STAGES)
        return 2 * (1 - 2 * p) / ((1 - 2 * p) * (WINDOW + 1) + stages)

    low, high = 0.0, 0.999
    for _ in range(100):
        p = (low + high) / 2
        if 1 - (1 - tau(p)) ** (n - 1) > p:
            low = p
        else:
            high = p
    p = low if n > 1 else 0.0
    t = tau(p)
    some = 1 - (1 - t) ** n
    one = n * t * (1 - t) ** (n - 1)
    slot = (1 - some) * DSSS.slot_us + one * success_us + (some - one) * collision_us
    return Share(one / slot * 1e6, p)


def slotted(n: int, seed: int) -> float:
    """The share of tries that collide where ``n`` stations count their slots, and nothing else.

    It lacks Bianchi's one assumption, that a try collides with the same probability whatever came
    before. Two stations whose windows have just been drawn anew contradict it most: 3 % here.
    """
    draw = random.Random(seed)
    windows = [WINDOW] * n
    counters = [draw.randrange(WINDOW) for _ in range(n)]
    tries = collided = 0
    while tries < SLOTTED_TRIES:
        slots = min(counters)
        senders = [i for i, counter in enumerate(counters) if counter == slots]
        counters = [counter - slots for counter in counters]
        collides = len(senders) > 1
        for i in senders:
            windows[i] = min(2 * windows[i], WINDOW << STAGES) if collides else WINDOW
            counters[i] = draw.randrange(windows[i])
        tries += len(senders)
        collided += len(senders) * collides
    return collided / tries


def scenario(n: int, rts: bool) -> dict[str, Any]:
    """Senders on a circle about their receiver; no capture, and practically no retry limit."""
    mbps = OFFERED * bianchi(n, rts).frames_per_s / n * PAYLOAD * 8e-6
    circle = [
        station(f"s{i}", 50 * math.cos(2 * math.pi * i / n), 50 * math.sin(2 * math.pi * i / n))
        for i in range(n)
    ]
    return {
        "title": f"{n} saturated stations, RTS {'on' if rts else 'off'}",
        "duration_s": SETTLED_S + MEASURED_S[n],
        "station": [station("r", 0.0), *circle],
        "radio": {
            "profile": "wavelan",
            "rts_threshold": 0 if rts else 2347,
            "retry_short": 255,
            "retry_long": 255,
            "capture_db": 1000,
        },
        "flow": [sender(f"s{i}", "r", PAYLOAD, mbps) for i in range(n)],
        "measure": {"interval_s": 1, "packets": True},
    }


def share(results: Results) -> Share:
    """Once all are saturated: what arrived, and the tries that the radios repeated."""
    senders = {flow["source"] for flow in results.scenario["flow"]}
    end_s = results.scenario["duration_s"]
    at = {SETTLED_S: 0, end_s: 0}
    for row in results.rows("nodes"):
        if row["t_s"] in at and row["node"] in senders:
            at[row["t_s"]] += row["retries"]
    retries_per_s = (at[end_s] - at[SETTLED_S]) / (end_s - SETTLED_S)
    frames_per_s = sum(received_mbps(results, SETTLED_S).values()) / (PAYLOAD * 8e-6)
    return Share(frames_per_s, retries_per_s / (retries_per_s + frames_per_s))


def kernel() -> dict[tuple[int, bool], list[Share]]:
    """Through the kernel, by number of stations and RTS; a share a seed."""
    cases = [(n, rts) for n in sorted(MEASURED_S, reverse=True) for rts in (False, True)]
    documents = [scenario(*case) for case in cases]
    found = dict(zip(cases, measure_seeds(documents, SEEDS, share), strict=True))
    return {case: found[case] for case in sorted(cases, key=lambda case: (case[1], case[0]))}


def items() -> Iterator[Figure]:
    """Kernel within 5 %, engine within 3 %."""
    for (n, rts), measured in kernel().items():
        yield from _figures("kernel", n, rts, measured, 0.05)
    for (n, rts), measured in engine().items():
        yield from _figures("engine", n, rts, measured, 0.03)


def _figures(
    where: str, n: int, rts: bool, measured: list[Share], limit: float
) -> Iterator[Figure]:
    model = bianchi(n, rts)
    name = f"medium/bianchi/{where}/{'rts' if rts else 'basic'}/{n}-stations"
    rates = [one.frames_per_s for one in measured]
    yield figure(f"{name}_frames/s", rates, model.frames_per_s, limit)
    collisions = [one.collisions for one in measured]
    if n == 2:
        counted = [slotted(n, seed) for seed in SEEDS]
        yield figure(f"{name}_collisions", collisions, counted, limit)
        yield figure(f"{name}_collisions_beside-Bianchi", collisions, model.collisions, None)
    else:
        yield figure(f"{name}_collisions", collisions, model.collisions, limit)


def engine() -> dict[tuple[int, bool], list[Share]]:
    """What the engine's example measures, a share a seed. Raises `HoplabError` where it fails or is
    silent."""
    draws = [_engine(seed) for seed in SEEDS]
    return {case: [draw[case] for draw in draws] for case in draws[0]}


def _engine(seed: int) -> dict[tuple[int, bool], Share]:
    command = (
        ". scripts/rust && cargo run --quiet --release --locked --manifest-path daemons/Cargo.toml "
        f"--package hoplab-medium-core --example {ENGINE_EXAMPLE} -- {ENGINE_S} {seed}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise HoplabError(f"{command}: fails with status {done.returncode}; run it")
    return read_engine(done.stdout)


def read_engine(printed: str) -> dict[tuple[int, bool], Share]:
    """A line of JSON a case; nothing else, and no case missing."""
    found = {}
    for line in printed.splitlines():
        try:
            row = json.loads(line)
            case = int(row["stations"]), bool(row["rts"])
            found[case] = Share(float(row["frames_per_s"]), float(row["collisions"]))
        except (ValueError, KeyError, TypeError) as error:
            raise HoplabError(
                f"the engine's example {ENGINE_EXAMPLE}: {line!r}: {error}"
            ) from error
    for n, rts in itertools.product(ENGINE_STATIONS, (False, True)):
        if (n, rts) not in found:
            raise HoplabError(
                f"the engine's example {ENGINE_EXAMPLE} prints no figures of {n} stations, RTS "
                f"{'on' if rts else 'off'}"
            )
    return found


def draw(runs: dict[str, dict[tuple[int, bool], list[Share]]]) -> str:
    """Frames a second and collisions by number of stations, kernel and engine beside the model."""
    panels = []
    for rts in (False, True):
        access = "RTS" if rts else "basic access"
        rates = plot.Panel(f"{access}: frames/s", (0.0, 50.0), (90.0, 150.0))
        collisions = plot.Panel(f"{access}: share of tries that collide", (0.0, 50.0), (0.0, 0.6))
        model = [(n, bianchi(n, rts)) for n in range(1, 51)]
        rates.add("model", [(n, one.frames_per_s) for n, one in model])
        collisions.add("model", [(n, one.collisions) for n, one in model])
        for kind, found in reversed(runs.items()):
            points = [(n, shares) for (n, with_rts), shares in found.items() if with_rts == rts]
            rates.add(kind, [(n, fmean(s.frames_per_s for s in shares)) for n, shares in points])
            collisions.add(kind, [(n, fmean(s.collisions for s in shares)) for n, shares in points])
        panels += [rates, collisions]
    title = "Saturated stations at 2 Mbit/s, 1536 octets, beside Bianchi 2000"
    return plot.svg(panels, "stations", "", title)


if __name__ == "__main__":
    found = {"kernel": kernel(), "engine": engine()}
    Path(sys.argv[1]).write_text(draw(found), encoding="utf-8")
