# SPDX-License-Identifier: Apache-2.0
"""Every reading of what the study leaves open, held against all of its figures at once.

A reading is what ``sweep-search.toml`` varies beside the variant and the figure's own setting. Its
distance from the study is the root of the mean square of ln(here / published). A distance of 1.5
says that a value is typically 1.5 times too high or too low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hoplab.many.study.findings import FAR, Cell, Table
from hoplab.many.study.swept import Run, Runs

AXES = ("hop", "queue", "timer", "segment")
WESTWOODS = ("tcpw", "tcpw without SACK")
"""What the study may mean by Westwood."""
NAMES = {"reno": "Reno", "sack": "SACK", "tcpw": "Westwood"}
FIRST_S = 10.0
LEAST_MBPS = 1e-3
"""Taken for a transfer that did not begin."""
SHOWN = 3
"""Readings, the nearest first."""


@dataclass(frozen=True)
class Reading:
    """A place in the space, and Mbit/s there, in the first 10 s and in all, by variant and figure's
    setting."""

    at: Mapping[str, Any]
    early: Mapping[tuple[str, str], float]
    whole: Mapping[tuple[str, str], float]

    def __str__(self) -> str:
        at = self.at
        recovery = "" if at["westwood"] == "tcpw" else ", Westwood without SACK"
        return (
            f"{at['hop']}, queue of {at['queue']}, timer from {at['timer']} ms, "
            f"{at['segment']} octets{recovery}"
        )

    def values(self) -> dict[tuple[str, str], float]:
        """The study's quantities, by figure and variant."""
        found = {}
        for v in NAMES:
            whole = {at: mbps for (variant, at), mbps in self.whole.items() if variant == v}
            found["figure 3, first 10 s", v] = self.early[v, "standard"]
            found["figure 4, 0 %", v] = whole["0 %"]
            found["figure 4, 5 %", v] = found["figure 5, 2 Mbit/s", v] = whole["standard"]
            found["figure 4, 10 %", v] = whole["10 %"]
            found["figure 6, left at 15 ms", v] = whole["0.05 %, 15 ms"] / whole["0.05 %, 5 ms"]
            times = self.whole["tcpw", "10 Mbit/s"] / whole["10 Mbit/s"]
            found["figure 5, 10 Mbit/s, Westwood over", v] = times
        return found


def published_values(published: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """As `Reading.values`, of the study. Figure 3's later part has Westwood alone, and is left."""
    figures = {
        "figure 3, first 10 s": published["time"]["first"],
        "figure 4, 0 %": published["loss"]["0"],
        "figure 4, 5 %": published["loss"]["5"],
        "figure 4, 10 %": published["loss"]["10"],
        "figure 5, 2 Mbit/s": published["rate"]["2"],
        "figure 5, 10 Mbit/s, Westwood over": published["rate_10_times"],
        "figure 6, left at 15 ms": published["propagation_15_left"],
    }
    return {(name, v): value for name, own in figures.items() for v, value in own.items()}


def readings(runs: Runs) -> Iterator[Reading]:
    """Each reading of the runs, under either meaning of Westwood."""
    for place, own in runs.groups(*AXES).items():
        for westwood in WESTWOODS:
            meant = {"reno": "reno", "sack": "sack", "tcpw": westwood}
            early, whole = (
                {
                    (v, at): max(LEAST_MBPS, group.sample(read).mean)
                    for v, variant in meant.items()
                    for (at,), group in own.where(variant=variant).groups("at").items()
                }
                for read in (_early_mbps, mbps)
            )
            yield Reading(
                {**dict(zip(AXES, place, strict=True)), "westwood": westwood}, early, whole
            )


def mbps(run: Run) -> float:
    """Goodput over the whole transfer."""
    return float(run.rows("flows")[0]["goodput_kbps"]) / 1000


def _early_mbps(run: Run) -> float:
    delivered = [row["delivered_bytes"] or 0 for row in run.rows("tcp") if row["t_s"] <= FIRST_S]
    return 8e-6 * float(delivered[-1]) / FIRST_S


def factor(logarithms: Sequence[float]) -> float:
    """The typical factor of these differences."""
    return math.exp(math.sqrt(fmean(one**2 for one in logarithms)))


def distance(reading: Reading, wanted: Mapping[tuple[str, str], float]) -> float:
    return factor(list(_apart(reading, wanted).values()))


def distance_by_shape(reading: Reading, wanted: Mapping[tuple[str, str], float]) -> float:
    """As `distance`, where each figure may have a unit or an axis of its own: its rates may all be
    wrong by the same factor."""
    apart = _apart(reading, wanted)
    for figure in ("figure 3", "figure 4", "figure 5, 2 Mbit/s"):
        own = {key: value for key, value in apart.items() if key[0].startswith(figure)}
        apart |= {key: value - fmean(own.values()) for key, value in own.items()}
    return factor(list(apart.values()))


def _apart(
    reading: Reading, wanted: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    found = reading.values()
    return {key: math.log(found[key] / value) for key, value in wanted.items()}


def least_distance(wanted: Mapping[tuple[str, str], float]) -> float:
    """Of any reading whatever: figures 3, 4 and 5 show the standard setting, with unequal values.

    Nearest to all of a variant's is their geometric mean.
    """
    same = ("figure 3, first 10 s", "figure 4, 5 %", "figure 5, 2 Mbit/s")
    apart = []
    for v in NAMES:
        logarithms = [math.log(wanted[name, v]) for name in same if (name, v) in wanted]
        apart += [one - fmean(logarithms) for one in logarithms]
    return factor(apart + [0.0] * (len(wanted) - len(apart)))


def reached(found: Sequence[Reading], key: tuple[str, str], published: float) -> str:
    """Return what the readings say of a published value: that none comes within `FAR` of it, or
    which one comes nearest. Empty for a value that they do not have."""
    values = {str(reading): reading.values().get(key) for reading in found}
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return ""
    least, most = min(known.values()), max(known.values())
    if not least * (1 - FAR) <= published <= most * (1 + FAR):
        return f"none of {len(known)} readings: {least:.3g} to {most:.3g}"
    nearest = min(known, key=lambda name: abs(math.log(known[name] / published)))
    return f"{nearest}: {known[nearest]:.3g}"


def tables(found: Sequence[Reading], published: Mapping[str, Any]) -> Iterator[Table]:
    """The nearest readings; and each published value between the least and most of all readings."""
    wanted = published_values(published)
    found = sorted(found, key=lambda reading: distance(reading, wanted))
    by_shape = min(found, key=lambda reading: distance_by_shape(reading, wanted))
    rows: list[Sequence[Cell]] = [
        (
            f"{found.index(reading) + 1}",
            str(reading),
            f"{distance(reading, wanted):.2f}",
            f"{distance_by_shape(reading, wanted):.2f}",
        )
        for reading in (*found[:SHOWN], by_shape, found[-1])
    ]
    least = f"{least_distance(wanted):.2f}"
    rows.append(("", "any reading, by the figures' own contradictions", least, None))
    columns = ("", "reading", "factor", "with units free")
    yield Table("readings", "Readings by their distance", columns, rows)
    values = [reading.values() for reading in found]
    yield Table(
        "ranges",
        "Each published value among the readings",
        ("", "published", "nearest reading", "least of all", "most of all"),
        [
            (
                f"{name}, {NAMES[v]}",
                f"{value:g}",
                *(
                    f"{one:.3g}"
                    for one in (
                        values[0][name, v],
                        min(own[name, v] for own in values),
                        max(own[name, v] for own in values),
                    )
                ),
            )
            for (name, v), value in wanted.items()
        ],
    )
