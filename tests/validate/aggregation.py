# SPDX-License-Identifier: Apache-2.0
"""One saturated sender of A-MPDUs against the formula, through the kernel.

A TXOP holds as many exchanges as fit. An exchange holds as many frames as window, A-MPDU length,
PPDU time and TXOP allow (IEEE 802.11-2020 10.12, 10.23.2.9; Ginzburg, Kesselman 2007). The payloads
run at once, in pairs of stations out of each other's reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.many.study.figures import Figure, figure
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    ACK_BYTES,
    CTS_BYTES,
    DELIMITER_BYTES,
    HEADERS_BYTES,
    QOS_BYTES,
    RTS_BYTES,
    Scheme,
    received_mbps,
    sender,
    station,
)
from tests.validate.throughput import APART_M, SCHEMES, SEEDS

PAYLOADS = (500, 1472)
NAMES = ("HT-20-MCS-7", "HT-40-MCS-15-short", "VHT-80-MCS-9")
TXOP_US = (0, 3008)
BLOCK_ACK_BYTES = 24
"""But its bitmap, an octet for eight frames of the window."""
WINDOW = {"HT": 64, "VHT": 64, "HE": 256, "EHT": 1024}
LONGEST_PPDU_US = 5484
SPACING_US = 8
"""From the start of a frame to that of the next, as mac80211_hwsim's radios ask for it."""
MOST_OCTETS = {"HT": 65_535, "VHT": 1_048_575, "HE": 6_500_631, "EHT": 15_523_198}
"""Of an A-MPDU."""
STARTED_S, DURATION_S = 0.7, 1.7


@dataclass(frozen=True)
class Case:
    """A rate, and how its sender goes about the channel."""

    name: str
    scheme: Scheme
    txop_us: float
    rts: bool

    def psdu_bytes(self, frames: int, payload: int) -> int:
        """Delimiters, frames, padding to words and to the spacing between starts of frames."""
        frame = payload + HEADERS_BYTES + QOS_BYTES
        if frames == 1:
            return frame + (0 if self.scheme.kind == "HT" else DELIMITER_BYTES)
        spacing = math.ceil(SPACING_US * self.scheme.mbps / 8)
        padded = 4 * math.ceil(max(DELIMITER_BYTES + frame, spacing) / 4)
        return (frames - 1) * padded + DELIMITER_BYTES + frame

    def exchange_us(self, frames: int, payload: int) -> float:
        sifs, control_us = self.scheme.timing.sifs_us, self.scheme.timing.control_us
        block_ack = BLOCK_ACK_BYTES + WINDOW[self.scheme.kind] // 8
        answer = ACK_BYTES if frames == 1 else block_ack
        data_us = self.scheme.psdu_us(self.psdu_bytes(frames, payload))
        protection = control_us(RTS_BYTES) + control_us(CTS_BYTES) + 2 * sifs if self.rts else 0
        return protection + data_us + sifs + control_us(answer)

    def most_frames(self, payload: int, left_us: float) -> int:
        """In an A-MPDU whose exchange ends within ``left_us``; 0 where not even one does."""
        fitting = 0
        for frames in range(1, WINDOW[self.scheme.kind] + 1):
            psdu = self.psdu_bytes(frames, payload)
            if psdu > MOST_OCTETS[self.scheme.kind]:
                break
            if self.scheme.psdu_us(psdu) > LONGEST_PPDU_US:
                break
            if self.exchange_us(frames, payload) > left_us:
                break
            fitting = frames
        return fitting

    def maximum_mbps(self, payload: int) -> float:
        frames = max(1, self.most_frames(payload, self.txop_us or math.inf))
        sent, spent_us = frames, self.exchange_us(frames, payload)
        timing = self.scheme.timing
        while True:
            left_us = self.txop_us - spent_us - timing.sifs_us
            frames = self.most_frames(payload, left_us)
            if not frames:
                break
            sent += frames
            spent_us += timing.sifs_us + self.exchange_us(frames, payload)
        return sent * payload * 8 / (timing.backoff_us + spent_us)


def cases() -> list[Case]:
    return [
        Case(name, SCHEMES[name], txop_us, rts)
        for name in NAMES
        for txop_us in TXOP_US
        for rts in (False, True)
    ]


def scenario(case: Case) -> dict[str, Any]:
    return {
        "title": f"{case.name}, TXOP {case.txop_us:g} us, RTS {'on' if case.rts else 'off'}",
        "duration_s": DURATION_S,
        "station": [
            station(f"{end}{payload}", i * APART_M + (50.0 if end == "b" else 0.0))
            for i, payload in enumerate(PAYLOADS)
            for end in "ab"
        ],
        "radio": {
            **case.scheme.radio,
            "rts_threshold": 0 if case.rts else 2347,
            "edca": {"best_effort": {"txop_us": case.txop_us}},
        },
        "flow": [
            sender(f"a{payload}", f"b{payload}", payload, 1.1 * case.maximum_mbps(payload))
            for payload in PAYLOADS
        ],
        "measure": {"packets": True},
    }


def received(results: Any) -> dict[str, float]:
    return received_mbps(results, STARTED_S)


def items() -> Iterator[Figure]:
    """24 figures in Mbit/s of payload, within 1 %."""
    found = measure_seeds([scenario(case) for case in cases()], SEEDS, received)
    for case, draws in zip(cases(), found, strict=True):
        options = f"txop-{case.txop_us:g}{'/rts' if case.rts else ''}"
        for payload in PAYLOADS:
            name = f"wifi/aggregation/{case.name}/{options}/{payload}-B_Mbps"
            mbps = [draw[f"a{payload}-b{payload}"] for draw in draws]
            yield figure(name, mbps, case.maximum_mbps(payload), 0.01)
