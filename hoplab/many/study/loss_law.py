# SPDX-License-Identifier: Apache-2.0
"""Reno's rate on a path that loses segments one by one.

PFTK: Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Reno Performance", IEEE/ACM ToN 8(2), 2000,
the approximation of the full model. Square root: Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997.
"""

from __future__ import annotations

from math import sqrt


def pftk(
    loss: float, round_trip_s: float, timeout_s: float, window: float, segments_per_ack: int = 1
) -> float:
    """Return segments sent a second, retransmissions included, by a window of at most ``window``.

    ``loss`` is the share of segments lost, above 0. ``timeout_s`` is T0, the mean length of the
    first timeout.
    """
    b = segments_per_ack
    per_segment_s = round_trip_s * sqrt(2 * b * loss / 3) + timeout_s * min(
        1.0, 3 * sqrt(3 * b * loss / 8)
    ) * loss * (1 + 32 * loss**2)
    return min(window / round_trip_s, 1 / per_segment_s)


def square_root(loss: float, round_trip_s: float, segments_per_ack: int = 1) -> float:
    """Return segments a second: sqrt(3 / (2 b p)) of them each round trip."""
    return sqrt(3 / (2 * segments_per_ack * loss)) / round_trip_s
