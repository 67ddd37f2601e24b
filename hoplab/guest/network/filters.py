# SPDX-License-Identifier: Apache-2.0
"""Rules of the packet filter (nftables): what a packet must be, and what becomes of it.

pyroute2's part for them is imported where it is used, because few runs have rules, and a guest
imports slowly.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hoplab.guest.network.inside import inside

AF_INET, AF_INET6 = 2, 10
NF_DROP, NF_ACCEPT = 0, 1
RAW_PRIORITY, FILTER_PRIORITY = -300, 0
REGISTER = 1
NFT_META_MARK, NFT_META_IIFNAME, NFT_META_L4PROTO = 3, 6, 16
NETWORK_HEADER, TRANSPORT_HEADER = 1, 2
EQUAL, LESS, GREATER_OR_EQUAL = 0, 2, 5
QUEUE_BYPASS = 1
NFT_EXTHDR_OP_TCPOPT = 1


class Rules:
    """A table of rules in one namespace; all of it goes with the namespace."""

    def __init__(self, filters: Any, table: str) -> None:
        self._filters = filters
        self._table = table
        filters.table("add", name=table)

    def chain(self, name: str, hook: str, priority: int) -> None:
        """Add a chain that packets pass at ``hook``. Packets that no rule holds up go on."""
        self._filters.chain(
            "add",
            table=self._table,
            name=name,
            hook=hook,
            type="filter",
            priority=priority,
            policy=NF_ACCEPT,
        )

    def add(self, chain: str, conditions: Sequence[Any], ending: Sequence[Any] = ()) -> None:
        """A rule at the end of ``chain``."""
        self._filters.rule(
            "add", table=self._table, chain=chain, expressions=([*conditions], [*ending])
        )


@contextmanager
def rules(station: str, table: str, family: int = AF_INET) -> Iterator[Rules]:
    """A new table of rules in namespace ``station``, for IPv4 or IPv6."""
    filters = _opened(station, family)
    try:
        yield Rules(filters, table)
    finally:
        filters.close()


def remove(station: str, table: str, family: int = AF_INET) -> None:
    """Remove a table of rules from a namespace that stays."""
    filters = _opened(station, family)
    try:
        filters.table("del", name=table)
    finally:
        filters.close()


def _opened(station: str, family: int) -> Any:
    from pyroute2.nftables.main import NFTables

    with inside(station):
        return NFTables(nfgen_family=family)


def dropped() -> list[Any]:
    return _verdict(NF_DROP)


def accepted() -> list[Any]:
    return _verdict(NF_ACCEPT)


def _verdict(code: int) -> list[Any]:
    from pyroute2.nftables.expressions import verdict

    return list(verdict(code=code))


def _expression(kind: str, about: dict[str, Any]) -> Any:
    from pyroute2.nftables.expressions import genex

    return genex(kind, about)


def queued(number: int) -> list[Any]:
    """Return the rule that sends packets to the program at the queue. Without a program they go
    on."""
    attributes = {"num": number, "total": 1, "flags": QUEUE_BYPASS}
    return [_expression("queue", attributes)]


def without_tcp_option(kind: int) -> list[Any]:
    """Overwrite an option of the TCP header with NOPs, if the segment has it (Linux 5.18)."""
    return [_expression("exthdr", {"op": NFT_EXTHDR_OP_TCPOPT, "type": kind})]


def from_interface(name: str) -> list[Any]:
    return [
        _expression("meta", {"key": NFT_META_IIFNAME, "dreg": REGISTER}),
        *compare(EQUAL, name.encode().ljust(16, b"\0")),
    ]


def of_protocol(number: int) -> list[Any]:
    """Match the protocol that IP carries, behind all extension headers."""
    read = _expression("meta", {"key": NFT_META_L4PROTO, "dreg": REGISTER})
    return [read, *compare(EQUAL, bytes([number]))]


def marked(mark: int) -> list[Any]:
    read = _expression("meta", {"key": NFT_META_MARK, "dreg": REGISTER})
    return [read, *compare(EQUAL, struct.pack("=I", mark))]


def payload(base: int, offset: int, length: int = 2) -> list[Any]:
    """Read bytes of a header."""
    return [
        _expression("payload", {"dreg": REGISTER, "base": base, "offset": offset, "len": length})
    ]


def compare(operation: int, value: bytes) -> list[Any]:
    """Compare the value that was read last."""
    data = {"attrs": [("NFTA_DATA_VALUE", value)]}
    return [_expression("cmp", {"sreg": REGISTER, "op": operation, "data": data})]
