# SPDX-License-Identifier: Apache-2.0
"""Split-TCP: what proxies gain and cost on chains, crossings, failing links, moving stations.

Whatever is compared runs under the same seeds, so gains are taken seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hoplab.host.statistics.samples import Sample
from hoplab.many.study.findings import Beside, Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

from . import pictures, sessions

GAIN = (0.05, 0.30)
"""What the study says that total throughput gains."""
HOPS = {"long": 6, "short": 2}
"""Of the sessions that cross."""
LAST_PROXY = {2: "n6"}
"""Before the failing link, by the distance of proxies."""
NONE = "none"


def advantage(run: Run) -> float:
    """What the short session gets over what the long one does."""
    rates = sessions.goodputs(run)
    return rates["short"] / rates["long"]


def gap(run: Run) -> float:
    return sessions.gap(list(sessions.goodputs(run).values()))


def unfairness(run: Run) -> float:
    return sessions.unfairness(list(sessions.goodputs(run).values()))


PAIR: Mapping[str, Callable[[Run], float]] = {
    "long": sessions.rate_of("long"),
    "short": sessions.rate_of("short"),
    "sum, kbit/s": sessions.total_kbps,
    "gap": gap,
    "rescaled Jain": unfairness,
    "long starved": sessions.starved("long"),
    "short starved": sessions.starved("short"),
}
"""The results of two sessions."""


def carried(run: Run) -> float:
    """Mbit/s times hops of both sessions: the work on the air that arrived."""
    return sum(HOPS[name] * kbps for name, kbps in sessions.goodputs(run).items()) / 1000


def dropped(run: Run) -> int:
    """Packets that found the queue of a radio full."""
    return sum(row["queue_full"] for row in run.rows("radios"))


def air(run: Run) -> float:
    """Seconds of frames on the air for each Mbit that the sessions delivered."""
    data_s = sum(row["airtime_data_s"] for row in run.rows("radios"))
    octets = sum(row["delivered_bytes"] or 0 for row in run.rows("flows"))
    return float(data_s) / (8e-6 * octets)


def standing(run: Run) -> int:
    """Sessions that got next to nothing, 1 kbit/s."""
    return sum(kbps < 1 for kbps in sessions.goodputs(run).values())


def _chain_table(runs: Runs) -> Table:
    distances = [d for (d,) in runs.groups("every") if d != NONE]
    rows: list[Sequence[Cell]] = []
    for (hops,), own in runs.groups("hops").items():
        cells: list[Cell] = []
        for distance in distances:
            pairs = sessions.within(own, NONE, distance, "every", sessions.total_kbps)
            cells.append(sessions.ratio(pairs) if pairs else None)
        rows.append((str(hops), own.where(every=NONE).sample(sessions.total_kbps), *cells))
    first, *rest = map(str, distances)
    heads = ("hops", "plain, kbit/s", f"a proxy every {first}", *rest)
    return Table("chains", "Goodput over plain TCP's, by distance of proxies in hops", heads, rows)


def _pair(runs: Runs) -> list[Cell]:
    return [runs.sample(read) for read in PAIR.values()]


def _crossing_table(runs: Runs) -> Table:
    rows = [
        (str(split), *_pair(own), own.sample(carried))
        for (split,), own in runs.groups("split").items()
    ]
    heads = ("split", *PAIR, "Mbit/s x hops")
    return Table("crossing", "Sessions of six and of two hops that cross", heads, rows)


def _sharing_table(runs: Runs) -> Table:
    rows = [(str(split), *_pair(own)) for (split,), own in runs.groups("split").items()]
    title = "Sessions of eight and of two hops that share hops"
    return Table("sharing", title, ("split", *PAIR), rows)


def _longer_table(longer: Runs, crossing: Runs) -> Table:
    """By the hops of the session that is crossed, without proxies and with one every three."""
    rows: list[Sequence[Cell]] = []
    for hops, split, own in _lengths(longer, crossing):
        rows.append((hops, split, *_pair(own)))
    heads = ("hops", "split", *PAIR)
    return Table("longer", "A session of two hops that crosses a longer one", heads, rows)


def _lengths(longer: Runs, crossing: Runs) -> Iterator[tuple[int, str, Runs]]:
    found = {(int(str(h)), str(s)): own for (h, s), own in longer.groups("hops", "split").items()}
    for split in {split for _, split in found}:
        found[HOPS["long"], split] = crossing.where(split=split)
    for hops, split in sorted(found, key=lambda at: (at[0], at[1] != NONE)):
        yield hops, split, found[hops, split]


def _failing_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for (every,), own in runs.groups("every").items():
        broken, whole = own.where(link="failing"), own.where(link="whole")
        pairs = sessions.within(own, "whole", "failing", "link", sessions.total_kbps)
        node = LAST_PROXY.get(int(str(every))) if every != NONE else None
        held: list[Cell] = [
            one.sample(sessions.held_by(node)) if node and one else None for one in (whole, broken)
        ]
        kbps = [one.sample(sessions.total_kbps) if one else None for one in (whole, broken)]
        share = sessions.ratio(pairs) if pairs else None
        rows.append((str(every), *kbps, share, *held))
    heads = (
        *("a proxy every", "whole, kbit/s", "failing", "failing over whole"),
        *("most segments at the proxy before the link: whole", "failing"),
    )
    return Table("failing", "A link that fails for 2 s of every 8", heads, rows)


def _lossy_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for (loss,), own in runs.groups("loss").items():
        kbps = [own.where(every=e).sample(sessions.total_kbps) for e in (NONE, 2)]
        gain = sessions.change(sessions.within(own, NONE, 2, "every", sessions.total_kbps))
        rows.append((f"{100 * float(str(loss)):g} %", *kbps, gain))
    heads = ("lost on each hop", "plain, kbit/s", "a proxy every 2", "difference")
    return Table("lossy", "Eight hops that lose packets", heads, rows)


def _buffer_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for axis, name in (("buffer", "buffer of a proxy"), ("window", "end-to-end window")):
        for (value,), found in runs.groups(axis).items():
            if value is None:
                continue
            cells = [found.where(every=every).sample(sessions.total_kbps) for every in (2, 4)]
            rows.append((name, int(str(value)), *cells))
    heads = ("", "segments", "every 2, kbit/s", "every 4")
    return Table("buffers", "Buffers and windows, eight hops; the other one is 64", heads, rows)


MOBILE: Mapping[str, Callable[[Run], float]] = {
    "sum, kbit/s": sessions.total_kbps,
    "gap": gap,
    "rescaled Jain": unfairness,
    "sessions below 1 kbit/s": standing,
    "s on the air per Mbit": air,
    "full queues": dropped,
}


def _mobile_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for (every,), own in runs.groups("every").items():
        cells: list[Cell] = [own.sample(read) for read in MOBILE.values()]
        if every != NONE:
            cells += [
                sessions.change(sessions.within(runs, NONE, every, "every", read))
                for read in (sessions.total_kbps, gap, unfairness)
            ]
        else:
            cells += [None] * 3
        rows.append((str(every), len(own), *cells))
    heads = ("a proxy every", "patterns", *MOBILE, "within a pattern: sum", "gap", "rescaled Jain")
    return Table("mobile", "Fifty moving stations, ten sessions", heads, rows)


def _verdict(*parts: bool) -> Verdict:
    """All of a claim's parts hold, some of them, or none."""
    return "reproduced" if all(parts) else "in part" if any(parts) else "not"


def _rises(sample: Sample) -> bool:
    """Beyond chance."""
    return sample.mean > sample.half_width


def _claims(runs: Runs) -> Iterator[Claim]:
    yield _throughput_claim(runs)
    yield _unfairness_claim(runs)
    if failing := runs.part("failing"):
        yield _failing_claim(failing)
    yield _short_claim(runs)
    yield _capture_claim(runs)


def _gain(runs: Runs, every: object, axis: str = "every") -> tuple[float, Sample]:
    """Of the mean total throughput, relative; and in kbit/s, seed by seed."""
    pairs = sessions.within(runs, NONE, every, axis, sessions.total_kbps)
    change = sessions.change(pairs)
    return change.mean / Sample.of([before for before, _ in pairs]).mean, change


def _throughput_claim(runs: Runs) -> Claim:
    chains = []
    for (hops, every), own in runs.part().groups("hops", "every").items():
        if every != NONE:
            both = Runs([*runs.part().where(hops=hops, every=NONE), *own])
            pairs = sessions.within(both, NONE, every, "every", sessions.total_kbps)
            chains.append((sessions.ratio(pairs), hops, every))
    best, hops, every = max(chains, key=lambda one: one[0].mean)
    shown = f"chains {told(best)} at best ({hops} hops, a proxy every {every})"
    parts = [GAIN[0] <= best.mean - 1 <= GAIN[1]]
    crossing = runs.part("crossing")
    crossed, change = _gain(crossing, _fairest(crossing), "split")
    parts.append(_rises(change) and crossed >= GAIN[0])
    shown += f"; crossing, at their fairest, {100 * crossed:+.0f} %"
    shown += f" ({told(change)} kbit/s)"
    if sharing := runs.part("sharing"):
        shared, change = _gain(sharing, "both, every 1", "split")
        parts.append(_rises(change) and shared >= GAIN[0])
        shown += f"; sharing, both split, {100 * shared:+.0f} %"
    if lossy := runs.part("lossy"):
        gains = {float(str(loss)): _gain(own, 2) for (loss,), own in lossy.groups("loss").items()}
        parts.append(any(GAIN[0] <= relative <= GAIN[1] for relative, _ in gains.values()))
        shown += "; with losses on every hop " + ", ".join(
            f"of {100 * loss:g} % {100 * relative:+.0f} %" for loss, (relative, _) in gains.items()
        )
    if failing := runs.part("failing").where(link="failing"):
        relative, change = _gain(failing, 2)
        parts.append(GAIN[0] <= relative <= GAIN[1])
        shown += f"; failing link {100 * relative:+.0f} %"
    if mobile := runs.part("mobile"):
        for every in (e for (e,) in mobile.groups("every") if e != NONE):
            relative, change = _gain(mobile, every)
            parts.append(_rises(change) and relative >= GAIN[0])
            shown += f"; moving stations, every {every}: {100 * relative:+.0f} % "
            shown += f"({told(change)} kbit/s)"
    sentence = "total throughput rises by 5 to 30 %"
    return Claim("throughput", sentence, _verdict(*parts), f"over plain TCP: {shown}")


def _fairest(crossing: Runs) -> str:
    """Which proxies make the two sessions most alike."""
    return min(
        (own.sample(gap).mean, str(split))
        for (split,), own in crossing.groups("split").items()
        if split != NONE
    )[1]


def _unfairness_claim(runs: Runs) -> Claim:
    crossing = runs.part("crossing")
    after = _fairest(crossing)
    both = [
        (crossing.where(split=split).sample(gap), crossing.where(split=split).sample(unfairness))
        for split in (NONE, after)
    ]
    pairs = sessions.within(crossing, NONE, after, "split", gap)
    fallen = sessions.change(pairs)
    parts = [_rises(Sample(-fallen.mean, fallen.error, fallen.n))]
    shown = (
        f"crossing, {after}: gap {told(both[0][0])} to {told(both[1][0])}, "
        f"rescaled Jain {told(both[0][1])} to {told(both[1][1])}"
    )
    if mobile := runs.part("mobile"):
        for every in (e for (e,) in mobile.groups("every") if e != NONE):
            moved = sessions.change(sessions.within(mobile, NONE, every, "every", unfairness))
            parts.append(_rises(Sample(-moved.mean, moved.error, moved.n)))
            shown += f"; moving stations, every {every}: rescaled Jain by {told(moved)}"
    return Claim("unfairness", "unfairness falls from 0.8 to 0.2", _verdict(*parts), shown)


def _failing_claim(runs: Runs) -> Claim:
    every = 2
    kept = {
        e: sessions.ratio(
            sessions.within(runs.where(every=e), "whole", "failing", "link", sessions.total_kbps)
        )
        for e in (NONE, every)
        if runs.where(every=e, link="whole")
    }
    held = runs.where(every=every, link="failing").sample(sessions.held_by(LAST_PROXY[every]))
    pairs = sessions.within(runs.where(link="failing"), NONE, every, "every", sessions.total_kbps)
    gain = sessions.ratio(pairs)
    shown = f"the proxy before the broken link takes up to {told(held)} segments meanwhile; "
    shown += f"goodput over plain TCP's {told(gain)}"
    if kept:
        shown += f"; of that of a whole link, split {told(kept[every])}, plain {told(kept[NONE])}"
    return Claim(
        "failures",
        "link failures on one segment let the others go on",
        _verdict(held.mean > 10, gain.mean - gain.half_width > 1),
        shown,
    )


def _short_claim(runs: Runs) -> Claim:
    """Short connections lose their advantage: at a proxy every three hops of the long one."""
    parts, shown = [], []
    for part in ("crossing", "sharing"):
        if own := runs.part(part):
            before, after = (own.where(split=s).sample(advantage) for s in (NONE, "long, every 3"))
            pairs = sessions.within(own, NONE, "long, every 3", "split", advantage)
            fallen = sessions.change(pairs)
            parts.append(_rises(Sample(-fallen.mean, fallen.error, fallen.n)))
            shown.append(f"{part} {told(before)} to {told(after)}")
    sentence = "short connections lose their advantage"
    text = f"the short session's goodput over the long one's: {', '.join(shown)}"
    return Claim("short", sentence, _verdict(*parts), text)


def _capture_claim(runs: Runs) -> Claim:
    """Of the long session, and of either: the one that has the channel starves the other."""
    parts, shown = [], []
    long, short = sessions.starved("long"), sessions.starved("short")
    for part in ("crossing", "sharing"):
        if own := runs.part(part):
            reads: list[Callable[[Run], float]] = [long, lambda run: long(run) + short(run)]
            both = []
            for read in reads:
                pairs = sessions.within(own, NONE, "long, every 3", "split", read)
                before, after = (Sample.of(list(one)) for one in zip(*pairs, strict=True))
                fallen = sessions.change(pairs)
                parts.append(_rises(Sample(-fallen.mean, fallen.error, fallen.n)))
                both.append(f"{told(before)} to {told(after)}")
            shown.append(f"{part}: long {both[0]}, either {both[1]}")
    sentence = "channel capture harms less"
    text = f"share of seconds in which one starves; {'; '.join(shown)}"
    return Claim("capture", sentence, _verdict(*parts), text)


def _beside(runs: Runs, published: Mapping[str, Any]) -> list[Beside]:
    """Unfairness by the kind of metric that "0.8 to 0.2" looks like; causes need the full study."""
    crossing, longer, mobile = (runs.part(part) for part in ("crossing", "longer", "mobile"))
    found = []
    for split, name in ((NONE, "plain"), ("long, every 3", "split")):
        here, wanted = crossing.where(split=split).sample(gap), published[name]
        causes = ["within the interval"] if abs(here.mean - wanted) < here.half_width else []
        if longer and mobile:
            most = max(int(str(hops)) for (hops,) in longer.groups("hops"))
            by_length = longer.where(hops=most, split=split).sample(gap)
            moving = mobile.where(every=NONE if split == NONE else 3).sample(gap)
            causes.append(
                f"competitors decide: {told(by_length)} where {most} hops are crossed, "
                f"{told(moving)} between moving stations"
            )
        found.append(Beside(f"unfairness (gap), {split}", here, wanted, cause="; ".join(causes)))
    return found


def _values(runs: Runs) -> dict[str, float]:
    found: dict[str, float] = {}
    for (hops, every), own in runs.part().groups("hops", "every").items():
        found[f"chain_{hops}_{every}_kbps"] = own.sample(sessions.total_kbps).mean
    for (split,), own in runs.part("crossing").groups("split").items():
        name = str(split).replace(", ", "_").replace(" ", "_")
        found[f"crossing_{name}_sum_kbps"] = own.sample(sessions.total_kbps).mean
        found[f"crossing_{name}_gap"] = own.sample(gap).mean
    for (every,), own in runs.part("failing").where(link="failing").groups("every").items():
        found[f"failing_{every}_kbps"] = own.sample(sessions.total_kbps).mean
    for (loss, every), own in runs.part("lossy").groups("loss", "every").items():
        found[f"lossy_{loss}_{every}_kbps"] = own.sample(sessions.total_kbps).mean
    return found


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    crossing = runs.part("crossing")
    tables = [_chain_table(runs.part()), _crossing_table(crossing)]
    shown: list[Picture] = [pictures.crossing(runs.part(), crossing), pictures.seconds(crossing)]
    if longer := runs.part("longer"):
        tables.append(_longer_table(longer, crossing))
    if sharing := runs.part("sharing"):
        tables.append(_sharing_table(sharing))
    if failing := runs.part("failing"):
        tables.append(_failing_table(failing))
        shown.append(pictures.failing(failing, LAST_PROXY[2]))
    if lossy := runs.part("lossy"):
        tables.append(_lossy_table(lossy))
    if buffers := runs.part("buffers"):
        tables.append(_buffer_table(buffers))
    if mobile := runs.part("mobile"):
        tables.append(_mobile_table(Runs([*mobile, *runs.part("mobile-window")])))
        shown.append(pictures.mobile(mobile))
    beside = _beside(runs, published["unfairness"])
    return Findings(tables, shown, list(_claims(runs)), beside, _values(runs))
