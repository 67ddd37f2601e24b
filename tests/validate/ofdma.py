# SPDX-License-Identifier: Apache-2.0
"""An access point that serves stations together (OFDMA), against the times of one exchange.

Each station has a resource unit of one PPDU, and a saturated queue. The other way round, a trigger
asks all stations for their frames, and one BlockAck answers them. The formula is that of
`tests.validate.aggregation` with the PPDU and the acknowledgements of several users (IEEE
802.11ax-2021 9.3.1.22, 27.3.4, 27.3.11.8). All goes through the kernel, and what beacons take of
the channel is measured and taken off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

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
MEASURED_MBIT, MEASURED_S = 300, 0.9
"""What is to be received at least, and for how long. A PPDU more or less then does not matter."""
ACKS = ("mu-bar", "sequential")
BLOCK_ACK_REQUEST_BYTES, MU_BAR_BYTES, MU_BAR_USER_BYTES = 24, 28, 9
TRIGGER_USER_BYTES = 6
BLOCK_ACK_TO_ALL_BYTES, BLOCK_ACK_USER_BYTES = 22, 4
"""The latter but the bitmap."""
UPLINK_STARTED_S = 1.5
"""Until then stations contend, each until the access point knows of its queue."""
SYMBOL_US, ANSWER_SYMBOL_US = 12.8 + 0.8, 12.8 + 1.6
WIDTH_MHZ = 80
SIG_B_COMMON_BITS = 2 * 8 + 1 + 4 + 6
"""Of 80 MHz: two allocations, the unit in the middle, CRC and tail."""
SIG_B_SYMBOL_BITS = 208
"""At its MCS 5."""
SOCKETS = 4
"""A socket holds some 90 packets by default, and a lone station's A-MPDU has 157. Only what waits
behind that makes the access point ask."""


class Together(Protocol):
    """Stations that an access point serves together, or asks for their frames."""

    @property
    def name(self) -> str: ...
    @property
    def stations(self) -> int: ...
    @property
    def uplink(self) -> bool: ...
    @property
    def sockets(self) -> int:
        """Of each station."""

    @property
    def radio(self) -> dict[str, Any]: ...
    def maximum_mbps(self) -> float: ...


@dataclass(frozen=True)
class Case:
    """So many stations of MCS 7 on 80 MHz, all of them together."""

    stations: int
    tones: int
    """Data tones of a unit (table 27-15); 64-QAM 5/6 puts 5 data bits on each, 16-QAM 1/2 two."""
    ack: str
    uplink: bool = False

    @property
    def name(self) -> str:
        return f"{self.stations}/{'triggered' if self.uplink else self.ack}"

    @property
    def sockets(self) -> int:
        return SOCKETS if self.uplink else math.ceil(SOCKETS / self.stations)

    @property
    def radio(self) -> dict[str, Any]:
        return {
            "profile": "80211ax",
            "width_mhz": WIDTH_MHZ,
            "ofdma": "round-robin",
            "ofdma_ack": self.ack,
            "ofdma_uplink": self.uplink,
        }

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
        symbol_us = ANSWER_SYMBOL_US if self.uplink else SYMBOL_US
        spacing = math.ceil(SPACING_US * self.symbol_bits / symbol_us / 8)
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

    def triggered(self) -> tuple[int, float]:
        """Frames of each station, and the exchange's time. Its PPDU is the longest there is."""
        sifs, control_us = BEST_EFFORT.sifs_us, BEST_EFFORT.control_us
        symbols = math.floor((LONGEST_PPDU_US - 48) / ANSWER_SYMBOL_US)
        counts = range(1, WINDOW["HE"] + 1)
        bits = symbols * self.symbol_bits
        frames = [n for n in counts if 8 * self.psdu_bytes(n) + 16 <= bits][-1]
        trigger_us = control_us(MU_BAR_BYTES + TRIGGER_USER_BYTES * self.stations)
        user = BLOCK_ACK_USER_BYTES + WINDOW["HE"] // 8
        answer_us = control_us(BLOCK_ACK_TO_ALL_BYTES + user * self.stations)
        return frames, trigger_us + sifs + 48 + ANSWER_SYMBOL_US * symbols + sifs + answer_us

    def maximum_mbps(self) -> float:
        """Of all stations together, of payload."""
        if self.uplink:
            frames, lasts_us = self.triggered()
            bits = 8 * PAYLOAD * frames * self.stations
            return bits / (BEST_EFFORT.backoff_us + lasts_us)
        counts = range(1, WINDOW["HE"] + 1)
        fitting = [n for n in counts if self.ppdu_us(self.psdu_bytes(n)) <= LONGEST_PPDU_US]
        frames = fitting[-1]
        lasts_us = self.ppdu_us(self.psdu_bytes(frames)) + self.answered_us
        bits = 8 * PAYLOAD * frames * self.stations
        return bits / (BEST_EFFORT.backoff_us + lasts_us)


def cases() -> list[Case]:
    tones = {1: 980, 2: 468, 4: 234, 8: 102, 16: 48}
    # A lone station is served as without OFDMA.
    down = [Case(n, tones[n], ack) for n in tones for ack in (ACKS if n > 1 else ACKS[:1])]
    return down + [Case(n, tones[n], ACKS[0], uplink=True) for n in tones if n > 1]


def started_s(case: Together) -> float:
    return UPLINK_STARTED_S if case.uplink else STARTED_S


def _measured_s(case: Together) -> float:
    return max(MEASURED_S, MEASURED_MBIT / case.maximum_mbps())


def scenario(case: Together) -> dict[str, Any]:
    clients = [f"n{i}" for i in range(case.stations)]
    # A queue that is to be asked for has to be longer than an A-MPDU from the beginning.
    load = 4 if case.uplink else 1.1
    mbps = load * case.maximum_mbps() / case.stations / case.sockets
    ends = [(client, "ap") if case.uplink else ("ap", client) for client in clients]
    flows = [
        {**sender(*pair, PAYLOAD, mbps), "name": f"{pair[0]}-{pair[1]}-{socket}"}
        for pair in ends
        for socket in range(case.sockets)
    ]
    return {
        "title": f"stations together: {case.name}",
        "duration_s": round(started_s(case) + _measured_s(case), 1),
        "station": [
            station("ap", 0.0),
            *(station(client, 20.0, float(i)) for i, client in enumerate(clients)),
        ],
        "cell": [{"access_point": "ap", "clients": clients, **_eager(case)}],
        "radio": {**case.radio, "mcs": 7, "queue_packets": 10_000},
        "flow": flows,
        "measure": {"packets": True},
    }


def _eager(case: Together) -> dict[str, Any]:
    """An access point that backs off less after collisions, as hostapd's. At first all stations
    contend. Later there are no collisions, and this makes no difference."""
    eager = {"best_effort": {"cw_max": 63}}
    return {"edca_ap": eager} if case.uplink else {}


def items() -> Iterator[Figure]:
    return figures("wifi/ofdma", cases())


def figures(part: str, cases: Sequence[Together]) -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each case, within 1 %."""
    for uplink in (False, True):
        yield from _one_way(part, [case for case in cases if case.uplink == uplink])


def _one_way(part: str, cases: list[Together]) -> Iterator[Figure]:
    read = partial(received, started_s=started_s(cases[0]))
    found = measure_seeds([scenario(case) for case in cases], SEEDS, read)
    for case, draws in zip(cases, found, strict=True):
        free = 1 - sum(share for _, share in draws) / len(draws)
        mbps = [mbps for mbps, _ in draws]
        yield figure(f"{part}/{case.name}_Mbps", mbps, free * case.maximum_mbps(), 0.01)
