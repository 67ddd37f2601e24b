# SPDX-License-Identifier: Apache-2.0
"""What stations are to split flows, where the kernel routes (`docs/split-tcp.md`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hoplab.model.errors import ScenarioError
from hoplab.model.scenario.plan import Conversation, Plan
from hoplab.model.scenario.split import MAX_HOPS

TTL = 64
"""With which Linux sends: less the hops from the source where a station forwards."""


@dataclass(frozen=True)
class Part:
    """What one station is to one flow."""

    conversation: Conversation
    is_source: bool = False
    is_destination: bool = False
    ttls: tuple[int, ...] | None = None
    """Of a proxy: the TTLs with which it forwards segments that it is to take, empty for any; None
    of who is no proxy."""


def parts(plan: Plan) -> dict[str, list[Part]]:
    """By station, in their order, what it has to do; stations that have nothing to do are left
    out."""
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
            # Else its kernel's acknowledgements say all.
            if split.ack_every > 1:
                yield Part(conversation, is_destination=True)
        elif station in conversation.proxies:
            yield Part(conversation, ttls=())
        elif not conversation.proxies and split.every_hops is not None:
            furthest = min(MAX_HOPS, len(plan.address) - 1)
            hops = range(split.every_hops, furthest + 1, split.every_hops)
            yield Part(conversation, ttls=tuple(TTL - hop for hop in hops))


def detours(plan: Plan) -> dict[tuple[str, str], str]:
    """Where no station sees what passes at IP (B.A.T.M.A.N. advanced): by station and destination,
    the proxy by which its packets go, so that they pass all proxies, both ways.

    Raises `ScenarioError` where two flows would have a station send to one destination by
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
