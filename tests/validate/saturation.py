# SPDX-License-Identifier: Apache-2.0
"""Saturated UDP senders through the kernel, and the formulas of their throughput."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hoplab.host.results.reader import Results

HEADERS_BYTES = 28 + 8 + 28
"""UDP and IP, LLC and SNAP, MAC header and FCS."""
QOS_BYTES = 2
"""What HT stations' headers have more: they know each other as stations with QoS."""
RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
DELIMITER_BYTES = 4
"""Before each frame of an A-MPDU."""
DSSS_MBPS = (1.0, 2.0, 5.5, 11.0)
KINDS = {"80211n": "HT", "80211ac": "VHT", "80211ax": "HE", "80211be": "EHT"}


@dataclass(frozen=True)
class Timing:
    """A standard's constants; times in us, rate of control frames in Mbit/s."""

    slot_us: float
    sifs_us: float
    cw_min: int
    basic_mbps: float
    aifsn: int = 2
    """Slots after SIFS: 2 make DIFS (IEEE 802.11-2020 10.3.7), best effort waits 3."""
    short: bool = False
    """DSSS frames from 2 Mbit/s on have the short preamble and header (16.2.2.3)."""
    extension_us: float = 0
    """Silence at the end of OFDM's frames, at 2.4 GHz (18.3.2.4)."""

    @property
    def difs_us(self) -> float:
        """Of a station that sends by DCF; AIFS of one by categories."""
        return self.sifs_us + self.aifsn * self.slot_us

    @property
    def backoff_us(self) -> float:
        """Interframe space and mean backoff of one sender without errors."""
        return self.difs_us + self.cw_min / 2 * self.slot_us

    def control_us(self, size: int) -> float:
        return air_us(size, self.basic_mbps, self.short) + self.extension_us


DSSS = Timing(20, 10, 31, 1)
SHORT = {basic: Timing(20, 10, 31, basic, short=True) for basic in (1, 2)}
"""With short preambles, by the rate of control frames: at 1 Mbit/s these stay long."""
OFDM = Timing(9, 16, 15, 6)
BEST_EFFORT = Timing(9, 16, 15, 24, aifsn=3)
"""EDCA's default for best effort; answers to HT and VHT go at 24 Mbit/s (10.6.6.5)."""
BEST_EFFORT_AT_2_GHZ = Timing(9, 10, 15, 24, aifsn=3, extension_us=6)


def air_us(frame_bytes: int, rate_mbps: float, short: bool = False) -> float:
    """Time on the air: DSSS and CCK, or 802.11a (Jun et al. 2003, section 3)."""
    if rate_mbps in DSSS_MBPS:
        plcp_us = 72 + 24 if short and rate_mbps >= 2 else 144 + 48
        return plcp_us + math.ceil(8 * frame_bytes / rate_mbps)
    return 20 + 4 * math.ceil((22 + 8 * frame_bytes) / (4 * rate_mbps))


@dataclass(frozen=True)
class Scheme:
    """A rate, as the tables have it: of HT (IEEE 802.11-2020 19.5), VHT (21.5) or HE (802.11ax-2021
    27.5)."""

    radio: dict[str, Any]
    symbol_bits: int
    """Data bits of a symbol (N_DBPS)."""
    training_fields: int
    """One a stream (N_LTF)."""
    encoders: int = 1

    @property
    def kind(self) -> str:
        return KINDS[self.radio["profile"]]

    @property
    def timing(self) -> Timing:
        """Of best effort in its band."""
        return BEST_EFFORT_AT_2_GHZ if self.radio.get("channel", 36) <= 14 else BEST_EFFORT

    @property
    def guard_us(self) -> float:
        return float(self.radio["guard_ns"]) / 1000

    @property
    def symbol_us(self) -> float:
        return (12.8 if self.kind in ("HE", "EHT") else 3.2) + self.guard_us

    @property
    def mbps(self) -> float:
        return self.symbol_bits / self.symbol_us

    def air_us(self, frame_bytes: int) -> float:
        """Of a PSDU that holds one frame; but for HT's it has a delimiter before it (9.7.1)."""
        return self.psdu_us(frame_bytes + (0 if self.kind == "HT" else DELIMITER_BYTES))

    def psdu_us(self, psdu_bytes: int) -> float:
        """TXTIME in mixed format (19.4.3), of VHT (21.4.3), HE (27.4.3) or EHT."""
        legacy_us, signal_us, short_training_us = 16 + 4, 8, 4
        if self.kind in ("HE", "EHT"):
            field_us = (12.8 if self.guard_us == 3.2 else 6.4) + self.guard_us
            symbols = math.ceil((8 * psdu_bytes + 16) / self.symbol_bits)
            # RL-SIG, and no tail with LDPC. LDPC's further symbol is not in here: no long PSDU has
            # one.
            preamble_us = legacy_us + 4 + signal_us + short_training_us
            if self.kind == "EHT":
                preamble_us += 8  # EHT-SIG: 52 bits, 26 a symbol (802.11be-2024 36.3.12.8)
            return preamble_us + field_us * self.training_fields + self.symbol_us * symbols
        preamble_us = legacy_us + signal_us + short_training_us + 4 * self.training_fields
        if self.kind == "VHT":
            preamble_us += 4  # VHT-SIG-B
        symbols = math.ceil((8 * psdu_bytes + 16 + 6 * self.encoders) / self.symbol_bits)
        symbols_us = 4 * math.ceil(round(self.symbol_us * symbols / 4, 6))
        return preamble_us + symbols_us + self.timing.extension_us


def maximum_mbps(timing: Timing, payload: int, data_us: float, rts: bool) -> float:
    """One sender's theoretical maximum throughput (Jun et al. 2003, equation 2), where a frame
    with ``payload`` octets is ``data_us`` on the air."""
    sifs = timing.sifs_us
    cycle = timing.backoff_us
    cycle += data_us + sifs + timing.control_us(ACK_BYTES)
    if rts:
        cycle += timing.control_us(RTS_BYTES) + timing.control_us(CTS_BYTES) + 2 * sifs
    return payload * 8 / cycle


def station(name: str, x_m: float, y_m: float = 0.0) -> dict[str, Any]:
    return {"name": name, "x_m": x_m, "y_m": y_m}


def sender(source: str, destination: str, payload: int, mbps: float) -> dict[str, Any]:
    """A UDP flow; above what it gets of the channel it keeps its interface queue full."""
    return {
        "name": f"{source}-{destination}",
        "protocol": "udp",
        "source": source,
        "destination": destination,
        "packet_bytes": payload,
        "rate_kbps": round(1000 * mbps, 3),
        # By a sender without greeting: iperf3 sends one once, which a saturated channel loses.
        "spacing": "random",
    }


def received_mbps(results: Results, from_s: float) -> dict[str, float]:
    """Payload of each UDP flow that its receiver's socket side saw, from ``from_s`` on."""
    duration_s = results.scenario["duration_s"]
    sums = {flow["name"]: 0 for flow in results.scenario["flow"]}
    packets = results.packets.select(["flow", "bytes", "received_s"])
    for packet in packets.to_pylist():
        at_s = packet["received_s"]
        if at_s is not None and from_s <= at_s < duration_s:
            sums[packet["flow"]] += packet["bytes"]
    return {name: 8e-6 * total / (duration_s - from_s) for name, total in sums.items()}
