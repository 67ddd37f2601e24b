# SPDX-License-Identifier: Apache-2.0
"""Saturated stations of one and of two access categories in the engine, against their chains.

A category's station has Bianchi's chain (JSAC 18(3), 2000) with windows of its own. Classes meet in
the probability that a slot is busy, as in A. Banchs, L. Vollero, "Throughput analysis and optimal
configuration of 802.11e EDCA". (Computer Networks 50(11), 2006, with equal AIFS)
"""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoplab.many.study.figures import Figure, figure
from hoplab.model.errors import HoplabError
from hoplab.model.resources import PROJECT
from tests.validate.saturation import ACK_BYTES, OFDM, Scheme, air_us

EXAMPLE = "classes"
PACKET_BYTES = 1500
AROUND_BYTES = 8 + 26 + 4
"""LLC and SNAP, QoS header and FCS."""
AIFSN = 2
"""DIFS, for every class of the models."""
SECONDS = 400
SEEDS = (1, 2, 3, 4, 5)
RATE_MBPS = 54.0
BIANCHI_STATIONS = (5, 10, 20, 50)
HE_MCS_11, HE_MCS_0 = 143.4, 8.6
"""One stream on 20 MHz with a guard interval of 0.8 us, in Mbit/s."""
HE = {HE_MCS_11: (11, 1950), HE_MCS_0: (0, 117)}
"""MCS and data bits of a symbol."""
BIANCHI_MBPS = (54.0, 6.0, HE_MCS_11, HE_MCS_0)
CONTROL_MBPS = {54.0: 24.0, 6.0: 6.0, HE_MCS_11: 24.0, HE_MCS_0: 6.0}
"""Of an ACK: the fastest mandatory rate up to the data's (IEEE 802.11-2020 10.6.6.5)."""


@dataclass(frozen=True)
class Class:
    """Stations that contend alike."""

    stations: int
    cw_min: int
    cw_max: int
    aifsn: int = AIFSN
    txop_us: int = 0
    """0: a frame a turn."""
    beside: bool = False
    """At the stations of the class before, which has priority: both collide within a station."""

    @property
    def stages(self) -> int:
        """How often the window doubles."""
        return round(math.log2((self.cw_max + 1) / (self.cw_min + 1)))

    def tau(self, p: float) -> float:
        """Probability that a station sends in a slot, where each of its tries collides with
        probability ``p`` (Bianchi's equation 7, as a sum)."""
        window = self.cw_min + 1
        doubled = sum((2 * p) ** stage for stage in range(self.stages))
        return 2 / (1 + window + p * window * doubled)

    def word(self) -> str:
        """As the engine's example and ns-3's program take it."""
        stations = 0 if self.beside else self.stations
        return f"{stations}:{self.aifsn}:{self.cw_min}:{self.cw_max}:{self.txop_us}"


MIXES = {
    "5x15-1023+5x31-1023": (Class(5, 15, 1023), Class(5, 31, 1023)),
    "5x7-15+5x15-1023": (Class(5, 7, 15), Class(5, 15, 1023)),
    "2x7-15+10x15-1023": (Class(2, 7, 15), Class(10, 15, 1023)),
    "10x15-1023+10x63-1023": (Class(10, 15, 1023), Class(10, 63, 1023)),
}


VOICE = (
    Class(2, 3, 7),
    Class(2, 15, 1023, aifsn=3, beside=True),
    Class(2, 15, 1023, aifsn=7, beside=True),
)
"""Two stations with voice, best effort and background each, by the standard's windows."""
VOICE_TRIES = 7
VOICE_LIMITS = (0.03, 0.03, 0.15)
"""Background sends once a second."""


@dataclass(frozen=True)
class Share:
    """Of a class: frames a second of all its stations, and the share of tries that collide."""

    frames_per_s: float
    collisions: float


def data_us(rate_mbps: float, packet_bytes: int = PACKET_BYTES) -> float:
    """A frame on the air; of HE with its delimiter."""
    frame_bytes = packet_bytes + AROUND_BYTES
    if rate_mbps not in HE:
        return air_us(frame_bytes, rate_mbps)
    _, symbol_bits = HE[rate_mbps]
    scheme = Scheme({"profile": "80211ax", "guard_ns": 800}, symbol_bits, training_fields=1)
    return scheme.air_us(frame_bytes)


def exchange_us(rate_mbps: float, packet_bytes: int = PACKET_BYTES) -> float:
    """A frame and its acknowledgement."""
    answer_us = OFDM.sifs_us + air_us(ACK_BYTES, CONTROL_MBPS[rate_mbps])
    return data_us(rate_mbps, packet_bytes) + answer_us


def success_us(rate_mbps: float) -> float:
    """A frame, its acknowledgement and the space before the next."""
    return exchange_us(rate_mbps) + OFDM.difs_us


def collision_us(rate_mbps: float, packet_bytes: int = PACKET_BYTES) -> float:
    """Frames that collide, and EIFS, whose ACK is at the lowest rate."""
    answer_us = OFDM.sifs_us + air_us(ACK_BYTES, 6.0)
    return data_us(rate_mbps, packet_bytes) + answer_us + OFDM.difs_us


def txop_frames(txop_us: int, one_us: float) -> int:
    """Exchanges of ``one_us`` with SIFS between them in a TXOP; one without a limit."""
    return max(1, int((txop_us + OFDM.sifs_us) / (one_us + OFDM.sifs_us)))


def model(classes: Sequence[Class], rate_mbps: float) -> list[Share]:
    """The fixed point of the classes' chains, damped, and throughput by Bianchi's equation 13."""
    taus = [0.05] * len(classes)
    collisions = [0.0] * len(classes)
    for _ in range(2000):
        idle = math.prod((1 - t) ** one.stations for t, one in zip(taus, classes, strict=True))
        collisions = [1 - idle / (1 - t) for t in taus]
        found = [one.tau(p) for one, p in zip(classes, collisions, strict=True)]
        taus = [0.9 * old + 0.1 * new for old, new in zip(taus, found, strict=True)]
    idle = math.prod((1 - t) ** one.stations for t, one in zip(taus, classes, strict=True))
    alone = [
        one.stations * t * (1 - p) for t, one, p in zip(taus, classes, collisions, strict=True)
    ]
    collided = 1 - idle - sum(alone)
    slot_us = idle * OFDM.slot_us
    slot_us += sum(alone) * success_us(rate_mbps) + collided * collision_us(rate_mbps)
    return [Share(one / slot_us * 1e6, p) for one, p in zip(alone, collisions, strict=True)]


def slotted(
    classes: Sequence[Class],
    rate_mbps: float,
    seed: int,
    packet_bytes: int = PACKET_BYTES,
    lead: int = 0,
    most_tries: int = 0,
) -> list[Share]:
    """The stations' counters alone, slot by slot, without the one assumption of `model`. That is
    that a try collides with the same probability whatever came before. With windows of 7 to 15
    beside those of 15 to 1023 that is 2 to 5 % off. Classes may differ in AIFS and TXOP here.

    After a collision all wait EIFS, and those that collided ``lead`` slots less. A frame is given
    up after ``most_tries``, 0 for never. One that loses its turn to another class of its station
    has failed, as by a collision (10.23.2.4).
    """
    draw = random.Random(seed)
    one_us = exchange_us(rate_mbps, packet_bytes)
    collided_us = collision_us(rate_mbps, packet_bytes)
    frames = [txop_frames(one.txop_us, one_us) for one in classes]
    later = [one.aifsn - AIFSN for one in classes]
    of, station = _functions(classes)
    windows = [classes[one].cw_min for one in of]
    counters = [draw.randint(0, window) for window in windows]
    failed = [0] * len(of)
    sent, tries = [0] * len(classes), [0] * len(classes)
    time_us = 0.0
    begins = [later[one] for one in of]
    while time_us < SECONDS * 1e6:
        due = [begin + counter for begin, counter in zip(begins, counters, strict=True)]
        slots = min(due)
        turns = [i for i, at in enumerate(due) if at == slots]
        # The first of each station: those of lower priority come later.
        senders = list({station[i]: i for i in reversed(turns)}.values())
        # The end of AIFS is a slot boundary at which a counter falls too (10.23.2.4), and so is the
        # beginning of a busy period.
        counters = [
            counter - max(0, slots - begin + 1)
            for begin, counter in zip(begins, counters, strict=True)
        ]
        collides = len(senders) > 1
        time_us += slots * OFDM.slot_us
        waits = lead if collides else 0
        begins = [later[one] + (0 if i in senders else waits) for i, one in enumerate(of)]
        if collides:
            time_us += collided_us - lead * OFDM.slot_us
        else:
            sent_frames = frames[of[senders[0]]]
            time_us += sent_frames * (one_us + OFDM.sifs_us) - OFDM.sifs_us + OFDM.difs_us
        for i in turns:
            one = classes[of[i]]
            fails = collides or i not in senders
            failed[i] = failed[i] + 1 if fails else 0
            if not fails or failed[i] == most_tries:
                windows[i], failed[i] = one.cw_min, 0
            else:
                windows[i] = min(2 * windows[i] + 1, one.cw_max)
            counters[i] = draw.randint(0, windows[i])
        for i in senders:
            # Only the first frame of a TXOP can collide.
            tries[of[i]] += 1 if collides else frames[of[i]]
            sent[of[i]] += 0 if collides else frames[of[i]]
    return [
        Share(done / time_us * 1e6, 1 - done / tried)
        for done, tried in zip(sent, tries, strict=True)
    ]


def _functions(classes: Sequence[Class]) -> tuple[list[int], list[int]]:
    """The class and the station of each access function."""
    of: list[int] = []
    station: list[int] = []
    members = range(0)
    for number, one in enumerate(classes):
        if not one.beside:
            members = range(members.stop, members.stop + one.stations)
        of += [number] * len(members)
        station += members
    return of, station


def engine(
    classes: Sequence[Class],
    rate_mbps: float,
    seed: int,
    packet_bytes: int = PACKET_BYTES,
    most_tries: int = 0,
) -> list[Share]:
    """What the engine's example measures. Raises `HoplabError` where it fails."""
    rate = f"he:{HE[rate_mbps][0]}" if rate_mbps in HE else f"{rate_mbps:g}"
    words = [rate, str(packet_bytes + AROUND_BYTES), str(SECONDS), str(seed), str(most_tries)]
    words += [one.word() for one in classes]
    command = (
        ". scripts/rust && cargo run --quiet --release --locked --manifest-path daemons/Cargo.toml "
        f"--package hoplab-medium-core --example {EXAMPLE} -- {' '.join(words)}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise HoplabError(f"{command}: fails with status {done.returncode}; run it")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [Share(row["frames_per_s"], row["collisions"]) for row in rows]


def bianchi_items() -> Iterator[Figure]:
    """One class, 5 to 50 stations, against the closed model, within 1.5 %."""
    for rate_mbps in BIANCHI_MBPS:
        for stations in BIANCHI_STATIONS:
            (expected,) = model(one := [Class(stations, 15, 1023)], rate_mbps)
            rate = f"HE-MCS-{HE[rate_mbps][0]}" if rate_mbps in HE else f"{rate_mbps:g}-Mbps"
            name = f"wifi/bianchi/{rate}/{stations}-stations"
            rates = [engine(one, rate_mbps, seed)[0].frames_per_s for seed in SEEDS]
            yield figure(f"{name}_frames/s", rates, expected.frames_per_s, 0.015)


def items() -> Iterator[Figure]:
    """Two classes in four mixes, against the slotted simulation, within 3 %; the closed model is
    beside it as information."""
    for name, classes in MIXES.items():
        measured = [engine(classes, RATE_MBPS, seed) for seed in SEEDS]
        simulated = [slotted(classes, RATE_MBPS, seed) for seed in SEEDS]
        for at, closed in enumerate(model(classes, RATE_MBPS)):
            where = f"wifi/edca/{name}/class-{at + 1}"
            rates = [draw[at].frames_per_s for draw in measured]
            expected = [draw[at].frames_per_s for draw in simulated]
            yield figure(f"{where}_frames/s", rates, expected, 0.03)
            yield figure(f"{where}/closed-model_frames/s", rates, closed.frames_per_s, None)
            tries = [draw[at].collisions for draw in measured]
            yield figure(f"{where}_collisions", tries, [d[at].collisions for d in simulated], 0.03)


def voice_items() -> Iterator[Figure]:
    """Three classes at each station, which collide within it too, against the slotted
    simulation."""
    ours, slots = (
        [count(VOICE, RATE_MBPS, seed, most_tries=VOICE_TRIES) for seed in SEEDS]
        for count in (engine, slotted)
    )
    for at, limit in enumerate(VOICE_LIMITS):
        name = f"wifi/edca-three/voice+best-effort+background/class-{at + 1}_frames/s"
        rates = [draw[at].frames_per_s for draw in ours]
        yield figure(name, rates, [draw[at].frames_per_s for draw in slots], limit)
