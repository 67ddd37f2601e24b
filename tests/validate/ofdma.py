# SPDX-License-Identifier: Apache-2.0
"""An access point that serves stations together (OFDMA), against the times of one exchange.

Each station has a resource unit of one PPDU, and a saturated queue. The formula is that of
`tests.validate.aggregation` with the PPDU and the acknowledgements of several users (IEEE
802.11ax-2021 9.3.1.22, 27.3.4, 27.3.11.8). All goes through the kernel, and what beacons take of
the channel is measured and taken off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import (
    BLOCK_ACK_BYTES,
    LONGEST_PPDU_US,
    SPACING_US,
    WINDOW,
)
from tests.validate.high_efficiency import SEEDS, STARTED_S, received
from tests.validate.runs import measure_seeds
from tests.validate.saturation import (
    BEST_EFFORT,
    DELIMITER_BYTES,
    HEADERS_BYTES,
    QOS_BYTES,
    sender,
    station,
)

PAYLOAD = 1472
MEASURED_MBIT = 300
ACKS = ("mu-bar", "sequential")
BLOCK_ACK_REQUEST_BYTES, MU_BAR_BYTES, MU_BAR_USER_BYTES = 24, 28, 9
SYMBOL_US, ANSWER_SYMBOL_US = 12.8 + 0.8, 12.8 + 1.6
WIDTH_MHZ = 80
SIG_B_COMMON_BITS = 2 * 8 + 1 + 4 + 6
"""Of 80 MHz: two allocations, the unit in the middle, CRC and tail."""
SIG_B_SYMBOL_BITS = 208
"""At its MCS 5."""
SOCKETS = 4
"""A socket holds some 90 packets by default, and a lone station's A-MPDU has 157."""


@dataclass(frozen=True)
class Case:
    """So many stations of MCS 7 on 80 MHz, all of them together."""

    stations: int
    tones: int
    """Data tones of a unit (table 27-15); 64-QAM 5/6 puts 5 data bits on each, 16-QAM 1/2 two."""
    ack: str

    @property
    def name(self) -> str:
        return f"{self.stations}/{self.ack}"

    @property
    def symbol_bits(self) -> int:
        return 5 * self.tones

    def ppdu_us(self, psdu_bytes: int) -> float:
        """Preamble, HE-SIG-B of half the users each, one HE-LTF, symbols."""
        users = math.ceil(self.stations / 2)
        bits = SIG_B_COMMON_BITS + 21 * users + 10 * math.ceil(users / 2)
        sig_b_us = 4 * math.ceil(bits / SIG_B_SYMBOL_BITS) if self.stations > 1 else 0
        symbols = math.ceil((8 * psdu_bytes + 16) / self.symbol_bits)
        return 36 + sig_b_us + 7.2 + SYMBOL_US * symbols

    def psdu_bytes(self, frames: int) -> int:
        frame = PAYLOAD + HEADERS_BYTES + QOS_BYTES
        spacing = math.ceil(SPACING_US * self.symbol_bits / SYMBOL_US / 8)
        padded = 4 * math.ceil(max(DELIMITER_BYTES + frame, spacing) / 4)
        return (frames - 1) * padded + DELIMITER_BYTES + frame

    @property
    def answered_us(self) -> float:
        """From the end of the data to that of the last BlockAck."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        size = BLOCK_ACK_BYTES + WINDOW["HE"] // 8
        one_us = sifs + control_us(size)
        if self.stations == 1:
            return one_us
        if self.ack == "sequential":
            request_us = sifs + control_us(BLOCK_ACK_REQUEST_BYTES)
            return one_us + (self.stations - 1) * (request_us + one_us)
        trigger_us = control_us(MU_BAR_BYTES + MU_BAR_USER_BYTES * self.stations)
        symbols = math.ceil((8 * (DELIMITER_BYTES + size) + 16) / (2 * self.tones))
        return sifs + trigger_us + sifs + 40 + 8 + ANSWER_SYMBOL_US * symbols

    def maximum_mbps(self) -> float:
        """Of all stations together, of payload."""
        counts = range(1, WINDOW["HE"] + 1)
        fitting = [n for n in counts if self.ppdu_us(self.psdu_bytes(n)) <= LONGEST_PPDU_US]
        frames = fitting[-1]
        lasts_us = self.ppdu_us(self.psdu_bytes(frames)) + self.answered_us
        bits = 8 * PAYLOAD * frames * self.stations
        return bits / (BEST_EFFORT.backoff_us + lasts_us)


def cases() -> list[Case]:
    tones = {1: 980, 2: 468, 4: 234, 8: 102, 16: 48}
    # A lone station is served as without OFDMA.
    return [Case(n, tones[n], ack) for n in tones for ack in (ACKS if n > 1 else ACKS[:1])]


def scenario(case: Case) -> dict[str, Any]:
    clients = [f"n{i}" for i in range(case.stations)]
    sockets = math.ceil(SOCKETS / case.stations)
    mbps = 1.1 * case.maximum_mbps() / case.stations / sockets
    flows = [
        {**sender("ap", client, PAYLOAD, mbps), "name": f"{client}-{socket}"}
        for client in clients
        for socket in range(sockets)
    ]
    return {
        "title": f"{case.stations} stations together, {case.ack}",
        "duration_s": round(STARTED_S + MEASURED_MBIT / case.maximum_mbps(), 1),
        "station": [
            station("ap", 0.0),
            *(station(client, 20.0, float(i)) for i, client in enumerate(clients)),
        ],
        "cell": [{"access_point": "ap", "clients": clients}],
        "radio": {
            "profile": "80211ax",
            "width_mhz": WIDTH_MHZ,
            "mcs": 7,
            "queue_packets": 10_000,
            "ofdma": "round-robin",
            "ofdma_ack": case.ack,
        },
        "flow": flows,
        "measure": {"packets": True},
    }


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each case, within 1 %."""
    found = measure_seeds([scenario(case) for case in cases()], SEEDS, received)
    for case, draws in zip(cases(), found, strict=True):
        free = 1 - sum(share for _, share in draws) / len(draws)
        mbps = [mbps for mbps, _ in draws]
        yield figure(f"wifi/ofdma/{case.name}_Mbps", mbps, free * case.maximum_mbps(), 0.01)
