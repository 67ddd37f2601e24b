# SPDX-License-Identifier: Apache-2.0
"""Energy per transferred Mbit over four stations: which of ns-2's accountings, and measured cards.

A radio's energy is power times time in a state, and the sweep's radios draw 1 W in each: joules are
seconds here, and any card's power goes on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hoplab.study import plot
from hoplab.study.findings import Beside, Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.study.samples import Sample, difference
from hoplab.study.swept import Run, Runs

VARIANTS = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
LOSSES = {0.01: "loss 1 %", 0.05: "loss 5 %", 0.1: "loss 10 %"}
NS2_RADIATED_W = 0.281838
"""What ns-2's WaveLAN radiates; scripts give it as what sending and receiving use."""
Where = Callable[[Run], bool]
Found = Mapping[str, Mapping[str, Sample]]
"""J per Mbit by variant and column of the published table."""


@dataclass(frozen=True)
class Accounting:
    """Whose energy counts, and what each state draws in W."""

    name: str
    tx_w: float
    rx_w: float
    idle_w: float
    of: str = "mean"
    """"sender", "sum" or "mean" of the four stations."""

    def joules(self, run: Run) -> float:
        """What the run's radios used."""
        used: dict[str, float] = {
            row["node"]: self.tx_w * row["energy_tx_j"]
            + self.rx_w * row["energy_rx_j"]
            + self.idle_w * row["energy_idle_j"]
            for row in run.rows("radios")
        }
        if self.of == "sender":
            return used["n0"]
        return sum(used.values()) / (len(used) if self.of == "mean" else 1)


STUDY = Accounting("0.28 W, 0.28 W, idle 0: a station's mean", NS2_RADIATED_W, NS2_RADIATED_W, 0.0)
ACCOUNTINGS = (
    STUDY,
    Accounting("the same, the sender's", NS2_RADIATED_W, NS2_RADIATED_W, 0.0, "sender"),
    Accounting("the same, all four", NS2_RADIATED_W, NS2_RADIATED_W, 0.0, "sum"),
    Accounting("ns-2's 0.66 W, 0.395 W, idle 0.035 W: mean", 0.66, 0.395, 0.035),
    Accounting("Lucent Bronze, 1.33, 0.97, idle 0.84 W: mean", 1.327, 0.967, 0.844),
    Accounting("Lucent Silver, 1.35, 0.90, idle 0.74 W: mean", 1.346, 0.901, 0.739),
)
"""ns-2's variants, and cards that Feeney and Nilsson 2001 measured (`docs/medium.md`)."""
BRONZE = ACCOUNTINGS[4]


def mbit(run: Run) -> float:
    """Payload that reached the receiver."""
    return float(run.rows("flows")[0]["delivered_bytes"]) * 8e-6


def goodput(run: Run) -> tuple[float, float]:
    """Unique packets received over unique packets sent, and over all that were sent."""
    packets = run.rows("packets")
    sent = {row["seq"] for row in packets}
    received = {row["seq"] for row in packets if row["received_s"] is not None}
    return len(received) / len(sent), len(received) / len(packets)


def uniform(run: Run) -> bool:
    return run.at["loss"] in LOSSES


COLUMNS: dict[str, Where] = {
    "rts on": lambda run: uniform(run) and run.at["rts"] == "on",
    "rts off": lambda run: uniform(run) and run.at["rts"] == "off",
    "512 B": lambda run: uniform(run) and run.at["mtu"] == 512,
    "1500 B": lambda run: uniform(run) and run.at["mtu"] == 1500,
    "loss 1 %": lambda run: run.at["loss"] == 0.01,
    "loss 5 %": lambda run: run.at["loss"] == 0.05,
    "loss 10 %": lambda run: run.at["loss"] == 0.1,
    "burst": lambda run: run.at["loss"] == "burst",
    "all": uniform,
}
"""The published table's, each the mean of the settings that it holds."""


def mean_of_settings(runs: Runs, read: Callable[[Run], float]) -> Sample:
    """Each setting's mean over its seeds weighs the same, however many seeds it took.

    The settings' errors are independent; the degrees of freedom are the fewest of any of them,
    which makes the interval wide rather than narrow (Satterthwaite's are at least as many).
    """
    samples = [
        group.sample(read) for group in runs.groups("variant", "rts", "mtu", "loss").values()
    ]
    error = math.hypot(*(sample.error for sample in samples)) / len(samples)
    mean = sum(sample.mean for sample in samples) / len(samples)
    return Sample(mean, error, min(sample.n for sample in samples))


def j_per_mbit(runs: Runs, accounting: Accounting = STUDY) -> Sample:
    return mean_of_settings(runs, lambda run: accounting.joules(run) / mbit(run))


def _energy_table(found: Mapping[str, Mapping[str, Sample]]) -> Table:
    columns = [name for name in COLUMNS if any(name in own for own in found.values())]
    rows = [(VARIANTS[v], *(own.get(name) for name in columns)) for v, own in found.items()]
    return Table("energy", "J per Mbit, accounting of the study", ("", *columns), rows)


def _accounting_table(runs: Runs, found: Found, published: Mapping[str, Any]) -> Table:
    """How the published pattern comes out of each accounting; where the same in ns-2."""
    tables = {
        accounting.name: {
            variant: {
                name: j_per_mbit(own.filter(COLUMNS[name]), accounting).mean for name in cells
            }
            for variant, cells in found.items()
            for own in [runs.where(variant=variant)]
        }
        for accounting in ACCOUNTINGS
    }
    ns2 = published["ns2"]
    tables["ns-2.35: a station's mean"] = ns2["j_per_mbit"]
    tables["ns-2.35: the sender's"] = ns2["j_per_mbit_sender"]
    for name, table in ns2["j_per_mbit_elsewhere"].items():
        tables[f"ns-2.35, losses of {name}"] = table
    wanted = published["j_per_mbit"]
    rows = [
        ("published", *_pattern(wanted), ""),
        *(
            (name, *_pattern(table), f"{100 * _distance(table, wanted):.0f} %")
            for name, table in tables.items()
        ),
    ]
    heads = ("", "J/Mbit", "RTS on / off", "512 / 1500 B", "10 / 1 %", "burst / all", "rms off")
    return Table("accounting", "Whose energy, and of which states", heads, rows)


def _pattern(table: Mapping[str, Mapping[str, float]]) -> tuple[float | None, ...]:
    """Means over the variants: J/Mbit of all settings, and four ratios."""
    mean = {
        name: fmean(own[name] for own in table.values())
        for name in COLUMNS
        if all(name in own for own in table.values())
    }
    pairs = (
        ("rts on", "rts off"),
        ("512 B", "1500 B"),
        ("loss 10 %", "loss 1 %"),
        ("burst", "all"),
    )
    return (
        mean["all"],
        *(mean[a] / mean[b] if a in mean and b in mean else None for a, b in pairs),
    )


def _distance(
    table: Mapping[str, Mapping[str, float]], wanted: Mapping[str, Mapping[str, float]]
) -> float:
    """Root of the mean squared relative deviation over all cells that both have."""
    cells = [
        own[name] / wanted[variant][name] - 1 for variant, own in table.items() for name in own
    ]
    return math.sqrt(fmean(cell**2 for cell in cells))


def _goodput_table(runs: Runs) -> Table:
    """By variant and loss: unique received over unique sent, and over all sent."""
    groups = runs.groups("loss", "variant")
    losses = list(dict.fromkeys(loss for loss, _ in groups))
    rows: list[tuple[Cell, ...]] = [
        (
            VARIANTS[variant],
            *(goodput_of(groups[loss, variant], i) for loss in losses for i in (0, 1)),
        )
        for variant in VARIANTS
        if (losses[0], variant) in groups
    ]
    heads = [
        f"{LOSSES.get(loss, 'burst')}, {of}" for loss in losses for of in ("unique", "all sent")
    ]
    return Table(
        "goodput",
        "Unique packets received over unique packets, and over all, sent",
        ("", *heads),
        rows,
    )


def goodput_of(runs: Runs, which: int) -> Sample:
    return mean_of_settings(runs, lambda run: goodput(run)[which])


def _energy_picture(found: Found, published: Mapping[str, Any]) -> Picture:
    panels = []
    for variant, own in found.items():
        names = [name for name in COLUMNS if name in own]
        ticks = {float(i): name.replace(" ", "\n", 1) for i, name in enumerate(names)}
        panel = plot.Panel(VARIANTS[variant], (-0.6, len(names) - 0.4), (0, 1.6), ticks=ticks)
        samples = [own[name] for name in names]
        panel.add(
            "here",
            [(i - 0.15, sample.mean) for i, sample in enumerate(samples)],
            errors=[sample.half_width for sample in samples],
            style=("#1f5fa8", "o"),
        )
        for kind, table, shift in (
            ("published", published["j_per_mbit"], 0.0),
            ("ns-2.35", published["ns2"]["j_per_mbit"], 0.15),
        ):
            panel.add(kind, [(i + shift, table[variant][n]) for i, n in enumerate(names)])
        panels.append(panel)
    return Picture("energy", plot.svg(panels, "", "J per Mbit", "Energy of TCP over three hops"))


def _accounting_picture(runs: Runs) -> Picture:
    """Radiated power alone, and a card that uses as much idle as receiving: what is left of RTS."""
    panels = []
    for accounting in (STUDY, BRONZE):
        points = {
            (rts, mtu): [
                (loss * 100, j_per_mbit(group, accounting))
                for (loss,), group in runs.where(rts=rts, mtu=mtu).groups("loss").items()
                if loss in LOSSES
            ]
            for rts in ("on", "off")
            for mtu in (512, 1500)
        }
        top = max(sample.mean + sample.half_width for own in points.values() for _, sample in own)
        panel = plot.Panel(accounting.name, (0, 11), (0, 1.1 * top), x_label="loss, %")
        for (rts, mtu), own in points.items():
            panel.add(
                f"RTS {rts}, {mtu} B",
                [(loss, sample.mean) for loss, sample in own],
                line="-",
                errors=[sample.half_width for _, sample in own],
            )
        panels.append(panel)
    return Picture("accounting", plot.svg(panels, "", "J per Mbit", "What idle listening does"))


def _claims(runs: Runs, found: Found) -> Iterator[Claim]:
    yield _dearer(found, "rts", "RTS/CTS costs energy", "rts on", "rts off")
    yield _dearer(found, "size", "Larger packets are more efficient", "512 B", "1500 B")
    yield _least(found, "low-loss", "At low loss SACK is the most efficient", "sack", "loss 1 %")
    yield _least(found, "high-loss", "At high loss NewReno is", "newreno", "loss 10 %")
    yield _least(found, "burst", "In bursts SACK is, by a fraction", "sack", "burst")
    if {"reno", "newreno"} <= found.keys():
        yield _alike(found)
    best = {v: goodput_of(runs.where(variant=v), 1) for v in found}
    yield _first("goodput", "SACK's goodput is the best", "sack", best, -1)


def _dearer(found: Found, name: str, sentence: str, more: str, less: str) -> Claim:
    """A setting costs more than another with every variant, beyond chance."""
    gaps = {v: difference(own[more], own[less]) for v, own in found.items()}
    sure = [v for v, gap in gaps.items() if gap.mean > gap.half_width]
    verdict: Verdict = "reproduced" if len(sure) == len(gaps) else "in part" if sure else "not"
    shown = ", ".join(
        f"{VARIANTS[v]} {100 * gap.mean / found[v][less].mean:+.0f}"
        f" ± {100 * gap.half_width / found[v][less].mean:.0f} %"
        for v, gap in gaps.items()
    )
    return Claim(name, sentence, verdict, f"{more} over {less}: {shown}")


def _least(found: Found, name: str, sentence: str, variant: str, column: str) -> Claim:
    cells = {v: own[column] for v, own in found.items() if column in own}
    return _first(name, sentence, variant, cells, 1)


def _first(name: str, sentence: str, variant: str, cells: Mapping[str, Sample], sign: int) -> Claim:
    """Whether a variant's value is the least (``sign`` 1) or the greatest (-1), beyond chance."""
    others = {v: difference(sample, cells[variant]) for v, sample in cells.items() if v != variant}
    sure = [sign * gap.mean > gap.half_width for gap in others.values()]
    below = [sign * gap.mean > 0 for gap in others.values()]
    verdict: Verdict = "reproduced" if all(sure) else "in part" if all(below) else "not"
    shown = ", ".join(f"{VARIANTS[v]} {told(sample)}" for v, sample in cells.items())
    return Claim(name, sentence, verdict, shown)


def _alike(found: Found) -> Claim:
    """Reno and NewReno differ at 10 % and nowhere else, by more than chance and 5 %."""
    gaps = {
        name: difference(found["reno"][name], found["newreno"][name])
        for name in ("loss 1 %", "loss 5 %", "loss 10 %")
        if name in found["reno"]
    }
    apart = {name: abs(gap.mean) > gap.half_width for name, gap in gaps.items()}
    heavy = apart.pop("loss 10 %")
    verdict: Verdict = "not" if any(apart.values()) else "reproduced" if heavy else "in part"
    shown = ", ".join(
        f"{name} {100 * gap.mean / found['newreno'][name].mean:+.1f}"
        f" ± {100 * gap.half_width / found['newreno'][name].mean:.1f} %"
        for name, gap in gaps.items()
    )
    sentence = "Reno and NewReno are alike but at heavy loss"
    return Claim("alike", sentence, verdict, f"Reno over NewReno: {shown}")


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    """Tables, figures and verdicts of the study."""
    by_variant = {v: runs.where(variant=v) for v in VARIANTS if runs.where(variant=v)}
    found = {
        variant: {
            name: j_per_mbit(chosen)
            for name, where in COLUMNS.items()
            if (chosen := own.filter(where))
        }
        for variant, own in by_variant.items()
    }
    return Findings(
        tables=[
            _energy_table(found),
            _accounting_table(runs, found, published),
            _goodput_table(runs),
        ],
        pictures=[_energy_picture(found, published), _accounting_picture(runs)],
        claims=list(_claims(runs, found)),
        beside=[]
        if not runs.where(loss=0.05)
        else [
            Beside(
                f"{VARIANTS[variant]}, {name}",
                found[variant][name],
                value,
                published["ns2"]["j_per_mbit"][variant].get(name),
                published["causes"].get(name, ""),
            )
            for variant, values in published["j_per_mbit"].items()
            for name, value in values.items()
            if variant in found and name in found[variant]
        ],
        values={
            f"j_per_mbit/{variant}/{name}": sample.mean
            for variant, values in found.items()
            for name, sample in values.items()
        },
    )
