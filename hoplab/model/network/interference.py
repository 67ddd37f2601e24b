# SPDX-License-Identifier: Apache-2.0
"""Other transmitters, as the medium's document has them: when they send, and how much of it falls
into a channel."""

from __future__ import annotations

import math
from typing import Any

from hoplab.model.keys.documents import nanoseconds
from hoplab.model.keys.interferers import SILENT_DBM, Interferer
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.network.channels import channel_mhz, signal_mhz
from hoplab.model.network.leakage import Band, filter_mhz
from hoplab.model.network.puncturing import remaining_mhz

HOP_MHZ = 1.0
"""Width of Bluetooth's channels."""


def courses(one: Interferer) -> dict[str, Any]:
    """Return when an interferer is on, and with which power."""
    if one.kind == "bluetooth":
        slot_s = 1 / one.hops_per_s
        return {
            "hops": {
                "dbm": one.power_dbm,
                "slot_ns": nanoseconds(slot_s),
                "on_ns": nanoseconds(slot_s * one.share_on),
                "frequencies": _hops(one),
            }
        }
    if one.kind == "steps":
        points = [[nanoseconds(t_s), None if dbm <= SILENT_DBM else dbm] for t_s, dbm in one.steps]
        return {"steps": {"points": points}}
    points = [[0, one.power_dbm]]
    if one.kind == "constant":
        return {"steps": {"points": points}}
    period_s = one.period_ms / 1000 if one.kind == "periodic" else 1 / one.mains_hz
    if one.share_on < 1:
        points.append([nanoseconds(period_s * one.share_on), None])
    return {"steps": {"points": points, "period_ns": nanoseconds(period_s)}}


def shares(
    one: Interferer,
    radio: ResolvedRadio,
    widths: dict[int, int],
    punctured: dict[int, int],
) -> list[dict[str, Any]]:
    """Return what each channel in use gets of an interferer, that of ``radio`` first. ``widths``
    are those of the channels, in MHz. ``punctured`` has the bitmaps of those that leave subchannels
    out."""
    found = []
    for channel in (radio.channel, *(other for other in widths if other != radio.channel)):
        width = widths.get(channel, radio.width_mhz)
        heard = filter_mhz(radio.standard, Band.of(*signal_mhz(radio, channel, width)))
        share = {"channel_mhz": channel_mhz(radio.band, channel)}
        if one.kind == "bluetooth":
            first, last = _heard_hops(one, heard)
            found.append({**share, "db": 0.0, "hops": [first, last]})
        else:
            low, high = one.band_mhz
            left = remaining_mhz(*signal_mhz(radio, channel, width), punctured.get(channel, 0))
            common = sum(_common_mhz(one.band_mhz, part, heard) for part in left)
            # A channel without any has an entry too: the first one is that of untuned radios.
            part = common / (high - low)
            found.append({**share, "db": 10 * math.log10(part) if part else SILENT_DBM})
    return found


def _common_mhz(*spans: tuple[float, float]) -> float:
    """Return how much all of these bands share."""
    return max(min(high for _, high in spans) - max(low for low, _ in spans), 0.0)


def _hops(one: Interferer) -> int:
    low, high = one.band_mhz
    return int((high - low) / HOP_MHZ)


def _heard_hops(one: Interferer, heard: tuple[float, float]) -> tuple[int, int]:
    """Return the first hop whose middle is in a receiver's filter, and the first one beyond."""
    low, _ = one.band_mhz
    middles = [low + HOP_MHZ * (hop + 0.5) for hop in range(_hops(one))]
    inside = [hop for hop, mhz in enumerate(middles) if heard[0] <= mhz <= heard[1]]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)
