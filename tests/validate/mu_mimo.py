# SPDX-License-Identifier: Apache-2.0
"""An access point that serves stations by streams of their own (MU-MIMO), against the times of one
exchange.

Each station has a stream on the whole channel, and a saturated queue. Again and again a sounding
goes before: an announcement, a null data packet, and reports. Those come one after the other
(802.11ac) or at once (802.11ax). The other way round, a trigger asks all stations for their frames.

The formula is that of `tests.validate.ofdma` with other preambles, and less soundings (IEEE
802.11-2020 21.3.8, 10.36.5.2, 802.11ax-2021 27.3.11, 26.7.3). All goes through the kernel, and what
beacons take of the channel is measured and taken off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.many.study.figures import Figure
from tests.validate.aggregation import (
    BLOCK_ACK_BYTES,
    LONGEST_PPDU_US,
    SPACING_US,
    WINDOW,
)
from tests.validate.ofdma import (
    ANSWER_SYMBOL_US,
    BLOCK_ACK_REQUEST_BYTES,
    BLOCK_ACK_TO_ALL_BYTES,
    BLOCK_ACK_USER_BYTES,
    MU_BAR_BYTES,
    MU_BAR_USER_BYTES,
    PAYLOAD,
    SIG_B_SYMBOL_BITS,
    SOCKETS,
    TRIGGER_USER_BYTES,
    figures,
)
from tests.validate.saturation import (
    BEST_EFFORT,
    DELIMITER_BYTES,
    HEADERS_BYTES,
    QOS_BYTES,
)

WIDTH_MHZ = 20
TONES = {"VHT": 52, "HE": 234, "EHT": 234}
"""Data tones of 20 MHz; 64-QAM 5/6 puts 5 data bits on each, 16-QAM 1/2 two."""
UNIT_TONES = {2: 102, 3: 48, 4: 48, 8: 24}
"""Data tones of the largest resource units of which 20 MHz have so many."""
SYMBOL_US = {"VHT": 3.2 + 0.8, "HE": 12.8 + 0.8, "EHT": 12.8 + 0.8}
TRAINING_US = {"VHT": 4.0, "HE": 6.4 + 0.8, "EHT": 6.4 + 0.8}
TRAININGS = {1: 1, 2: 2, 3: 4, 4: 4, 8: 8}
"""Long training fields by streams (table 21-13, 802.11ax-2021 27.3.11.10)."""
ANNOUNCEMENT_BYTES, ANNOUNCED_USER_BYTES = 21, {"VHT": 2, "HE": 4, "EHT": 4}
REPORT_POLL_BYTES = 21
REPORT_BYTES = {
    ("VHT", 4): 33 + 313 + 15,
    ("HE", 4): 35 + 385 + 32,
    ("HE", 8): 35 + 897 + 32,
    ("EHT", 4): 35 + 385 + 32,
}
"""By antennas. MAC header, category, action, MIMO control and FCS come first. Then there are 16
bits for each pair of angles on 52 tones or 64, and 8 bits. Four antennas have 3 pairs, eight 7. At
the end are 4 bits on 30 tones or 64."""
PACKET_EXTENSION_US = 4
EHT_SIG_SYMBOL_BITS = 104
"""At its MCS 3."""
SPECIAL_USER_BYTES = 5
"""Of a trigger for EHT."""
SOUNDING_MS = 20


@dataclass(frozen=True)
class Case:
    """So many stations of MCS 7 on 20 MHz, all of them together."""

    kind: str
    stations: int
    ack: str
    uplink: bool = False
    sockets: int = SOCKETS

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.stations}/{'triggered' if self.uplink else self.ack}"

    @property
    def antennas(self) -> int:
        return max(4, self.stations)

    @property
    def radio(self) -> dict[str, Any]:
        return {
            "profile": {"VHT": "80211ac", "HE": "80211ax", "EHT": "80211be"}[self.kind],
            "width_mhz": WIDTH_MHZ,
            "streams": 1,
            "guard_ns": 800,
            "mu_mimo": "round-robin",
            "mu_mimo_ack": self.ack,
            "mu_mimo_antennas": self.antennas,
            "mu_mimo_uplink": self.uplink,
            "sounding_interval_ms": SOUNDING_MS,
        }

    @property
    def symbol_bits(self) -> int:
        return 5 * TONES[self.kind]

    @property
    def block_ack_bytes(self) -> int:
        return BLOCK_ACK_BYTES + WINDOW[self.kind] // 8

    def ppdu_us(self, psdu_bytes: int, users: int) -> float:
        """Preamble, HE-SIG-B, a training field for each stream, symbols."""
        tails = 6 if self.kind == "VHT" else 0
        symbols = math.ceil((8 * psdu_bytes + 16 + tails) / self.symbol_bits)
        preamble_us = 36 + 4 * self.signals(users)
        training_us = TRAINING_US[self.kind] * TRAININGS[users]
        return preamble_us + training_us + SYMBOL_US[self.kind] * symbols

    def signals(self, users: int) -> int:
        """Symbols of HE-SIG-B or EHT-SIG. The latter has two at its MCS 0 for a lone user."""
        if self.kind == "EHT":
            further = 27 * (users - 1) + 5 * ((users - 1) % 2)
            return math.ceil((52 + further) / EHT_SIG_SYMBOL_BITS) if users > 1 else 2
        bits = 26 * users + 5 * (users % 2) if self.kind == "HE" and users > 1 else 0
        return math.ceil(bits / SIG_B_SYMBOL_BITS)

    @property
    def trigger_bytes(self) -> int:
        return MU_BAR_BYTES + (SPECIAL_USER_BYTES if self.kind == "EHT" else 0)

    def psdu_bytes(self, frames: int) -> int:
        frame = PAYLOAD + HEADERS_BYTES + QOS_BYTES
        symbol_us = ANSWER_SYMBOL_US if self.uplink else SYMBOL_US[self.kind]
        spacing = math.ceil(SPACING_US * self.symbol_bits / symbol_us / 8)
        padded = 4 * math.ceil(max(DELIMITER_BYTES + frame, spacing) / 4)
        return (frames - 1) * padded + DELIMITER_BYTES + frame

    def triggered_us(self, size: int, bits: int, streams: int = 1) -> float:
        """A PPDU that a trigger asks for."""
        symbols = math.ceil((8 * (DELIMITER_BYTES + size) + 16) / bits)
        return 40 + 8 * TRAININGS[streams] + ANSWER_SYMBOL_US * symbols

    @property
    def answered_us(self) -> float:
        """From the end of the data to that of the last BlockAck."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        one_us = sifs + control_us(self.block_ack_bytes)
        if self.stations == 1 or self.ack == "sequential":
            request_us = sifs + control_us(BLOCK_ACK_REQUEST_BYTES)
            return one_us + (self.stations - 1) * (request_us + one_us)
        trigger_us = control_us(self.trigger_bytes + MU_BAR_USER_BYTES * self.stations)
        answer_us = self.triggered_us(self.block_ack_bytes, 2 * UNIT_TONES[self.stations])
        return sifs + trigger_us + sifs + answer_us

    @property
    def sounding_us(self) -> float:
        """With the access before it; none of a lone station."""
        if self.stations == 1:
            return 0
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        size = REPORT_BYTES[self.kind, self.antennas]
        users = ANNOUNCED_USER_BYTES[self.kind] * self.stations
        # EHT-SIG has one symbol.
        signal_us = 4 if self.kind == "EHT" else 0
        packet_us = sifs + 36 + signal_us + TRAINING_US[self.kind] * TRAININGS[self.antennas]
        announced_us = control_us(ANNOUNCEMENT_BYTES + users)
        begun_us = BEST_EFFORT.backoff_us + announced_us + packet_us
        if self.kind == "VHT":
            report_us = sifs + self.ppdu_us(DELIMITER_BYTES + size, users=1)
            poll_us = sifs + control_us(REPORT_POLL_BYTES)
            return begun_us + self.stations * report_us + (self.stations - 1) * poll_us
        trigger_us = control_us(self.trigger_bytes + TRIGGER_USER_BYTES * self.stations)
        report_us = self.triggered_us(size, 5 * UNIT_TONES[self.stations])
        return begun_us + PACKET_EXTENSION_US + sifs + trigger_us + sifs + report_us

    def triggered(self) -> tuple[int, float]:
        """Frames of each station, and the exchange's time. Its PPDU is the longest there is."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        trained_us = 40 + 8 * TRAININGS[self.stations]
        symbols = math.floor((LONGEST_PPDU_US - trained_us) / ANSWER_SYMBOL_US)
        bits = symbols * self.symbol_bits
        counts = range(1, WINDOW[self.kind] + 1)
        frames = [n for n in counts if 8 * self.psdu_bytes(n) + 16 <= bits][-1]
        trigger_us = control_us(self.trigger_bytes + TRIGGER_USER_BYTES * self.stations)
        user = BLOCK_ACK_USER_BYTES + WINDOW[self.kind] // 8
        answer_us = control_us(BLOCK_ACK_TO_ALL_BYTES + user * self.stations)
        lasts_us = trained_us + ANSWER_SYMBOL_US * symbols
        return frames, trigger_us + sifs + lasts_us + sifs + answer_us

    def maximum_mbps(self) -> float:
        """Of all stations together, of payload."""
        if self.uplink:
            frames, lasts_us = self.triggered()
            free = 1.0
        else:
            counts = range(1, WINDOW[self.kind] + 1)
            lasts = [self.ppdu_us(self.psdu_bytes(n), self.stations) for n in counts]
            frames = len([us for us in lasts if us <= LONGEST_PPDU_US])
            lasts_us = lasts[frames - 1] + self.answered_us
            free = 1 - self.sounding_us / (1000 * SOUNDING_MS)
        bits = 8 * PAYLOAD * frames * self.stations
        return free * bits / (BEST_EFFORT.backoff_us + lasts_us)


def cases() -> list[Case]:
    return [
        *(Case("VHT", n, "sequential") for n in (1, 2, 3, 4)),
        *(Case("HE", n, "mu-bar") for n in (1, 2, 3, 4, 8)),
        Case("HE", 4, "sequential"),
        *(Case("EHT", n, "mu-bar") for n in (2, 4)),
        *(Case("HE", n, "mu-bar", uplink=True) for n in (2, 4, 8)),
        Case("EHT", 4, "mu-bar", uplink=True),
    ]


def items() -> Iterator[Figure]:
    return figures("wifi/mu-mimo", cases())
