# SPDX-License-Identifier: Apache-2.0
"""A-MPDUs under errors, through the kernel, against a simulation of the window alone.

Each frame is lost by itself. What is missing goes again first, and the window ends 64 frames after
the first one missing (IEEE 802.11-2020 10.25), so A-MPDUs shrink.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import WINDOW, Case, received, scenario
from tests.validate.runs import measure_seeds
from tests.validate.saturation import BEST_EFFORT
from tests.validate.throughput import SCHEMES

LOSSES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3)
SEEDS = (1, 2, 3, 4, 5, 6)
PAYLOAD = 1472
EXCHANGES = 40_000
CASE = Case("VHT-80-MCS-9", SCHEMES["VHT-80-MCS-9"], 0, False)


def alone_mbps(loss: float) -> float:
    """Payload of a saturated sender whose frames are lost with probability ``loss``."""
    draw = random.Random(7)
    window = WINDOW[CASE.scheme.kind]
    largest = CASE.most_frames(PAYLOAD, math.inf)
    missing: list[int] = []
    following, done, spent_us = 0, 0, 0.0
    for _ in range(EXCHANGES):
        end = (missing[0] if missing else following) + window
        while len(missing) < largest and following < end:
            missing.append(following)
            following += 1
        sent = missing[:largest]
        lost = [frame for frame in sent if draw.random() < loss]
        missing = lost + missing[largest:]
        done += len(sent) - len(lost)
        spent_us += BEST_EFFORT.backoff_us + CASE.exchange_us(len(sent), PAYLOAD)
    return 8 * PAYLOAD * done / spent_us


def lossy(loss: float) -> dict[str, Any]:
    """`wifi/aggregation`'s scenario with a loss, and tries enough that nothing is given up."""
    document = scenario(CASE)
    radio = {**document["radio"], "retry_short": 100, "retry_long": 100}
    return {**document, "radio": radio, "loss": [{"kind": "uniform", "rate": loss}]}


def items() -> Iterator[Figure]:
    """Six figures in Mbit/s of payload, within 2 %."""
    found = measure_seeds([lossy(loss) for loss in LOSSES], SEEDS, received)
    for loss, draws in zip(LOSSES, found, strict=True):
        mbps = [draw[f"a{PAYLOAD}-b{PAYLOAD}"] for draw in draws]
        yield figure(f"wifi/window/loss-{loss:g}_Mbps", mbps, alone_mbps(loss), 0.02)
