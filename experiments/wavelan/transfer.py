# SPDX-License-Identifier: Apache-2.0
"""What a transfer came to: its rate, its packets, where those went that were lost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hoplab.many.study.swept import Run

HOSTS = {
    1: ("fast ISA", "slow ISA"),
    2: ("fast ISA", "slow PCMCIA"),
    3: ("fast ISA", "slow ISA"),
    4: ("fast ISA", "slow PCMCIA"),
    5: ("slow ISA", "slow PCMCIA"),
    6: ("fast ISA", "slow PCMCIA"),
}
"""Hosts a and b by scenario."""
PLACES = {1: "adjacent", 2: "adjacent", 3: "12 m", 4: "12 m", 5: "12 m", 6: "17 m"}

NO_FRAMES = dict.fromkeys(("frames", "delivered", "deaf", "collided"), 0)


def hosts(scenario: int, sender: str) -> str:
    """Who sends to whom; a card is of ISA unless it is named."""
    a, b = (name.removesuffix(" ISA") for name in HOSTS[scenario])
    return f"{a} → {b}" if sender == "a" else f"{b} → {a}"


@dataclass(frozen=True)
class Transfer:
    """A transfer of counted packets.

    Counts of frames are of all that a host sends, ARP's too. ``sent`` and ``arrived`` are
    packets with payload.
    """

    kbps: float
    """Payload over the time from the first packet's departure to the last one's arrival."""
    sent: int
    """TCP's retransmissions too."""
    arrived: int
    never_left: int
    """No room in the sender's interface queue: the card's transmit buffer was taken."""
    collided: int
    """On the air while the receiver itself was sending: nobody learns of it."""
    noise: int
    overrun: int
    """Received by the card, and no room in its buffer: the host was not done with those before."""
    back_sent: int
    """Frames the other way: acknowledgements."""
    back_arrived: int
    back_collided: int
    timeouts: int

    @property
    def loss(self) -> float:
        """Share of the packets that were lost."""
        return 1 - self.arrived / self.sent


def transfer(run: Run) -> Transfer:
    flow = run.rows("flows")[0]
    packets = run.rows("packets")
    arrived = [packet for packet in packets if packet["received_s"] is not None]
    began_s = min(packet["sent_s"] for packet in packets)
    ended_s = max(packet["received_s"] for packet in arrived)
    radios = {row["node"]: row for row in run.rows("radios")}
    links = {(row["src"], row["dst"]): row for row in run.rows("links")}
    # A radio that acknowledges nothing, and a receiver of datagrams, may send nothing back.
    there, back = links[flow["src"], flow["dst"]], links.get((flow["dst"], flow["src"]), NO_FRAMES)
    return Transfer(
        kbps=8e-3 * flow["delivered_bytes"] / (ended_s - began_s),
        sent=len(packets),
        arrived=len(arrived),
        never_left=radios[flow["src"]]["queue_full"],
        collided=_collided(there),
        noise=there["weak"],
        overrun=radios[flow["dst"]]["rx_overrun"],
        back_sent=back["frames"],
        back_arrived=back["delivered"],
        back_collided=_collided(back),
        timeouts=flow["timeouts"] or 0,
    )


def _collided(link: Mapping[str, Any]) -> int:
    return int(link["deaf"] + link["collided"])


@dataclass(frozen=True)
class Levels:
    """A histogram of levels in bins of 1 dB: frames by the bin's lower edge in dBm."""

    frames: Mapping[int, int]

    @property
    def mean_dbm(self) -> float:
        return sum((dbm + 0.5) * n for dbm, n in self.frames.items()) / sum(self.frames.values())

    @property
    def deviation_db(self) -> float:
        mean, whole = self.mean_dbm, sum(self.frames.values())
        return math.sqrt(sum((dbm + 0.5 - mean) ** 2 * n for dbm, n in self.frames.items()) / whole)

    @property
    def percent(self) -> dict[int, float]:
        """Share of the frames in each bin, empty ones between others too."""
        whole = sum(self.frames.values())
        edges = range(min(self.frames) - 1, max(self.frames) + 2)
        return {dbm: 100 * self.frames.get(dbm, 0) / whole for dbm in edges}


def levels(runs: Iterable[Run], receiver: str, quantity: str) -> Levels:
    """What the card of ``receiver`` reported of "signal" or "noise", over all of ``runs``."""
    frames: Counter[int] = Counter()
    for run in runs:
        for row in run.rows("signals"):
            if row["dst"] == receiver and row["quantity"] == quantity:
                frames[row["dbm"]] += row["frames"]
    return Levels(frames)
