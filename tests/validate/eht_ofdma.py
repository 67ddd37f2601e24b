# SPDX-License-Identifier: Apache-2.0
"""An access point of 802.11be that serves stations together, against the times of one exchange.

As `tests.validate.ofdma`, with EHT's units, EHT-SIG, windows of 1024 frames and triggers with a
special user field (IEEE 802.11be-2024 9.3.1.22.3, 36.3.2, 36.3.12.8). Units of 242 tones and more
have 4096-QAM 5/6, smaller ones 1024-QAM 5/6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import BLOCK_ACK_BYTES, LONGEST_PPDU_US, SPACING_US, WINDOW
from tests.validate.high_efficiency import CCMP_BYTES, STARTED_S, received
from tests.validate.ofdma import (
    ANSWER_SYMBOL_US,
    BLOCK_ACK_TO_ALL_BYTES,
    BLOCK_ACK_USER_BYTES,
    MU_BAR_USER_BYTES,
    PAYLOAD,
    SYMBOL_US,
    TRIGGER_USER_BYTES,
)
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    BEST_EFFORT,
    DELIMITER_BYTES,
    HEADERS_BYTES,
    QOS_BYTES,
    sender,
    station,
)

SEEDS = (1, 2, 3, 4, 5)
MEASURED_MBIT = {80: 1000, 320: 1500}
"""By width, so that an A-MPDU more or less does not matter."""
UPLINK_STARTED_S = 1.0
"""Until then stations contend, each until the access point knows of its queue."""
SOCKET_PACKETS = 80
"""What a socket holds at least."""
MOST_MBPS = 2800
"""A scenario sends at most 250,000 packets a second."""
TRIGGER_BYTES = 28 + 5
BITMAP_BYTES = WINDOW["EHT"] // 8
SIG_BITS = {80: 17 + 2 * 9 + 10, 320: 17 + 2 * 9 + 10 + 6 * 9 + 10}
"""Of EHT-SIG without users: overflow of U-SIG, and two blocks of allocations on 320 MHz."""
SIG_USER_BITS, SIG_PAIR_BITS, SIG_SYMBOL_BITS = 22, 10, 104
"""The last at its MCS 3."""
TONES = {
    80: {1: 980, 2: 468, 4: 234, 8: 102, 16: 48},
    320: {1: 3920, 2: 1960, 4: 980, 8: 468, 16: 234},
}
"""Data tones of the unit that each of so many stations has (table 36-19)."""
UPLINK = ((80, 2), (80, 8), (320, 4), (320, 8))


@dataclass(frozen=True)
class Case:
    """So many stations on one channel, all of them together."""

    width_mhz: int
    stations: int
    uplink: bool = False

    @property
    def name(self) -> str:
        return f"{self.width_mhz}/{self.stations}/{'triggered' if self.uplink else 'mu-bar'}"

    @property
    def tones(self) -> int:
        return TONES[self.width_mhz][self.stations]

    @property
    def symbol_bits(self) -> int:
        return 10 * self.tones if self.tones >= 234 else 10 * self.tones * 5 // 6

    @property
    def is_secured(self) -> bool:
        """320 MHz are at 6 GHz alone, with WPA3."""
        return self.width_mhz == 320

    @property
    def started_s(self) -> float:
        return UPLINK_STARTED_S if self.uplink else STARTED_S

    def psdu_bytes(self, frames: int) -> int:
        secured = CCMP_BYTES if self.is_secured else 0
        frame = PAYLOAD + HEADERS_BYTES + QOS_BYTES + secured
        symbol_us = ANSWER_SYMBOL_US if self.uplink else SYMBOL_US
        spacing = math.ceil(SPACING_US * self.symbol_bits / symbol_us / 8)
        padded = 4 * math.ceil(max(DELIMITER_BYTES + frame, spacing) / 4)
        return (frames - 1) * padded + DELIMITER_BYTES + frame

    def ppdu_us(self, frames: int) -> float:
        """Preamble, EHT-SIG of half of the users each, or of the only one, an EHT-LTF, symbols."""
        sig_us = 8.0
        if self.stations > 1:
            users = math.ceil(self.stations / 2)
            bits = SIG_BITS[self.width_mhz] + SIG_USER_BITS * users
            bits += SIG_PAIR_BITS * math.ceil(users / 2)
            sig_us = 4 * math.ceil(bits / SIG_SYMBOL_BITS)
        symbols = math.ceil((8 * self.psdu_bytes(frames) + 16) / self.symbol_bits)
        return 36 + sig_us + 7.2 + SYMBOL_US * symbols

    @property
    def answered_us(self) -> float:
        """From the end of the data to that of the BlockAcks, at MCS 3 (16-QAM 1/2)."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        size = BLOCK_ACK_BYTES + BITMAP_BYTES
        if self.stations == 1:
            return sifs + control_us(size)
        trigger_us = control_us(TRIGGER_BYTES + MU_BAR_USER_BYTES * self.stations)
        symbols = math.ceil((8 * (DELIMITER_BYTES + size) + 16) / (2 * self.tones))
        return sifs + trigger_us + sifs + 40 + 8 + ANSWER_SYMBOL_US * symbols

    def triggered(self) -> tuple[int, float]:
        """Frames of each station, and the exchange's time. Its PPDU is the longest there is."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        symbols = math.floor((LONGEST_PPDU_US - 48) / ANSWER_SYMBOL_US)
        bits = symbols * self.symbol_bits
        counts = range(1, WINDOW["EHT"] + 1)
        frames = [n for n in counts if 8 * self.psdu_bytes(n) + 16 <= bits][-1]
        trigger_us = control_us(TRIGGER_BYTES + TRIGGER_USER_BYTES * self.stations)
        user = BLOCK_ACK_USER_BYTES + BITMAP_BYTES
        answer_us = control_us(BLOCK_ACK_TO_ALL_BYTES + user * self.stations)
        return frames, trigger_us + sifs + 48 + ANSWER_SYMBOL_US * symbols + sifs + answer_us

    def exchange(self) -> tuple[int, float]:
        """Frames of each station, and the time from the first PPDU to the last answer."""
        if self.uplink:
            return self.triggered()
        counts = range(1, WINDOW["EHT"] + 1)
        frames = [n for n in counts if self.ppdu_us(n) <= LONGEST_PPDU_US][-1]
        return frames, self.ppdu_us(frames) + self.answered_us

    def maximum_mbps(self) -> float:
        """Of all stations together, of payload."""
        frames, lasts_us = self.exchange()
        bits = 8 * PAYLOAD * frames * self.stations
        return bits / (BEST_EFFORT.backoff_us + lasts_us)


def cases() -> list[Case]:
    down = [Case(width, stations) for width, tones in TONES.items() for stations in tones]
    return down + [Case(width, stations, uplink=True) for width, stations in UPLINK]


def scenario(case: Case) -> dict[str, Any]:
    measured_s = MEASURED_MBIT[case.width_mhz] / case.maximum_mbps()
    clients = [f"n{i}" for i in range(case.stations)]
    # Behind what goes together, as much more must wait.
    sockets = 1 + math.ceil(2 * case.exchange()[0] / SOCKET_PACKETS)
    load = 4 if case.uplink else 1.1
    whole = min(load * case.maximum_mbps(), MOST_MBPS)
    mbps = whole / case.stations / sockets
    ends = [(client, "ap") if case.uplink else ("ap", client) for client in clients]
    flows = [
        {**sender(*pair, PAYLOAD, mbps), "name": f"{pair[0]}-{pair[1]}-{socket}"}
        for pair in ends
        for socket in range(sockets)
    ]
    band = {"band_ghz": 6} if case.is_secured else {}
    security = {"security": "wpa3"} if case.is_secured else {}
    # At first all stations contend, as in `tests.validate.ofdma`.
    eager = {"edca_ap": {"best_effort": {"cw_max": 63}}} if case.uplink else {}
    return {
        "title": f"{case.stations} stations of 802.11be together on {case.width_mhz} MHz",
        "duration_s": round(case.started_s + measured_s, 1),
        "station": [
            station("ap", 0.0),
            *(station(client, 20.0, float(i)) for i, client in enumerate(clients)),
        ],
        "cell": [{"access_point": "ap", "clients": clients, **security, **eager}],
        "radio": {
            **band,
            "profile": "80211be",
            "width_mhz": case.width_mhz,
            "mcs": 13,
            "guard_ns": 800,
            "queue_packets": 10_000,
            "ofdma": "round-robin",
            "ofdma_uplink": case.uplink,
            # A station alone sends all that its sockets hold. By a poll it is asked nevertheless.
            "ofdma_bsrp_ms": 5 if case.uplink else 0,
        },
        "flow": flows,
        "measure": {"packets": True},
    }


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each case, within 1 %."""
    for uplink, started_s in ((False, STARTED_S), (True, UPLINK_STARTED_S)):
        own = [case for case in cases() if case.uplink == uplink]
        read = partial(received, started_s=started_s)
        found = measure_seeds([scenario(case) for case in own], SEEDS, read)
        for case, draws in zip(own, found, strict=True):
            free = 1 - sum(share for _, share in draws) / len(draws)
            expected = free * case.maximum_mbps()
            mbps = [mbps for mbps, _ in draws]
            yield figure(f"wifi/eht-ofdma/{case.name}_Mbps", mbps, expected, 0.01)
