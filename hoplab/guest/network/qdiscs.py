# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines that pyroute2 lacks (red), cannot give a rate (netem) or cuts short (tbf).

Layouts: linux/pkt_sched.h, struct tc_netem_qopt, tc_netem_rate, tc_red_qopt, tc_tbf_qopt.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from pyroute2.netlink import NLA_F_NESTED, nla
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins

TICKS_PER_US = 15.625
"""The kernel's packet scheduler counts 64 ns (/proc/net/psched)."""
RED_CELLS = 256


class NetemOptions(nla):  # type: ignore[misc]
    fields = (
        ("latency", "I"),
        ("limit", "I"),
        ("loss", "I"),
        ("gap", "I"),
        ("duplicate", "I"),
        ("jitter", "I"),
    )
    nla_map = (
        (2, "TCA_NETEM_DELAY_DIST", "hex"),
        (3, "TCA_NETEM_REORDER", "hex"),
        (5, "TCA_NETEM_LOSS", "hex"),
        (5 | NLA_F_NESTED, "TCA_NETEM_LOSS_NESTED", "hex"),
        (6, "TCA_NETEM_RATE", "hex"),
        (14, "TCA_NETEM_PRNG_SEED", "hex"),
    )


NETEM_LOSS_GE = 2


class Netem:
    """delay_us, loss (probability), rate_bytes (per s), limit (packets).

    And, where chance acts: jitter_us, distribution (values of 16 bits, `hoplab.model.network.
    jitter`), reorder and duplicate (probabilities), seed. Bursts are p, r, 1 - h and 1 - k of
    Gilbert and Elliott.
    """

    parent = TC_H_ROOT
    options = NetemOptions

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        attributes = [("TCA_NETEM_RATE", struct.pack("=IiIi", values["rate_bytes"], 0, 0, 0))]
        reorder = values.get("reorder", 0.0)
        if reorder:
            attributes.append(("TCA_NETEM_REORDER", struct.pack("=II", _of_32_bits(reorder), 0)))
        if "bursts" in values:
            p, r, bad, good = map(_of_32_bits, values["bursts"])
            # The kernel has the share that survives the bad state.
            model = struct.pack("=HHIIII", 20, NETEM_LOSS_GE, p, r, 0xFFFFFFFF - bad, good)
            attributes.append(("TCA_NETEM_LOSS_NESTED", model))
        if "seed" in values:
            attributes.append(("TCA_NETEM_PRNG_SEED", struct.pack("=Q", values["seed"])))
        if "distribution" in values:
            table = values["distribution"]
            attributes.append(("TCA_NETEM_DELAY_DIST", struct.pack(f"={len(table)}h", *table)))
        return {
            "latency": round(values.get("delay_us", 0) * TICKS_PER_US),
            "limit": values["limit"],
            "loss": _of_32_bits(values.get("loss", 0.0)),
            "gap": 1 if reorder else 0,
            "duplicate": _of_32_bits(values.get("duplicate", 0.0)),
            "jitter": round(values.get("jitter_us", 0) * TICKS_PER_US),
            "attrs": attributes,
        }


def _of_32_bits(probability: float) -> int:
    return min(0xFFFFFFFF, round(probability * 0xFFFFFFFF))


class TbfOptions(nla):  # type: ignore[misc]
    nla_map = ((1, "TCA_TBF_PARMS", "hex"), (6, "TCA_TBF_BURST", "uint32"))


class Tbf:
    """rate_bytes (per s), burst_bytes, limit_bytes.

    The bucket's depth is given in bytes (TCA_TBF_BURST), from which the kernel works out its time.
    A time alone would be cut to the scheduler's ticks or to whole microseconds. From some 90 Mbit/s
    on it would then be less than a full packet. tbf drops packets that never fit into the bucket.
    """

    parent = TC_H_ROOT
    options = TbfOptions

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        rate, burst = values["rate_bytes"], values["burst_bytes"]
        # struct tc_ratespec: cell_log, linklayer (Ethernet), overhead, cell_align, mpu, rate.
        main = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, rate)
        peak = bytes(12)
        ticks = math.ceil(burst / rate * 1e6 * TICKS_PER_US)
        parameters = main + peak + struct.pack("=III", values["limit_bytes"], ticks, 0)
        return {"attrs": [("TCA_TBF_PARMS", parameters), ("TCA_TBF_BURST", burst)]}


TC_RED_ECN = 1


class RedOptions(nla):  # type: ignore[misc]
    nla_map = (
        (1, "TCA_RED_PARMS", "hex"),
        (2, "TCA_RED_STAB", "hex"),
        (3, "TCA_RED_MAX_P", "hex"),
    )


class Red:
    """limit, min, max, avpkt in bytes; weight; probability; rate_bytes per s; ecn (Floyd 1993)."""

    parent = TC_H_ROOT
    options = RedOptions

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        weight_log = round(-math.log2(values["weight"]))
        spread = values["max"] - values["min"]
        probability_log = max(0, round(math.log2(spread / values["probability"])))
        cell_log, table = _idle_table(weight_log, values["avpkt"], values["rate_bytes"])
        return {
            "attrs": [
                (
                    "TCA_RED_PARMS",
                    struct.pack(
                        "=IIIBBBB",
                        *(values["limit"], values["min"], values["max"]),
                        *(
                            weight_log,
                            min(probability_log, 31),
                            cell_log,
                            TC_RED_ECN * values["ecn"],
                        ),
                    ),
                ),
                ("TCA_RED_STAB", table),
                ("TCA_RED_MAX_P", struct.pack("=I", round(values["probability"] * 0xFFFFFFFF))),
            ]
        }


def _idle_table(weight_log: int, packet_bytes: int, rate_bytes: int) -> tuple[int, bytes]:
    """Return by how many halvings the average queue decays in an idle time of i cells.

    Floyd and Jacobson 1993, section 4: while idle, the average decays by (1 - w)^m. It is as if m
    small packets had arrived to an empty queue, with m = idle time / packet time.
    """
    packet_us = packet_bytes * 1e6 / rate_bytes
    decay = -math.log2(1 - 2.0**-weight_log) / packet_us
    cell_log = 0
    while decay * (1 << cell_log) * (RED_CELLS - 1) < 31 and cell_log < 31:
        cell_log += 1
    ticks = [min(255, int(decay * (i << cell_log) / TICKS_PER_US)) for i in range(RED_CELLS)]
    ticks[-1] = 31
    return cell_log, bytes(ticks)


def register() -> None:
    """Make pyroute2's ``tc`` know all three."""
    plugins["netem"] = Netem
    plugins["tbf"] = Tbf
    plugins["red"] = Red
