# SPDX-License-Identifier: Apache-2.0
"""Losses on wired links: `[[loss]]` tables whose ends a link joins, as packet filter rules.

The filter stands where the link's receiving station takes packets in, before it forwards them, so
a lost packet has used its own link and none after it. It looks at the data packets of the
scenario's flows only: those that leave a flow's source port and are longer than 100 bytes. That
leaves alone the handshakes, pure acknowledgements, iperf3's control connection and the 37-byte
cookie that opens each of its data connections, so packet k is the flow's k-th data segment.
"""

from __future__ import annotations

import struct
from typing import Any

from pyroute2.nftables.expressions import genex, verdict
from pyroute2.nftables.main import NFTables

from hoplab.network.namespaces import inside
from hoplab.scenario.model import Loss
from hoplab.scenario.plan import FIRST_CLIENT_PORT, Plan

TABLE = "hoplab"
CHAIN = "loss"
FIRST_EPHEMERAL_PORT = 32_768
"""From here on the kernel chooses (ip_local_port_range): iperf3's control connections."""
SHORTEST_DATA_BYTES = 101

NF_DROP, NF_ACCEPT = 0, 1
RAW_PRIORITY = -300
AF_INET = 2
REGISTER = 1
NFT_META_MARK, NFT_META_IIFNAME = 3, 6
NETWORK_HEADER, TRANSPORT_HEADER = 1, 2
EQUAL, LESS, GREATER_OR_EQUAL = 0, 2, 5
INCREMENTAL, RANDOM = 0, 1
HOST_TO_NETWORK = 1
COUNTS = 0xFFFFFFFE


def install(plan: Plan) -> None:
    """Set up every wired loss, at the end of the link that it is to be lost at."""
    ends = [end for cable in plan.cables for end in cable.ends]
    interfaces = {(end.station, end.peer_station): end.interface for end in ends}
    by_station: dict[str, list[Loss]] = {}
    for loss in plan.scenario.loss:
        if plan.scenario.is_wired(loss):
            by_station.setdefault(str(loss.dst), []).append(loss)
    for station, losses in sorted(by_station.items()):
        with inside(station):
            filters = NFTables(nfgen_family=AF_INET)
        try:
            filters.table("add", name=TABLE)
            filters.chain(
                "add",
                table=TABLE,
                name=CHAIN,
                hook="prerouting",
                type="filter",
                priority=RAW_PRIORITY,
                policy=NF_ACCEPT,
            )
            for loss in losses:
                _install(filters, loss, interfaces[station, str(loss.src)])
        finally:
            filters.close()


def _install(filters: Any, loss: Loss, interface: str) -> None:
    flows = [*_from_interface(interface), *_data_of_flows()]
    if loss.kind == "uniform":
        limit = round((loss.rate or 0.0) * COUNTS)
        # Order is decided byte by byte from the first, so the number must be big-endian.
        drawn = [*_number(RANDOM), _TO_NETWORK_ORDER]
        _rule(filters, [*flows, *drawn, *_compare(LESS, struct.pack(">I", limit))], drop=True)
        return
    # The number travels in the packet's mark from the rule that counts to those that drop.
    mark = {"key": NFT_META_MARK, "sreg": REGISTER}
    _rule(filters, [*flows, *_number(INCREMENTAL), genex("meta", mark)], drop=False)
    for number in loss.frames or ():
        read = genex("meta", {"key": NFT_META_MARK, "dreg": REGISTER})
        marked = [*_from_interface(interface), read, *_compare(EQUAL, _host32(number))]
        _rule(filters, marked, drop=True)


def _rule(filters: Any, expressions: list[Any], drop: bool) -> None:
    ending = [verdict(code=NF_DROP)] if drop else []
    filters.rule("add", table=TABLE, chain=CHAIN, expressions=(expressions, *ending))


def _from_interface(name: str) -> list[Any]:
    return [
        genex("meta", {"key": NFT_META_IIFNAME, "dreg": REGISTER}),
        *_compare(EQUAL, name.encode().ljust(16, b"\0")),
    ]


def _data_of_flows() -> list[Any]:
    return [
        *_payload(NETWORK_HEADER, 2),
        *_compare(GREATER_OR_EQUAL, struct.pack(">H", SHORTEST_DATA_BYTES)),
        *_payload(TRANSPORT_HEADER, 0),
        *_compare(GREATER_OR_EQUAL, struct.pack(">H", FIRST_CLIENT_PORT)),
        *_compare(LESS, struct.pack(">H", FIRST_EPHEMERAL_PORT)),
    ]


def _number(kind: int) -> list[Any]:
    """Packets that come this far, counted from 1; or a random number below `COUNTS`."""
    attributes = [
        ("NFTA_NG_DREG", REGISTER),
        ("NFTA_NG_MODULUS", COUNTS),
        ("NFTA_NG_TYPE", kind),
        ("NFTA_NG_OFFSET", 1 if kind == INCREMENTAL else 0),
    ]
    # The attributes' prefix is not the expression's name, as `genex` would have it.
    return [{"attrs": [("NFTA_EXPR_NAME", "numgen"), ("NFTA_EXPR_DATA", {"attrs": attributes})]}]


_TO_NETWORK_ORDER = genex(
    "byteorder", {"sreg": REGISTER, "dreg": REGISTER, "op": HOST_TO_NETWORK, "len": 4, "size": 4}
)


def _payload(base: int, offset: int) -> list[Any]:
    """Two bytes of a header."""
    return [genex("payload", {"dreg": REGISTER, "base": base, "offset": offset, "len": 2})]


def _compare(operation: int, value: bytes) -> list[Any]:
    data = {"attrs": [("NFTA_DATA_VALUE", value)]}
    return [genex("cmp", {"sreg": REGISTER, "op": operation, "data": data})]


def _host32(value: int) -> bytes:
    return struct.pack("=I", value)
