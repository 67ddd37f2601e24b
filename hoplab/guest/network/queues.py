# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines beside droptail and RED, from a scenario's keys to the kernel's attributes.

Numbers of attributes and their units: linux/pkt_sched.h. The kernel takes TCA_OPTIONS as packed
here, since pyroute2 has only some of these disciplines.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from errno import ENOENT
from typing import Any

from pyroute2.netlink import NLA_F_NESTED, nla
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins

from hoplab.guest.network.netlink import attribute
from hoplab.model.errors import MissingTool
from hoplab.model.keys.queues import SINCE, Queue

CAKE_RATE, CAKE_TARGET = 2, 8
TARGETS = 20
"""CAKE's target is this part of its interval, as `tc` sets it."""
MBIT_BYTES = 1e6 / 8
HERTZ = 256
"""DualPI2's weights are in 1/256 Hz."""
ETS_BANDS, ETS_STRICT, ETS_QUANTA, ETS_QUANTUM, ETS_PRIOMAP, ETS_PRIORITY = range(1, 7)
WORDS = {
    "diffserv": ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"),
    "flowmode": (
        *("flowblind", "srchost", "dsthost", "hosts"),
        *("flows", "dual-srchost", "dual-dsthost", "triple-isolate"),
    ),
    "atm": ("noatm", "atm", "ptm"),
    "ack_filter": ("no-ack-filter", "ack-filter", "ack-filter-aggressive"),
    "overload": ("overflow", "drop_on_overload"),
    "drop": ("drop_dequeue", "drop_enqueue"),
    "ecn_mask": ("", "l4s_ect", "", "any_ect"),
}
"""The kernel's numbers of words, by their places."""

ATTRIBUTES: dict[str, dict[str, tuple[int, str, float]]] = {
    "codel": {
        "target_ms": (1, "I", 1000),
        "limit_packets": (2, "I", 1),
        "interval_ms": (3, "I", 1000),
        "ecn": (4, "I", 1),
        "ce_threshold_ms": (5, "I", 1000),
    },
    "fq_codel": {
        "target_ms": (1, "I", 1000),
        "limit_packets": (2, "I", 1),
        "interval_ms": (3, "I", 1000),
        "ecn": (4, "I", 1),
        "flows": (5, "I", 1),
        "quantum_bytes": (6, "I", 1),
        "ce_threshold_ms": (7, "I", 1000),
        "drop_batch": (8, "I", 1),
        "memory_limit_bytes": (9, "I", 1),
    },
    "pie": {
        "target_ms": (1, "I", 1000),
        "limit_packets": (2, "I", 1),
        "tupdate_ms": (3, "I", 1000),
        "alpha": (4, "I", 1),
        "beta": (5, "I", 1),
        "ecn": (6, "I", 1),
        "bytemode": (7, "I", 1),
        "dq_rate_estimator": (8, "I", 1),
    },
    "fq_pie": {
        "limit_packets": (1, "I", 1),
        "flows": (2, "I", 1),
        "target_ms": (3, "I", 1000),
        "tupdate_ms": (4, "I", 1000),
        "alpha": (5, "I", 1),
        "beta": (6, "I", 1),
        "quantum_bytes": (7, "I", 1),
        "memory_limit_bytes": (8, "I", 1),
        "ecn_prob_percent": (9, "I", 1),
        "ecn": (10, "I", 1),
        "bytemode": (11, "I", 1),
        "dq_rate_estimator": (12, "I", 1),
    },
    "cake": {
        "diffserv": (3, "I", 1),
        "atm": (4, "I", 1),
        "flowmode": (5, "I", 1),
        "overhead_bytes": (6, "i", 1),
        "rtt_ms": (7, "I", 1000),
        "memory_limit_bytes": (10, "I", 1),
        "nat": (11, "I", 1),
        "wash": (13, "I", 1),
        "mpu_bytes": (14, "I", 1),
        "ingress": (15, "I", 1),
        "ack_filter": (16, "I", 1),
    },
    "fq": {
        "limit_packets": (1, "I", 1),
        "flow_limit_packets": (2, "I", 1),
        "quantum_bytes": (3, "I", 1),
        "initial_quantum_bytes": (4, "I", 1),
        "pacing": (5, "I", 1),
        "maxrate_mbps": (7, "I", MBIT_BYTES),
        "ce_threshold_ms": (12, "I", 1000),
    },
    "dualpi2": {
        "limit_packets": (1, "I", 1),
        "memory_limit_bytes": (2, "I", 1),
        "target_ms": (3, "I", 1000),
        "tupdate_ms": (4, "I", 1000),
        "alpha": (5, "I", HERTZ),
        "beta": (6, "I", HERTZ),
        "step_thresh_packets": (7, "I", 1),
        "step_thresh_ms": (8, "I", 1000),
        "min_qlen_step_packets": (9, "I", 1),
        "coupling_factor": (10, "B", 1),
        "overload": (11, "B", 1),
        "drop": (12, "B", 1),
        "classic_protection_percent": (13, "B", 1),
        "ecn_mask": (14, "B", 1),
    },
}
"""By kind and key: the attribute's number, its format, and its units in one of the key's."""


def _given(queue: Queue) -> Iterable[bytes]:
    """Yield the attributes of the keys that are given."""
    for name, (number, form, units) in ATTRIBUTES[queue.kind].items():
        value = getattr(queue, name)
        if value is None:
            continue
        if name in WORDS:
            value = WORDS[name].index(value)
        yield attribute(number, struct.pack(f"={form}", round(value * units)))


def _of_attributes(queue: Queue) -> bytes:
    return b"".join(_given(queue))


def _of_cake(queue: Queue) -> bytes:
    packed = _of_attributes(queue)
    if queue.shape_mbps is not None:
        packed += attribute(CAKE_RATE, struct.pack("=Q", round(queue.shape_mbps * MBIT_BYTES)))
    if queue.rtt_ms is not None:
        packed += attribute(CAKE_TARGET, struct.pack("=I", round(queue.rtt_ms * 1000 / TARGETS)))
    return packed


def _of_ets(queue: Queue) -> bytes:
    packed = attribute(ETS_BANDS, struct.pack("=B", queue.band_count))
    if queue.strict:
        packed += attribute(ETS_STRICT, struct.pack("=B", queue.strict))
    for number, inner, form, values in (
        (ETS_QUANTA, ETS_QUANTUM, "=I", queue.quanta_bytes),
        (ETS_PRIOMAP, ETS_PRIORITY, "=B", queue.priomap),
    ):
        if values:
            nested = b"".join(attribute(inner, struct.pack(form, value)) for value in values)
            packed += attribute(number | NLA_F_NESTED, nested)
    return packed


def _of_sfq(queue: Queue) -> bytes:
    """Return a struct tc_sfq_qopt_v1 without RED. Zero leaves the kernel's default."""
    limit, divisor, flows = queue.limit_packets or 0, queue.divisor or 0, queue.flows or 0
    quantum, perturb_s = queue.quantum_bytes or 0, queue.perturb_s or 0
    first = struct.pack("=IiIII", quantum, perturb_s, limit, divisor, flows)
    own = struct.pack("=II", queue.depth_packets or 0, bool(queue.headdrop))
    return first + own + bytes(12 + 4 + 4 + 24)


PACKED: dict[str, Callable[[Queue], bytes]] = {
    **dict.fromkeys(ATTRIBUTES, _of_attributes),
    "cake": _of_cake,
    "ets": _of_ets,
    "sfq": _of_sfq,
}
"""By kind: the content of TCA_OPTIONS."""


class _Nested(nla.hex):  # type: ignore[misc]
    nla_flags = NLA_F_NESTED


class _Packed:
    """A discipline for pyroute2, with options that are packed already."""

    parent = TC_H_ROOT
    options = _Nested

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> bytes:
        packed: bytes = values["packed"]
        return packed


class _Plain(_Packed):
    """The same for options that are no list of attributes."""

    options = nla.hex


def know(*kinds: str) -> None:
    """Make pyroute2's ``tc`` take packed attributes for these kinds."""
    plugins.update(dict.fromkeys(kinds, _Packed))


def register() -> None:
    """Make pyroute2's ``tc`` know them."""
    know(*PACKED)
    plugins["sfq"] = _Plain


def attach(netlink: Any, index: int, parent: int, handle: int, queue: Queue) -> None:
    """Give the class ``parent`` of an interface's root discipline this queue.

    Raises `MissingTool` if the kernel lacks the discipline.
    """
    packed = PACKED[queue.kind](queue)
    try:
        netlink.tc("add", queue.kind, index, handle, parent=parent, packed=packed)
    except NetlinkError as error:
        if error.code != ENOENT:
            raise
        since = SINCE.get(queue.kind)
        remedy = f"Linux {since} and newer have it" if since else "the default kernel has it"
        raise MissingTool(
            f"queue.kind: {queue.kind!r} is not in this kernel, {os.uname().release}; {remedy}: "
            "see hoplab machine list, and run with --machine NAME"
        ) from None
    if queue.kind == "ets":
        for band in range(1, queue.band_count + 1):
            child = handle + (band << 16)
            netlink.tc("add", "pfifo", index, child, parent=handle + band, limit=queue.packets)


register()
