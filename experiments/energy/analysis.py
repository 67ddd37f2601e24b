# SPDX-License-Identifier: Apache-2.0
"""Energy per transferred Mbit over four stations: which of ns-2's accountings, and measured cards.

A radio's energy is power times time in a state. The sweep's radios draw 1 W in each state, so
joules are seconds here, and any card's power is applied afterwards. ``ns2.toml`` has the same
seconds of ns-2.35.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

from hoplab.host.statistics.samples import Sample, combined, relative
from hoplab.many.study import plot
from hoplab.many.study.findings import Beside, Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

STYLES = {"ns-2.35": ("#5a6576", "x")}
"""Its usual colour is that of SACK, which has a place of its own in this picture."""
VARIANTS = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
LOSSES = {0.01: "loss 1 %", 0.05: "loss 5 %", 0.1: "loss 10 %"}
BURST = "burst"
SLIGHT = 0.01
"""A relative lead below it is none, where the study gives no figure; elsewhere half of its lead."""
ALIKE = 0.05
"""Variants whose energies are nearer to each other are alike."""
States = tuple[float, float, float]
"""Seconds for each Mbit that a station sends, receives (senses), is idle."""
Scale = Mapping[str, Mapping[str, float]]
"""J per Mbit by variant and column of the published table."""
Found = Mapping[str, Mapping[str, Sample]]


class Setting(NamedTuple):
    """One of the study's 42 combinations: the axes of the sweep."""

    variant: str
    rts: str
    mtu: int
    loss: float | str


@dataclass(frozen=True)
class Powers:
    """What each state draws in W."""

    name: str
    tx_w: float
    rx_w: float
    idle_w: float

    def watt_seconds(self, states: States) -> float:
        return sum(w * s for w, s in zip((self.tx_w, self.rx_w, self.idle_w), states, strict=True))


RADIATED = Powers("0.2818 W, 0.2818 W, idle 0", 0.281838, 0.281838, 0.0)
"""What ns-2's WaveLAN radiates; its manual gives it as the default of sending and receiving."""
SENDING = Powers("0.2818 W, receiving 0, idle 0", 0.281838, 0.0, 0.0)
BUILT_IN = Powers("0.66 W, 0.395 W, idle 0", 0.66, 0.395, 0.0)
"""What ns-2's code takes where a script says nothing."""
BUILT_IN_IDLE = Powers("0.66 W, 0.395 W, idle 0.035 W", 0.66, 0.395, 0.035)
BRONZE = Powers("Lucent Bronze, 1.33 W, 0.97 W, idle 0.84 W", 1.327, 0.967, 0.844)
SILVER = Powers("Lucent Silver, 1.35 W, 0.90 W, idle 0.74 W", 1.346, 0.901, 0.739)
"""2 and 11 Mbit/s cards that Feeney and Nilsson 2001 measured (`docs/medium.md`)."""
WHOSE: dict[str, Callable[[Sequence[float]], float]] = {
    "a station's mean": fmean,
    "the sender's": lambda joules: joules[0],
    "the mean of both ends": lambda joules: (joules[0] + joules[-1]) / 2,
    "the receiver's": lambda joules: joules[-1],
    "all four": sum,
}


@dataclass(frozen=True)
class Accounting:
    """Whose energy counts, and what each state draws."""

    powers: Powers
    of: str

    def j_per_mbit(self, states: Sequence[States]) -> float:
        """Of the stations' seconds for a Mbit, in order from the sender to the receiver."""
        return WHOSE[self.of]([self.powers.watt_seconds(own) for own in states])


ENDS = "the mean of both ends"
STUDY = Accounting(RADIATED, ENDS)
"""Nearest to the published values, as the table of accountings shows."""
CANDIDATES = [
    Accounting(powers, of)
    for powers, of in product((RADIATED, SENDING, BUILT_IN, BUILT_IN_IDLE), WHOSE)
]
RECEIVERS = {"second": "delayed ACKs", "each": "immediate ACKs"}
"""Whether the receiver acknowledges every second segment or each."""
WORLDS = {
    (place, receiver): f"{lost} lost, {name}"
    for place, lost in (("packets", "packets"), ("frames", "frames"))
    for receiver, name in RECEIVERS.items()
}
PARTS = {"": ("packets", "second"), "each": ("packets", "each"), "frames": ("frames", "second")}
"""Which of these a part of the sweep is; the last is of Reno alone."""
FAR = 0.5
"""Accountings that are further off everywhere are counted, not shown."""


@dataclass(frozen=True)
class Ns2:
    """A setting in ns-2.35."""

    place: str
    receiver: str
    setting: Setting
    states: Sequence[States]
    kbps: Sample


def in_ns2(table: Mapping[str, Any]) -> list[Ns2]:
    """Rows of ``ns2.toml``."""
    return [
        Ns2(
            row["place"],
            row["receiver"],
            Setting(row["variant"], row["rts"], row["mtu"], row["loss"]),
            list(zip(row["tx_s"], row["rx_s"], row["idle_s"], strict=True)),
            Sample(row["kbps"], row["kbps_error"], row["seeds"]),
        )
        for row in table["settings"]
    ]


def setting_of(run: Run) -> Setting:
    return Setting(**{axis: run.at[axis] for axis in Setting._fields})


def mbit(run: Run) -> float:
    """Payload that reached the receiver."""
    return float(run.rows("flows")[0]["delivered_bytes"]) * 8e-6


def seconds(run: Run) -> list[States]:
    """What each station spent in each state, from the first of the chain to the last."""
    rows = sorted(run.rows("radios"), key=lambda row: row["node"])
    return [(row["energy_tx_j"], row["energy_rx_j"], row["energy_idle_j"]) for row in rows]


def per_mbit(runs: Runs, accounting: Accounting) -> Sample | None:
    """A setting's J of all seeds over its Mbit of all seeds; None where nothing arrived.

    A run that delivers nothing has no J per Mbit of its own and counts with what it used. The
    error is that of a ratio of means (Cochran 1977, 2.11).
    """
    joules = [accounting.j_per_mbit(seconds(run)) for run in runs]
    delivered = [mbit(run) for run in runs]
    if not sum(delivered):
        return None
    ratio = sum(joules) / sum(delivered)
    apart = Sample.of([j - ratio * m for j, m in zip(joules, delivered, strict=True)])
    return Sample(ratio, apart.error / fmean(delivered), apart.n)


def goodput(run: Run) -> tuple[float, float]:
    """Unique packets received over unique packets sent, and over all that were sent: of a run that
    sent some. Where no connection comes about, none is.
    """
    packets = run.rows("packets")
    sent = {row["seq"] for row in packets}
    received = {row["seq"] for row in packets if row["received_s"] is not None}
    return len(received) / len(sent), len(received) / len(packets)


def loss_name(loss: float | str) -> str:
    return BURST if isinstance(loss, str) else LOSSES[loss]


def uniform(setting: Setting) -> bool:
    return setting.loss in LOSSES


COLUMNS: dict[str, Callable[[Setting], bool]] = {
    "RTS on": lambda s: uniform(s) and s.rts == "on",
    "RTS off": lambda s: uniform(s) and s.rts == "off",
    "512 B": lambda s: uniform(s) and s.mtu == 512,
    "1500 B": lambda s: uniform(s) and s.mtu == 1500,
    "loss 1 %": lambda s: s.loss == 0.01,
    "loss 5 %": lambda s: s.loss == 0.05,
    "loss 10 %": lambda s: s.loss == 0.1,
    "burst": lambda s: s.loss == BURST,
    "all": uniform,
}
"""The published table's, each the mean of the settings that it holds."""


def mean_of_settings(runs: Runs, read: Callable[[Runs], Sample | None]) -> Sample | None:
    """Each setting weighs the same, however many seeds it took; their errors are independent."""
    read_of = [read(group) for group in runs.groups(*Setting._fields).values()]
    samples = [sample for sample in read_of if sample is not None]
    return combined(samples, [1 / len(samples)] * len(samples)) if samples else None


def j_per_mbit(runs: Runs, accounting: Accounting) -> Sample | None:
    """The mean of settings, as in the published table."""
    return mean_of_settings(runs, partial(per_mbit, accounting=accounting))


def table_of(runs: Runs, accounting: Accounting) -> dict[str, dict[str, Sample]]:
    """The published table, of these runs."""
    table: dict[str, dict[str, Sample]] = {}
    for variant, (name, where) in product(VARIANTS, COLUMNS.items()):
        chosen = [run for run in runs.where(variant=variant) if where(setting_of(run))]
        if sample := j_per_mbit(Runs(chosen), accounting):
            table.setdefault(variant, {})[name] = sample
    return table


def table_of_ns2(settings: Sequence[Ns2], accounting: Accounting) -> dict[str, dict[str, float]]:
    """The published table, of these settings of ns-2.35."""
    table: dict[str, dict[str, float]] = {}
    for variant, (name, where) in product(VARIANTS, COLUMNS.items()):
        own = [one for one in settings if one.setting.variant == variant and where(one.setting)]
        if own:
            mean = fmean(accounting.j_per_mbit(one.states) for one in own)
            table.setdefault(variant, {})[name] = mean
    return table


def means(table: Found) -> dict[str, dict[str, float]]:
    return {variant: {n: s.mean for n, s in own.items()} for variant, own in table.items()}


def distance(table: Scale, wanted: Scale) -> float:
    """Root of the mean squared relative deviation over all cells that both have."""
    cells = [
        own[name] / wanted[variant][name] - 1 for variant, own in table.items() for name in own
    ]
    return math.sqrt(fmean(cell**2 for cell in cells))


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _energy_table(found: Found) -> Table:
    columns = [name for name in COLUMNS if any(name in own for own in found.values())]
    rows = [(VARIANTS[v], *(own.get(name) for name in columns)) for v, own in found.items()]
    return Table("energy", "J per Mbit, accounting of the study", ("", *columns), rows)


def _accounting_table(runs: Runs, ns2: Sequence[Ns2], wanted: Scale) -> Table:
    """How far from the published cells each accounting is, in both worlds; the nearest first."""
    ranked: list[tuple[float, tuple[Cell, ...]]] = []
    for accounting in CANDIDATES:
        elsewhere = [
            distance(table_of_ns2(_placed(ns2, *world), accounting), wanted) for world in WORLDS
        ]
        here = means(table_of(runs, accounting))
        cells = [*map(_percent, elsewhere), _percent(distance(here, wanted)) if here else ""]
        ranked.append((min(elsewhere), (accounting.of, accounting.powers.name, *cells)))
    rows = [row for least, row in sorted(ranked) if least < FAR]
    heads = ("whose", "sending, receiving", *(f"ns-2.35: {name}" for name in WORLDS.values()))
    title = (
        "Root mean square of the deviations from all published cells, by accounting; "
        f"{len(ranked) - len(rows)} more are {_percent(FAR)} off and more everywhere"
    )
    return Table("accounting", title, (*heads, f"here: {WORLDS[PARTS['']]}"), rows)


def _placed(ns2: Sequence[Ns2], place: str, receiver: str) -> list[Ns2]:
    return [one for one in ns2 if (one.place, one.receiver) == (place, receiver)]


def _pattern_table(runs: Runs, ns2: Sequence[Ns2], wanted: Scale) -> Table:
    """What decides which set-up is the study's."""
    tables: dict[str, Scale] = {"published": wanted}
    for part, world in PARTS.items():
        if runs.part(part):
            tables[f"here: {WORLDS[world]}"] = means(table_of(runs.part(part), STUDY))
    for world, name in WORLDS.items():
        tables[f"ns-2.35: {name}"] = table_of_ns2(_placed(ns2, *world), STUDY)
    tables["ns-2.35: frames lost at the last station only"] = table_of_ns2(
        _placed(ns2, "end", "second"), STUDY
    )
    rows = [
        (name, *_pattern(table), "" if table is wanted else _percent(distance(table, wanted)))
        for name, table in tables.items()
    ]
    heads = ("", "J/Mbit", "RTS on / off", "512 / 1500 B", "10 / 1 %", "burst / all", "rms off")
    return Table("pattern", "What each set-up makes of the pattern", heads, rows)


def _cards_table(runs: Runs) -> Table:
    """Powers of real cards: what idle listening makes of the pattern, with all four's energy."""
    rows = []
    for powers in (RADIATED, BUILT_IN, BRONZE, SILVER):
        table = means(table_of(runs, Accounting(powers, "all four")))
        rows.append((powers.name, *_pattern(table)))
    heads = ("", "J/Mbit", "RTS on / off", "512 / 1500 B", "10 / 1 %", "burst / all")
    return Table("cards", "All four stations' energy, by card", heads, rows)


def _pattern(table: Scale) -> tuple[float | None, ...]:
    """Means over the variants: J/Mbit of all settings, and four ratios."""
    mean = {
        name: fmean(own[name] for own in table.values())
        for name in COLUMNS
        if all(name in own for own in table.values())
    }
    pairs = (
        ("RTS on", "RTS off"),
        ("512 B", "1500 B"),
        ("loss 10 %", "loss 1 %"),
        ("burst", "all"),
    )
    return (
        mean.get("all"),
        *(mean[a] / mean[b] if a in mean and b in mean else None for a, b in pairs),
    )


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
    heads = [f"{loss_name(loss)}, {of}" for loss in losses for of in ("unique", "all sent")]
    title = "Unique packets received over unique packets, and over all, sent"
    return Table("goodput", title, ("", *heads), rows)


def goodput_of(runs: Runs, which: int) -> Sample | None:
    """Of those that sent any; None without such."""
    sending = Runs([run for run in runs if run.rows("packets")])
    return mean_of_settings(sending, lambda group: group.sample(lambda run: goodput(run)[which]))


def _settings_table(runs: Runs, ns2: Sequence[Ns2]) -> Table:
    """What a column of the published table is the mean of."""
    there = {one.setting: one for one in _placed(ns2, *PARTS[""])}
    rows: list[tuple[Cell, ...]] = []
    for group in runs.groups(*Setting._fields).values():
        setting = setting_of(group[0])
        one = there[setting]
        rows.append(
            (
                VARIANTS[setting.variant],
                setting.rts,
                str(setting.mtu),
                loss_name(setting.loss).removeprefix("loss "),
                len(group),
                sum(not mbit(run) for run in group),
                group.sample(lambda run: run.rows("flows")[0]["goodput_kbps"]),
                one.kbps,
                per_mbit(group, STUDY),
                STUDY.j_per_mbit(one.states),
            )
        )
    heads = (
        *("", "RTS", "B", "loss", "seeds", "nothing delivered"),
        *("kbit/s", "ns-2.35", "J/Mbit", "ns-2.35"),
    )
    return Table("settings", "Each setting", heads, rows)


def _bursts_table(runs: Runs, ns2: Scale, wanted: Scale) -> Table:
    """1500 B, the mean of with and without RTS: bursts, nothing lost, a smaller window."""
    columns = {BURST: runs.part().where(loss=BURST)}
    columns |= {str(case): own for (case,), own in runs.part("bursts").groups("case").items()}
    rows: list[tuple[Cell, ...]] = []
    for variant, name in VARIANTS.items():
        own = [mean_of_rts(column.where(variant=variant)) for column in columns.values()]
        rows.append((name, *own, ns2[variant][BURST], wanted[variant][BURST]))
    heads = ("", *columns, "bursts in ns-2.35", "published")
    return Table("bursts", "What bursts cost, J per Mbit of 1500 B packets", heads, rows)


def mean_of_rts(runs: Runs) -> Sample | None:
    """Of both settings of RTS, None where one is missing."""
    both = [s for g in runs.groups("rts").values() if (s := per_mbit(g, STUDY)) is not None]
    return combined(both, [0.5, 0.5]) if len(both) == 2 else None


def _energy_picture(runs: Runs, found: Found, wanted: Scale, ns2: Scale) -> Picture:
    panels = []
    for variant, own in found.items():
        names = [name for name in COLUMNS if name in own]
        ticks = {float(i): name.replace(" ", "\n", 1) for i, name in enumerate(names)}
        panel = plot.Panel(VARIANTS[variant], (-0.6, len(names) - 0.4), (0, 1.3), ticks=ticks)
        panel.y_label = "J per Mbit"
        samples = [own[name] for name in names]
        panel.add(
            "here",
            [(i - 0.15, sample.mean) for i, sample in enumerate(samples)],
            errors=[sample.half_width for sample in samples],
            style=("#7a4fa3", "o"),
        )
        for kind, table, shift in (("published", wanted, 0.0), ("ns-2.35", ns2, 0.15)):
            points = [(i + shift, table[variant][n]) for i, n in enumerate(names)]
            panel.add(kind, points, style=STYLES.get(kind))
        panels.append(panel)
    panels.append(_goodput_panel(runs))
    return Picture("energy", plot.svg(panels, "", "", "Energy of TCP over three hops"))


def _goodput_panel(runs: Runs) -> plot.Panel:
    panel = plot.Panel("goodput: unique received of all sent", (-0.5, 3.5), (0.5, 1.0))
    losses = list(dict.fromkeys(loss for (loss,) in runs.groups("loss")))
    panel.ticks = {float(i): loss_name(loss) for i, loss in enumerate(losses)}
    for k, variant in enumerate(VARIANTS):
        own = [runs.where(variant=variant, loss=loss) for loss in losses]
        samples = {i: s for i, group in enumerate(own) if (s := goodput_of(group, 1))}
        points = [(i + 0.12 * (k - 1), s.mean) for i, s in samples.items()]
        if points:
            errors = [s.half_width for s in samples.values()]
            panel.add(VARIANTS[variant], points, "", errors, plot.STYLES[variant])
    return panel


def _idle_picture(runs: Runs) -> Picture:
    """Radiated power alone, and a card that uses as much idle as receiving: what is left of RTS."""
    panels = []
    titles = {RADIATED: "ns-2: 0.28 W, idle 0", BRONZE: "a measured card: idle 0.84 W"}
    for powers, title in titles.items():
        points: dict[tuple[str, int], list[tuple[float, Sample]]] = {}
        for rts, mtu in product(("on", "off"), (512, 1500)):
            for (loss,), group in runs.where(rts=rts, mtu=mtu).groups("loss").items():
                sample = j_per_mbit(group, Accounting(powers, "all four"))
                if loss in LOSSES and sample is not None:
                    points.setdefault((rts, mtu), []).append((loss * 100, sample))
        ends = [
            s.mean + side * s.half_width
            for own in points.values()
            for _, s in own
            for side in (-1, 1)
        ]
        wide = max(ends) > 50 * min(ends)
        bottom = 0.8 * min(end for end in ends if end > 0) if wide else 0
        panel = plot.Panel(title, (0, 11), (bottom, 1.1 * max(ends)), x_label="loss, %")
        panel.logarithmic = "y" if wide else False
        for (rts, mtu), own in points.items():
            panel.add(
                f"RTS {rts}, {mtu} B",
                [(loss, sample.mean) for loss, sample in own],
                line="--" if rts == "on" else "-",
                errors=[sample.half_width for _, sample in own],
                style=("#1f5fa8" if mtu == 512 else "#d95f02", "s" if rts == "on" else "o"),
            )
        panels.append(panel)
    return Picture("idle", plot.svg(panels, "", "J per Mbit", "What idle listening does"))


def _claims(runs: Runs, found: Found, wanted: Scale) -> Iterator[Claim]:
    yield _dearer(found, "rts", "RTS/CTS costs energy", "RTS on", "RTS off")
    yield _dearer(found, "size", "Larger packets are more efficient", "512 B", "1500 B")
    for name, sentence, variant, column in (
        ("low-loss", "At low loss SACK is the most efficient", "sack", "loss 1 %"),
        ("high-loss", "At high loss NewReno is", "newreno", "loss 10 %"),
        ("burst", "In bursts SACK is, by a fraction", "sack", "burst"),
    ):
        cells = {v: own[column] for v, own in found.items() if column in own}
        if variant not in cells:
            # A run of the short version may deliver nothing at all.
            yield Claim(name, sentence, "not", f"{VARIANTS[variant]}: nothing arrived")
            continue
        leads = {v: wanted[v][column] / wanted[variant][column] - 1 for v in cells}
        yield _first(name, sentence, variant, cells, 1, leads)
    if {"reno", "newreno"} <= found.keys():
        yield _alike(found)
    best = {v: sample for v in found if (sample := goodput_of(runs.where(variant=v), 1))}
    if "sack" in best:
        slight = dict.fromkeys(best, 2 * SLIGHT)
        yield _first("goodput", "SACK's goodput is the best", "sack", best, -1, slight)


def _gap(gap: Sample) -> str:
    wide = f" ± {100 * gap.half_width:.1f}" if gap.n > 1 else ""
    return f"{100 * gap.mean:+.1f}{wide} %"


def _apart(gap: Sample) -> bool:
    """Off 0 beyond chance, to either side."""
    return gap.positive or gap.scaled(-1).positive


def _dearer(found: Found, name: str, sentence: str, more: str, less: str) -> Claim:
    """Reproduced: with every variant, beyond chance. In part: the means of all are higher."""
    gaps = {v: relative(own[more], own[less]) for v, own in found.items()}
    verdict: Verdict = "not"
    if all(gap.mean > 0 for gap in gaps.values()):
        verdict = "reproduced" if all(gap.positive for gap in gaps.values()) else "in part"
    shown = ", ".join(f"{VARIANTS[v]} {_gap(gap)}" for v, gap in gaps.items())
    return Claim(name, sentence, verdict, f"{more} over {less}: {shown}")


def _first(
    name: str,
    sentence: str,
    variant: str,
    cells: Mapping[str, Sample],
    sign: int,
    leads: Mapping[str, float],
) -> Claim:
    """Whether a variant's value is the least (``sign`` 1) or the greatest (-1).

    Reproduced: better than each other, beyond chance. Not: another is better beyond chance, or
    the lead over another is surely less than half of ``leads``, the published one. In part: else.
    """
    gaps = {
        v: relative(sample, cells[variant]).scaled(sign)
        for v, sample in cells.items()
        if v != variant
    }
    beaten = [gap.scaled(-1).positive for gap in gaps.values()]
    small = [gap.n > 1 and gap.mean + gap.half_width < leads[v] / 2 for v, gap in gaps.items()]
    verdict: Verdict = "not" if any(beaten) or any(small) else "in part"
    if all(gap.positive for gap in gaps.values()):
        verdict = "reproduced"
    mark = "less" if sign == 1 else "more"
    means_told = ", ".join(f"{VARIANTS[v]} {told(sample)}" for v, sample in cells.items())
    leads_told = ", ".join(f"than {VARIANTS[v]} {_gap(gap)}" for v, gap in gaps.items())
    return Claim(name, sentence, verdict, f"{means_told}; {VARIANTS[variant]} {mark} {leads_told}")


def _alike(found: Found) -> Claim:
    """Reproduced: within `ALIKE` at 1 and 5 %, apart beyond chance at 10 %. Not: apart below."""
    gaps = {
        name: relative(found["reno"][name], found["newreno"][name])
        for name in LOSSES.values()
        if name in found["reno"] and name in found["newreno"]
    }
    low = [gap for name, gap in gaps.items() if name != LOSSES[0.1]]
    apart = [_apart(gap) for gap in low]
    near = [gap.n > 1 and abs(gap.mean) + gap.half_width < ALIKE for gap in low]
    high = gaps.get(LOSSES[0.1])
    verdict: Verdict = "in part"
    if any(a and abs(gap.mean) > ALIKE for a, gap in zip(apart, low, strict=True)):
        verdict = "not"
    elif all(near) and high is not None and _apart(high):
        verdict = "reproduced"
    shown = ", ".join(f"{name} {_gap(gap)}" for name, gap in gaps.items())
    sentence = "Reno and NewReno are alike but at heavy loss"
    return Claim("alike", sentence, verdict, f"Reno over NewReno: {shown}")


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    """Tables, figures and verdicts of the study."""
    wanted: Scale = published["j_per_mbit"]
    ns2 = in_ns2(published["ns2"])
    main = runs.part()
    found = table_of(main, STUDY)
    in_ns2_too = table_of_ns2(_placed(ns2, *PARTS[""]), STUDY)
    full = bool(main.where(loss=0.05))
    return Findings(
        tables=[
            _energy_table(found),
            _accounting_table(main, ns2, wanted),
            _pattern_table(runs, ns2, wanted),
            _cards_table(main),
            _bursts_table(runs, in_ns2_too, wanted),
            _goodput_table(main),
            _settings_table(main, ns2),
        ],
        pictures=[_energy_picture(main, found, wanted, in_ns2_too), _idle_picture(main)],
        claims=list(_claims(main, found, wanted)),
        beside=[
            Beside(
                f"{VARIANTS[variant]}, {name}",
                found[variant][name],
                value,
                in_ns2_too[variant][name],
                published["causes"].get(name, ""),
            )
            for variant, values in wanted.items()
            for name, value in values.items()
            if full and name in found.get(variant, {})
        ],
        values={
            f"j_per_mbit/{variant}/{name}": sample.mean
            for variant, values in found.items()
            for name, sample in values.items()
        },
    )
