# SPDX-License-Identifier: Apache-2.0
"""A client with one radio for two links (EMLSR), against the times of its exchanges by hand.

The access point's exchange has a call (MU-RTS), its answer, data and theirs. The client then waits
for a next frame, and goes back to listening (802.11be-2024 35.3.17). The next call follows at once,
since one of the links has been idle for long.

A client that sends goes back after its exchange. Then both links count their backoffs, and the
first one sends. `Backoffs` follows the slots that are left. A link that was deaf begins by an RTS
(35.3.16.8).

For information stand what such a client gets beside neighbours, and its delays. References are
those of a client with one link. Clients with a radio for each link stand there too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study.figures import Figure, figure
from tests.validate.aggregation import Case
from tests.validate.high_efficiency import PAYLOAD, SEEDS, STARTED_S, received
from tests.validate.multilink import MEASURED_MBIT, PERCENTILES, SENDERS, SYMBOL_BITS, delays_ms
from tests.validate.runs import measure_seeds
from tests.validate.saturation import CTS_BYTES, RTS_BYTES, Scheme, air_us, sender, station

WIDTH_MHZ = 80
DELAYS_US = ((32, 64), (0, 0), (256, 256))
"""Of padding and transition. The first are those by default."""
MU_RTS_BYTES = 28 + 5 + 5
"""For one station of EHT, which has a special user field (802.11be-2024 9.3.1.22)."""
MU_RTS_ANSWERED_MBPS = 6
"""802.11ax-2021 26.2.6.3."""
RX_PHY_START_DELAY_US = 20
SYNC_THRESHOLD_US = 72
"""A link that was deaf for longer begins by an RTS (aMediumSyncThreshold)."""
CHANNELS = (36, 149)
MODES = ("one-link", "str", "emlsr")
PROTECTED = "str-rts"
"""A radio for each link, with an RTS before each exchange, as a call is before each of EMLSR."""
NEIGHBOURS_MBPS = {"idle": (0.0, 0.0), "first-busy": (400.0, 0.0), "both-busy": (400.0, 400.0)}
"""What neighbours send on each link's channel. A link of 40 MHz carries some 150 Mbit/s."""
LOADS_MBPS = {"idle": 0.0, "busy": 60.0, "saturated": 400.0}
"""The same on both channels, beside datagrams at random times."""
OWN_MBPS, LOADED_S, SATURATED_S = 60.0, 6, 3


def case() -> Case:
    radio = {"profile": "80211be", "guard_ns": 800}
    return Case("", Scheme(radio, SYMBOL_BITS[WIDTH_MHZ], training_fields=1), txop_us=0, rts=False)


def downlink_mbps(padding_us: int, transition_us: int) -> float:
    """Payload of one exchange after the other."""
    one = case()
    timing, frames = one.scheme.timing, one.most_frames(PAYLOAD, float("inf"))
    call_us = timing.control_us(MU_RTS_BYTES + int(padding_us * timing.basic_mbps) // 8)
    answer_us = air_us(CTS_BYTES, MU_RTS_ANSWERED_MBPS)
    called_us = call_us + timing.sifs_us + answer_us + timing.sifs_us
    next_frame_us = timing.sifs_us + timing.slot_us + RX_PHY_START_DELAY_US
    spent_us = called_us + one.exchange_us(frames, PAYLOAD) + next_frame_us + transition_us
    return frames * PAYLOAD * 8 / spent_us


@dataclass(frozen=True)
class Backoffs:
    """Two links that count at once, each with up to ``most`` slots.

    The one with fewer slots sends, and draws anew. The other one has counted the slot in which it
    stops. If both are done, it draws anew too.
    """

    most: int

    def _after(self, own: int, other: int) -> dict[int, float]:
        """Return how probable each number of slots is that the one that does not send has left."""
        if own == other:
            return dict.fromkeys(range(self.most + 1), 1 / (self.most + 1))
        return {abs(own - other) - 1: 1.0}

    def settled(self) -> tuple[float, float]:
        """Return the mean of the slots before a link sends, and how often it is another link."""
        left = [1 / (self.most + 1)] * (self.most + 1)
        for _ in range(1000):
            slots, changes, following = 0.0, 0.0, [0.0] * (self.most + 1)
            for other, chance in enumerate(left):
                for own in range(self.most + 1):
                    weight = chance / (self.most + 1)
                    slots += weight * min(own, other)
                    # If both are done, either may be the first.
                    changes += weight * (0.5 if own == other else own > other)
                    for rest, part in self._after(own, other).items():
                        following[rest] += weight * part
            left = following
        return slots, changes


def uplink_mbps(transition_us: int) -> float:
    one = case()
    timing, frames = one.scheme.timing, one.most_frames(PAYLOAD, float("inf"))
    slots, changes = Backoffs(timing.cw_min).settled()
    protected = 1.0 if transition_us > SYNC_THRESHOLD_US else changes
    rts_us = timing.control_us(RTS_BYTES) + timing.control_us(CTS_BYTES) + 2 * timing.sifs_us
    backoff_us = timing.difs_us + slots * timing.slot_us
    spent_us = transition_us + backoff_us + protected * rts_us + one.exchange_us(frames, PAYLOAD)
    return frames * PAYLOAD * 8 / spent_us


def cell(mode: str, width_mhz: int, **more: int) -> dict[str, Any]:
    """A cell whose client has one link, two with a radio each, or two with one radio."""
    own: dict[str, Any] = {"access_point": "ap", "clients": ["n0"], "channel": CHANNELS[0]}
    if mode == "one-link":
        return own
    links = [{"channel": CHANNELS[1], "width_mhz": width_mhz}]
    return {**own, "links": links, "link_mode": mode, **more}


def alone(padding_us: int, transition_us: int, upwards: bool) -> dict[str, Any]:
    """A cell without neighbours whose access point, or client, is saturated."""
    most_mbps = uplink_mbps(transition_us) if upwards else downlink_mbps(padding_us, transition_us)
    ends = ("n0", "ap") if upwards else ("ap", "n0")
    flow = sender(*ends, PAYLOAD, 1.1 * most_mbps / SENDERS)
    times = {"emlsr_padding_us": padding_us, "emlsr_transition_us": transition_us}
    return {
        "title": f"EMLSR {'up' if upwards else 'down'}, {padding_us} and {transition_us} us",
        "duration_s": round(STARTED_S + MEASURED_MBIT / most_mbps, 1),
        "station": [station("ap", 0.0), station("n0", 20.0)],
        "cell": [cell("emlsr", WIDTH_MHZ, **times)],
        "radio": {"profile": "80211be", "mcs": 11, "width_mhz": WIDTH_MHZ},
        "flow": [{**flow, "name": f"flow{i}"} for i in range(SENDERS)],
        "measure": {"packets": True},
    }


def beside(mode: str, loads_mbps: tuple[float, float], own: dict[str, Any]) -> dict[str, Any]:
    """A client with flows of its own, and a neighbouring cell on each link's channel."""
    neighbours = [
        (f"ap{i}", f"m{i}", channel, mbps)
        for i, (channel, mbps) in enumerate(zip(CHANNELS, loads_mbps, strict=True))
    ]
    flows = [
        {**sender(source, to, PAYLOAD, mbps), "name": source}
        for source, to, _, mbps in neighbours
        if mbps
    ]
    return {
        "title": f"{mode} beside {loads_mbps} Mbit/s",
        "station": [
            station("ap", 0.0),
            station("n0", 10.0),
            *(station(name, 0.0, 10.0 * (1 + i)) for i, (name, *_) in enumerate(neighbours)),
            *(station(one[1], 10.0, 10.0 * (1 + i)) for i, one in enumerate(neighbours)),
        ],
        "cell": [
            cell(mode, 40),
            *(
                {"access_point": source, "clients": [to], "channel": channel}
                for source, to, channel, _ in neighbours
            ),
        ],
        "radio": {"profile": "80211be", "mcs": 7, "width_mhz": 40},
        "measure": {"packets": True},
        **own,
        "flow": [*own["flow"], *flows],
    }


def saturated(mode: str, loads_mbps: tuple[float, float], upwards: bool) -> dict[str, Any]:
    ends = ("n0", "ap") if upwards else ("ap", "n0")
    flow = sender(*ends, PAYLOAD, 400.0 / SENDERS)
    flows = [{**flow, "name": f"own{i}"} for i in range(SENDERS)]
    return beside(mode, loads_mbps, {"duration_s": SATURATED_S, "flow": flows})


def delayed(mode: str, load_mbps: float) -> dict[str, Any]:
    flow = {**sender("ap", "n0", PAYLOAD, OWN_MBPS), "name": "own", "spacing": "poisson"}
    loads, own = (load_mbps, load_mbps), {"duration_s": LOADED_S, "flow": [flow]}
    if mode != PROTECTED:
        return beside(mode, loads, own)
    scenario = beside("str", loads, own)
    return {**scenario, "radio": {**scenario["radio"], "rts_threshold": 0}}


def own_mbps(found: Results) -> float:
    """Payload of the client's own flows, from `STARTED_S` on."""
    octets = sum(
        row["bytes"]
        for row in found.rows("packets")
        if row["flow"].startswith("own")
        and row["received_s"] is not None
        and STARTED_S <= row["received_s"] < SATURATED_S
    )
    return 8e-6 * float(octets) / (SATURATED_S - STARTED_S)


def _by_hand() -> Iterator[Figure]:
    both = [(times, upwards) for upwards in (False, True) for times in DELAYS_US]
    draws = measure_seeds([alone(*times, upwards) for times, upwards in both], SEEDS, received)
    for (times, upwards), found in zip(both, draws, strict=True):
        expected = uplink_mbps(times[1]) if upwards else downlink_mbps(*times)
        name = f"{'up' if upwards else 'down'}/{times[0]}-{times[1]}-us_Mbps"
        yield figure(f"wifi/emlsr/{name}", [mbps for mbps, _ in found], expected, 0.01)


def _shares() -> Iterator[Figure]:
    for upwards in (False, True):
        for name, loads in NEIGHBOURS_MBPS.items():
            scenarios = [saturated(mode, loads, upwards) for mode in MODES]
            one, *several = measure_seeds(scenarios, SEEDS, own_mbps)
            for mode, mbps in zip(MODES[1:], several, strict=True):
                way = "up" if upwards else "down"
                yield figure(f"wifi/emlsr/{way}/{name}/{mode}_Mbps", mbps, one, None)


def _delays() -> Iterator[Figure]:
    modes = (*MODES, PROTECTED)
    for name, load_mbps in LOADS_MBPS.items():
        scenarios = [delayed(mode, load_mbps) for mode in modes]
        one, *several = measure_seeds(scenarios, SEEDS, delays_ms)
        for at, percent in enumerate(PERCENTILES):
            for mode, draws in zip(modes[1:], several, strict=True):
                own, single = ([draw[at] for draw in all_] for all_ in (draws, one))
                yield figure(f"wifi/emlsr/{name}/{mode}/p{percent}_ms", own, single, None)


def items() -> Iterator[Figure]:
    """A figure in Mbit/s of payload for each way and pair of delays, within 1 %. For information,
    throughput and delays beside neighbours, next to those of one link."""
    yield from _by_hand()
    yield from _shares()
    yield from _delays()
