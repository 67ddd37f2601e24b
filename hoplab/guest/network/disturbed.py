# SPDX-License-Identifier: Apache-2.0
"""A wire on which chance acts: jitter, losses in bursts, overtaking and second copies."""

from __future__ import annotations

from typing import Any

from hoplab.guest.network.directions import (
    IN_ORDER_BYTES_PER_S,
    LEAF,
    ROOT,
    room,
    serialising_bytes_per_s,
)
from hoplab.model.keys.links import NETEM_PACKETS, Bursts, Link
from hoplab.model.network import jitter
from hoplab.model.streams import stream_seed


def wire(
    wires: Any, index: int, link: Link, limit: int, seed: int | None, verb: str = "add"
) -> None:
    """A netem with the serialisation and the losses, and where packets vary in delay or overtake, a
    second one inside it.

    Together they would spoil the rate: netem lets a packet's serialisation begin when the delay of
    the one before it has ended. The inner one has a rate that only keeps packets in order.
    """
    varies = link.jitter_ms > 0 or link.reorder > 0
    before_ms = link.delay_ms if link.reorder else min(link.delay_ms, _before_ms(link))
    inner_ms = before_ms if varies else 0.0
    seeds: tuple[dict[str, int], ...] = ({}, {})
    if seed is not None:
        seeds = ({"seed": seed}, {"seed": stream_seed(seed, "inner")})
    bursts = link.loss if isinstance(link.loss, Bursts) else None
    losses: dict[str, Any] = {"loss": link.loss}
    if bursts is not None:
        leaving = bursts.p_good_to_bad, bursts.p_bad_to_good
        losses = {"bursts": (*leaving, bursts.loss_bad, bursts.loss_good)}
    wires.tc(
        verb,
        "netem",
        index,
        ROOT,
        delay_us=(link.delay_ms - inner_ms) * 1000,
        rate_bytes=serialising_bytes_per_s(link),
        duplicate=link.duplicate,
        # A copy takes a place on the wire for which the sending end has left no time.
        limit=min(limit, room(link)) if link.duplicate else limit,
        **losses,
        **seeds[0],
    )
    if not varies:
        return
    drawn = {}
    if link.jitter_ms and link.jitter != "uniform":
        drawn = {"distribution": jitter.table(link.jitter)}
    wires.tc(
        verb,
        "netem",
        index,
        LEAF,
        parent=ROOT + 1,
        delay_us=inner_ms * 1000,
        jitter_us=link.jitter_ms * 1000,
        rate_bytes=IN_ORDER_BYTES_PER_S,
        reorder=link.reorder,
        limit=NETEM_PACKETS,
        **drawn,
        **seeds[1],
    )


def _before_ms(link: Link) -> float:
    return jitter.before(link.jitter, link.jitter_ms)
