# SPDX-License-Identifier: Apache-2.0
"""What L4S gets over Wi-Fi: Prague and CUBIC with DualPI2 behind and before an access point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import plot
from hoplab.many.study.findings import (
    Beside,
    Cell,
    Claim,
    Findings,
    Picture,
    Table,
    Verdict,
    told,
)
from hoplab.many.study.swept import Run, Runs

FROM_S, TO_S = 5.0, 24.0
"""The steady part. A connection that begins later has no part in a run."""
STEP_1, STEP_5, CUBIC = "Prague, step 1 ms", "Prague, step 5 ms", "CUBIC, DualPI2"
SHARED = "shared"
"""The air with a neighbour, so that packets come in bursts."""
MUCH = 0.85
"""Share of CUBIC's goodput: below it, much is unused, and above `NEARLY`, little."""
NEARLY = 0.95
COLOURS = {STEP_1: "#1f5fa8", STEP_5: "#2a9d8f"}
SHARES = {"1/8": ("-", "o"), "1/4": ("--", "s")}
"""Line and marker by the bursts' share of the air."""


@dataclass(frozen=True)
class Share:
    """What a connection got."""

    mbps: float
    rtt_ms: float
    marked: float
    """Share of its segments that came back marked. Of CUBIC it has no meaning: each segment counts
    until the sender tells that it has heard (RFC 3168)."""


def shares(run: Run) -> dict[str, Share]:
    """Return the share of each connection that went on all the time, by name."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in run.rows("tcp"):
        if FROM_S <= row["t_s"] <= TO_S:
            series.setdefault(row["flow"], []).append(row)
    return {name: _share(rows) for name, rows in series.items()}


def _share(rows: Sequence[Mapping[str, Any]]) -> Share:
    first, last = rows[0], rows[-1]
    octets = last["delivered_bytes"] - first["delivered_bytes"]
    segments = max(octets, 1) / 1448
    marked = (last["marked"] or 0) - (first["marked"] or 0)
    return Share(
        8e-6 * octets / (last["t_s"] - first["t_s"]),
        fmean(row["rtt_ms"] for row in rows),
        marked / segments,
    )


def of(runs: Runs, name: str, read: Callable[[Share], float]) -> Sample:
    return runs.sample(lambda run: read(shares(run)[name]))


def _mbps(share: Share) -> float:
    return share.mbps


def _rtt_ms(share: Share) -> float:
    return share.rtt_ms


def _marked(share: Share) -> float:
    """Return the percentage."""
    return 100 * share.marked


def _name(who: str) -> str:
    """The connection of a run with one alone."""
    return "prague" if who.startswith("Prague") else "cubic"


def _behind_table(behind: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for (mbps, air, who), own in behind.groups("mbps", "air", "who").items():
        name = _name(str(who))
        rows.append(
            (
                f"{mbps:g}",
                str(air),
                str(who),
                of(own, name, _mbps),
                of(own, name, _rtt_ms),
                of(own, name, _marked) if name == "prague" else None,
            )
        )
    heads = ("bottleneck, Mbit/s", "air", "", "goodput, Mbit/s", "round trip, ms", "marked, %")
    return Table("behind", "DualPI2 behind the wireless link", heads, rows)


def _bursts_table(bursts: Runs) -> Table:
    """Prague's goodput by how long and how often others have the air."""
    columns = list(bursts.groups("mbps", "who"))
    rows: list[Sequence[Cell]] = []
    for (air,), own in bursts.groups("air").items():
        samples = [of(own.where(mbps=r, who=who), "prague", _mbps) for r, who in columns]
        rows.append((str(air), *samples))
    heads = ("bursts, share of the air", *(f"{mbps:g} Mbit/s, {who}" for mbps, who in columns))
    return Table("bursts", "Prague's goodput by the bursts before its queue", heads, rows)


def _together_table(name: str, title: str, runs: Runs, axis: str, head: str) -> Table:
    rows: list[Sequence[Cell]] = []
    for (value, who), own in runs.groups(axis, "who").items():
        cells: list[Cell] = []
        for connection, reads in (
            ("prague", (_mbps, _rtt_ms, _marked)),
            ("cubic", (_mbps, _rtt_ms)),
        ):
            there = who == "both" or _name(str(who)) == connection
            cells += [of(own, connection, read) if there else None for read in reads]
        rows.append((str(value), str(who), *cells))
    heads = (
        *(head, "", "Prague, Mbit/s", "round trip, ms", "marked, %"),
        *("CUBIC, Mbit/s", "round trip, ms"),
    )
    return Table(name, title, heads, rows)


def _picture(behind: Runs, bursts: Runs, published: Mapping[str, Any]) -> Picture:
    panels = []
    for (mbps,), own in bursts.groups("mbps").items():
        panel = plot.Panel(
            f"bottleneck: {mbps:g} Mbit/s", (-0.2, 4.2), (0, mbps), y_label="goodput (Mbit/s)"
        )
        free = behind.where(mbps=mbps, air="free")
        for who, colour in COLOURS.items():
            for share, (line, marker) in SHARES.items():
                samples = {0.0: of(free.where(who=who), "prague", _mbps)}
                for (air,), those in own.where(who=who).groups("air").items():
                    ms, _, its = str(air).partition(" ms, ")
                    if its == share:
                        samples[float(ms)] = of(those, "prague", _mbps)
                points = [(ms, sample.mean) for ms, sample in samples.items()]
                errors = [sample.half_width for sample in samples.values()]
                panel.add(f"{who}, {share}", points, line, errors, (colour, marker))
            value = published["goodput"][who][published["mbps"].index(mbps)]
            panel.add("published", [(0, value), (4, value)], ":", None, ("#666666", ""))
        panels.append(panel)
    title = "Prague by the bursts before its queue, and their share of the air"
    return Picture("bursts", plot.svg(panels, "bursts (ms)", "", title))


def _relative(behind: Runs, mbps: int, who: str) -> Sample:
    """Goodput over CUBIC's mean with DualPI2, with the air shared."""
    own = behind.where(mbps=mbps, air=SHARED)
    cubic = of(own.where(who=CUBIC), "cubic", _mbps).mean
    return of(own.where(who=who), _name(who), _mbps).scaled(1 / cubic)


def _verdict(holds: Sequence[bool]) -> Verdict:
    return "reproduced" if all(holds) else "in part" if any(holds) else "not"


def _claims(behind: Runs, said: Mapping[str, Any]) -> list[Claim]:
    rates = [int(r) for r in said["mbps"] if behind.where(mbps=int(r), air=SHARED)]
    ones = {r: _relative(behind, r, STEP_1) for r in rates}
    fives = {r: _relative(behind, r, STEP_5) for r in rates}

    def shown(found: Mapping[int, Sample]) -> str:
        parts = [f"{told(share.scaled(100))} % at {r} Mbit/s" for r, share in found.items()]
        return "of CUBIC's goodput: " + ", ".join(parts)

    claims = [
        Claim(
            "bursts",
            said["bursts"],
            _verdict([one.mean < MUCH for one in ones.values()]),
            shown(ones),
        ),
        Claim(
            "step",
            said["step"],
            _verdict([one.mean > NEARLY for one in fives.values()]),
            shown(fives),
        ),
    ]
    if len(rates) > 1:
        less = ones[max(rates)].mean < ones[min(rates)].mean
        claims.append(Claim("more", said["more"], _verdict([less]), shown(ones)))
    return claims


def _beside(behind: Runs, said: Mapping[str, Any]) -> list[Beside]:
    found = []
    for who, values in said["goodput"].items():
        for mbps, value in zip(said["mbps"], values, strict=True):
            own = behind.where(mbps=int(mbps), air=SHARED, who=who)
            if own:
                sample = of(own, _name(who), _mbps)
                found.append(Beside(f"{who}, {mbps} Mbit/s", sample, value))
    return found


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    behind, said = runs.part(), published["heist"]
    tables, pictures = [_behind_table(behind)], []
    if bursts := runs.part("bursts"):
        tables.append(_bursts_table(bursts))
        pictures.append(_picture(behind, bursts, said))
    if before := runs.part("before"):
        tables.append(
            _together_table("before", "DualPI2 before the access point", before, "air", "air")
        )
    if radio := runs.part("radio"):
        tables.append(
            _together_table("radio", "mac80211's queues", radio, "threshold", "ce_threshold_ms")
        )
    values = {}
    for (mbps, air, who), own in behind.groups("mbps", "air", "who").items():
        values[f"{who}_{mbps}_{air}_mbps"] = of(own, _name(str(who)), _mbps).mean
    return Findings(
        tables,
        pictures,
        _claims(behind, said),
        _beside(behind, said),
        values,
    )
