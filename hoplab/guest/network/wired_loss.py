# SPDX-License-Identifier: Apache-2.0
"""Losses on wired links: `[[loss]]` tables whose ends a link joins, as packet filter rules.

The filter stands where the link's receiving station takes packets in, before it forwards them. A
lost packet has therefore used its own link and none after it. The filter matches only data packets
of the scenario's flows: they leave a flow's source port and are longer than 100 bytes. This
excludes handshakes, pure acknowledgements, iperf3's control connection and the 37-byte cookie that
opens each of its data connections. Packet k is therefore the flow's k-th data segment.
"""

from __future__ import annotations

import struct
from typing import Any

from pyroute2.nftables.expressions import genex

from hoplab.guest.network.filters import (
    GREATER_OR_EQUAL,
    LESS,
    NETWORK_HEADER,
    NFT_META_MARK,
    RAW_PRIORITY,
    REGISTER,
    TRANSPORT_HEADER,
    Rules,
    compare,
    dropped,
    from_interface,
    marked,
    payload,
    rules,
)
from hoplab.model.keys.declare import given
from hoplab.model.keys.scenario import Loss
from hoplab.model.network.plan import FIRST_CLIENT_PORT, Plan

TABLE = "hoplab"
CHAIN = "loss"
FIRST_EPHEMERAL_PORT = 32_768
"""First of the ports that the kernel chooses (ip_local_port_range), for iperf3's control
connections."""
SHORTEST_DATA_BYTES = 101

INCREMENTAL, RANDOM = 0, 1
HOST_TO_NETWORK = 1
COUNTS = 0xFFFFFFFE


def install(plan: Plan) -> None:
    """Set up every wired loss at the receiving end of its link."""
    ends = [end for cable in plan.cables for end in cable.ends]
    interfaces = {(end.station, end.peer_station): end.interface for end in ends}
    by_station: dict[str, list[Loss]] = {}
    for loss in plan.scenario.loss:
        if plan.scenario.is_wired(loss):
            by_station.setdefault(str(loss.dst), []).append(loss)
    for station, losses in sorted(by_station.items()):
        with rules(station, TABLE) as table:
            table.chain(CHAIN, "prerouting", RAW_PRIORITY)
            for loss in losses:
                _install(table, loss, interfaces[station, str(loss.src)])


def _install(table: Rules, loss: Loss, interface: str) -> None:
    flows = [*from_interface(interface), *_data_of_flows()]
    if loss.kind == "uniform":
        limit = round(given(loss.rate) * COUNTS)
        # The filter compares byte by byte from the first, so the number must be big-endian.
        drawn = [*_number(RANDOM), _TO_NETWORK_ORDER]
        table.add(CHAIN, [*flows, *drawn, *compare(LESS, struct.pack(">I", limit))], dropped())
        return
    # The packet's mark carries the number from the rule that counts to the rules that drop.
    mark = {"key": NFT_META_MARK, "sreg": REGISTER}
    table.add(CHAIN, [*flows, *_number(INCREMENTAL), genex("meta", mark)])
    for number in given(loss.frames):
        table.add(CHAIN, [*from_interface(interface), *marked(number)], dropped())


def _data_of_flows() -> list[Any]:
    return [
        *payload(NETWORK_HEADER, 2),
        *compare(GREATER_OR_EQUAL, struct.pack(">H", SHORTEST_DATA_BYTES)),
        *payload(TRANSPORT_HEADER, 0),
        *compare(GREATER_OR_EQUAL, struct.pack(">H", FIRST_CLIENT_PORT)),
        *compare(LESS, struct.pack(">H", FIRST_EPHEMERAL_PORT)),
    ]


def _number(kind: int) -> list[Any]:
    """Number the packets that come this far, from 1, or draw a random number below `COUNTS`."""
    attributes = [
        ("NFTA_NG_DREG", REGISTER),
        ("NFTA_NG_MODULUS", COUNTS),
        ("NFTA_NG_TYPE", kind),
        ("NFTA_NG_OFFSET", 1 if kind == INCREMENTAL else 0),
    ]
    # The attributes' prefix is not the expression's name, which `genex` expects.
    return [{"attrs": [("NFTA_EXPR_NAME", "numgen"), ("NFTA_EXPR_DATA", {"attrs": attributes})]}]


_TO_NETWORK_ORDER = genex(
    "byteorder", {"sreg": REGISTER, "dreg": REGISTER, "op": HOST_TO_NETWORK, "len": 4, "size": 4}
)
