# SPDX-License-Identifier: Apache-2.0
"""The parts of stations in split flows, where the kernel routes (`docs/split-tcp.md`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.split import MAX_HOPS
from hoplab.model.network.plan import Conversation, Plan

TTL = 64
"""The TTL with which Linux sends. A forwarding station sees it less the hops from the source."""


@dataclass(frozen=True)
class Part:
    """The part of one station in one flow."""

    conversation: Conversation
    is_source: bool = False
    is_destination: bool = False
    ttls: tuple[int, ...] | None = None
    """For a proxy, the TTLs with which it forwards segments that it must take, empty for any. None
    for other stations."""


def parts(plan: Plan) -> dict[str, list[Part]]:
    """Return, by station, its parts in their order. Stations without a part are left out."""
    found: dict[str, list[Part]] = {}
    for station in plan.address:
        if some := list(_of(plan, station)):
            found[station] = some
    return found


def _of(plan: Plan, station: str) -> Iterator[Part]:
    for conversation in plan.conversations:
        split, flow = conversation.split, conversation.flow
        if split is None:
            continue
        if station == flow.source:
            yield Part(conversation, is_source=True)
        elif station == flow.destination:
            # Otherwise its kernel's acknowledgements already say all.
            if split.ack_every > 1:
                yield Part(conversation, is_destination=True)
        elif station in conversation.proxies:
            yield Part(conversation, ttls=())
        elif not conversation.proxies and split.every_hops is not None:
            furthest = min(MAX_HOPS, len(plan.address) - 1)
            hops = range(split.every_hops, furthest + 1, split.every_hops)
            yield Part(conversation, ttls=tuple(TTL - hop for hop in hops))


def detours(plan: Plan) -> dict[tuple[str, str], str]:
    """Return detours where no station sees passing packets at IP (B.A.T.M.A.N. advanced). They
    have, by station and destination, the proxy through which packets go. Packets thus pass all
    proxies, both ways.

    Raises `ScenarioError` if two flows would send from a station to one destination through
    different proxies.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for conversation in plan.conversations:
        if conversation.split is None:
            continue
        flow, name = conversation.flow, conversation.name
        way = [flow.source, *conversation.proxies, flow.destination]
        for stations in (way, way[::-1]):
            for station, via in pairwise(stations):
                key = station, stations[-1]
                other, whose = found.setdefault(key, (via, name))
                if other != via:
                    raise ScenarioError(
                        f"split: {station} would send to {stations[-1]} by {other} for {whose} and "
                        f"by {via} for {name}, and routes know no flows; choose other stations"
                    )
    return {key: via for key, (via, _) in found.items() if via != key[1]}
