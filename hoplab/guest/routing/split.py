# SPDX-License-Identifier: Apache-2.0
"""Split-TCP where the kernel routes: a daemon at each station that takes part, and the rules that
send packets to it."""

from __future__ import annotations

import ipaddress
import struct
from pathlib import Path
from typing import Any

from hoplab.guest.network.filters import (
    EQUAL,
    FILTER_PRIORITY,
    NETWORK_HEADER,
    TRANSPORT_HEADER,
    Rules,
    accepted,
    compare,
    marked,
    payload,
    queued,
    rules,
)
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.processes import Daemon, Daemons, program, wait_until
from hoplab.model.keys import documents
from hoplab.model.keys.split import MARK, SplitConnection, SplitFile
from hoplab.model.network.plan import Plan
from hoplab.model.network.proxies import Part, detours, parts
from hoplab.model.network.reach import narrowest_mtu

TABLE = "hoplab-split"
QUEUE = 0
PROTOCOL_TCP, PROTOCOL_LACK = 6, 253
OFFSET_TTL, OFFSET_PROTOCOL, OFFSET_ADDRESSES = 8, 9, 12


def start(plan: Plan, namespaces: Namespaces, out: Path, epoch_ns: int, daemons: Daemons) -> None:
    """Start the daemons of Split-TCP where the kernel routes. They join ``daemons``."""
    by_station = parts(plan)
    started = []
    for station in by_station:
        log = out / "logs" / f"split-{station}.log"
        process = namespaces.spawn(station, command(plan, station, out, epoch_ns), log)
        started.append(daemons.add(Daemon(f"split at {station}", process, log, True)))
    for daemon in started:
        wait_until(daemon, b"ready")
    for station, some in by_station.items():
        install(station, some)
    if plan.scenario.routing.protocol == "batman-adv":
        _detours(plan, namespaces)


def command(plan: Plan, station: str, out: Path, epoch_ns: int) -> list[str]:
    """Return the command of ``station``'s daemon. It continues the records of an earlier daemon."""
    raw = out / "raw"
    given = SplitFile(
        address=plan.address[station],
        connection=plan.split_connections,
        queue=QUEUE,
        mtu=narrowest_mtu(plan.scenario),
        name=station,
        epoch_ns=epoch_ns,
        duration_s=plan.end_s,
        interval_s=plan.scenario.measure.interval_s,
        events=str(raw / f"events-split-{station}.jsonl"),
        table=str(raw / f"split-{station}.jsonl"),
    )
    document = documents.write(raw / f"split-{station}.json", given.document())
    return [program("hoplab-split"), str(document)]


def install(station: str, some: list[Part]) -> None:
    """Install the rules that send packets to the daemon. While none listens, packets pass."""
    with rules(station, TABLE) as table:
        for hook in ("input", "forward", "output"):
            table.chain(hook, hook, FILTER_PRIORITY)
        table.add("output", marked(MARK), accepted())
        if any(part.is_source or part.ttls is not None for part in some):
            table.add("input", _protocol(PROTOCOL_LACK), queued(QUEUE))
        for part in some:
            _rules(table, part)


def _rules(table: Rules, part: Part) -> None:
    split = part.conversation.split
    assert split is not None
    data, acknowledgements = _packets(split, back=False), _packets(split, back=True)
    queue = queued(QUEUE)
    if part.is_source:
        table.add("output", data, queue)
        table.add("input", acknowledgements, queue)
    if part.is_destination:
        table.add("input", data, queue)
        table.add("output", acknowledgements, queue)
    if part.ttls is None:
        return
    table.add("forward", acknowledgements, queue)
    if not part.ttls:
        table.add("forward", data, queue)
    for ttl in part.ttls:
        one = payload(NETWORK_HEADER, OFFSET_TTL, 1)
        table.add("forward", [*one, *compare(EQUAL, bytes((ttl,))), *data], queue)


def _protocol(number: int) -> list[Any]:
    return [*payload(NETWORK_HEADER, OFFSET_PROTOCOL, 1), *compare(EQUAL, bytes((number,)))]


def _packets(split: SplitConnection, back: bool) -> list[Any]:
    """Match packets with the connection's ends: its data, or the packets that go back."""
    ends = [(split.source, split.source_port), (split.destination, split.destination_port)]
    if back:
        ends.reverse()
    addresses = b"".join(ipaddress.IPv4Address(str(address)).packed for address, _ in ends)
    ports = b"".join(struct.pack(">H", port) for _, port in ends)
    return [
        *_protocol(PROTOCOL_TCP),
        *payload(NETWORK_HEADER, OFFSET_ADDRESSES, 8),
        *compare(EQUAL, addresses),
        *payload(TRANSPORT_HEADER, 0, 4),
        *compare(EQUAL, ports),
    ]


def _detours(plan: Plan, namespaces: Namespaces) -> None:
    for (station, destination), via in detours(plan).items():
        namespaces.netlink(station).route(
            "add",
            dst=f"{plan.address[destination]}/32",
            gateway=plan.address[via],
            oif=namespaces.index(station, "bat0"),
            prefsrc=plan.address[station],
            flags=["onlink"],
        )
