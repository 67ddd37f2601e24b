# SPDX-License-Identifier: Apache-2.0
"""Unequal hosts on a radio that acknowledges nothing: where packets are lost, and what TCP gets.

A combination of scenario, sender, protocol and size is one run of 10 000 packets, as in the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from hoplab.many.study.findings import Beside, Cell, Claim, Findings, Table, Verdict
from hoplab.many.study.swept import Run, Runs

from . import fit, pictures
from .transfer import PLACES, Transfer, hosts, levels, transfer

Key = tuple[int, str, str, int]
"""Scenario, sender, transport, size."""
Done = Mapping[Key, Transfer]
NEGLIGIBLE = 0.001
"""Share of packets: below half of what the study calls a loss."""
ALIKE = 0.05
"""Relative: throughputs that count as the same."""
TRANSPORTS = ("udp", "tcp")
HELD: Mapping[Key, Sequence[str]] = {
    (1, "a", "udp", 1500): ("kbps", "loss"),
    (1, "a", "tcp", 100): ("kbps",),
    (1, "a", "tcp", 1500): ("kbps", "loss"),
    (1, "b", "tcp", 1500): ("kbps",),
    (2, "b", "udp", 100): ("loss",),
    (2, "b", "udp", 1500): ("kbps", "loss"),
    (2, "b", "tcp", 1500): ("kbps",),
    (6, "a", "udp", 1500): ("loss",),
}
"""What `expected.json` holds: one of each effect."""


def key(run: Run) -> Key:
    at = run.at
    return int(at["scenario"]), str(at["sender"]), str(at["transport"]), int(at["size"])


def of(done: Done, scenario: int, sender: str, transport: str) -> dict[int, Transfer]:
    """By size."""
    return {k[3]: one for k, one in done.items() if k[:3] == (scenario, sender, transport)}


def _groups(done: Done) -> Iterator[tuple[int, str, str, dict[int, Transfer]]]:
    groups = dict.fromkeys(k[:3] for k in done)
    for scenario, sender, transport in sorted(groups, key=lambda g: (*g[:2], g[2] == "tcp")):
        yield scenario, sender, transport, of(done, scenario, sender, transport)


def _transfer_table(done: Done) -> Table:
    sizes = sorted({k[3] for k in done})
    rows: list[Sequence[Cell]] = []
    for scenario, sender, transport, own in _groups(done):
        kbps = [f"{own[size].kbps:.0f}" if size in own else "" for size in sizes]
        lost = [_percent(own[size].loss) if size in own else "" for size in sizes]
        rows.append((scenario, hosts(scenario, sender), transport.upper(), *kbps, *lost))
    first, *rest = (f"{size} B" for size in sizes)
    heads = ("", "from, to", "", f"kbit/s: {first}", *rest, f"lost: {first}", *rest)
    return Table("transfers", "Net throughput and share of packets lost, by size", heads, rows)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _fate_table(done: Done) -> Table:
    """Of the largest packets."""
    heads = ("", "from, to", "", "packets", "lost", "never left", "collided", "noise", "overrun")
    rows: list[Sequence[Cell]] = []
    for scenario, sender, transport, own in _groups(done):
        one = own[max(own)]
        fates = (one.never_left, one.collided, one.noise, one.overrun)
        lost = one.sent - one.arrived
        rows.append((scenario, hosts(scenario, sender), transport.upper(), one.sent, lost, *fates))
    return Table("fates", "What became of the packets that were lost, 1500 B", heads, rows)


def _ends_table(done: Done) -> Table:
    """The two counters of each end under TCP: what one sent less what the other received."""
    heads = (
        *("", "from, to", "size", "data: sent", "received", "gap"),
        *("ACKs: sent", "received", "gap", "timeouts"),
    )
    rows: list[Sequence[Cell]] = []
    for scenario, sender, transport, own in _groups(done):
        if transport != "tcp" or scenario not in (1, 2):
            continue
        for size, one in own.items():
            rows.append(
                (
                    *(scenario, hosts(scenario, sender), size),
                    *(one.sent, one.arrived, one.sent - one.arrived),
                    *(one.back_sent, one.back_arrived, one.back_sent - one.back_arrived),
                    one.timeouts,
                )
            )
    return Table(
        "ends", "Packets sent and received by each end, TCP, scenarios 1 and 2", heads, rows
    )


def _level_table(runs: Runs) -> Table:
    heads = ("", "", "signal at a", "noise at a", "signal at b", "noise at b")
    rows: list[Sequence[Cell]] = []
    for (scenario,), own in runs.groups("scenario").items():
        cells = [
            levels(own, receiver, quantity)
            for receiver in ("a", "b")
            for quantity in ("signal", "noise")
        ]
        shown = (f"{one.mean_dbm:.1f} ({one.deviation_db:.1f})" for one in cells)
        rows.append((scenario, PLACES[scenario], *shown))
    title = "Levels that the cards told, dBm: mean (deviation in dB)"
    return Table("levels", title, heads, rows)


def _fit_table(power: Runs, published: Mapping[str, Any]) -> Table:
    """What the slow host's power does to the loss: model, measured."""
    heads = ("size", "host's time", "frames come every, µs", "host takes, µs", "loss by the model")
    rows: list[Sequence[Cell]] = []
    overrun = published["overrun"]
    packet_us, service_mbps = fit.fit(*zip(overrun["sizes"], overrun["losses"], strict=True))
    for (size, times), own in power.groups("size", "power").items():
        sent_us = fit.sent_every_us(size)
        taken_us = times * fit.taken_every_us(size, packet_us, service_mbps)
        rows.append(
            (
                *(f"{size} B", f"x {times:g}", f"{sent_us:.0f}", f"{taken_us:.1f}"),
                *(_percent(fit.loss(sent_us, taken_us)), own.sample(overrun_percent)),
            )
        )
    return Table("fit", "The slow host's power, scenario 1, UDP", (*heads, "measured, %"), rows)


def overrun_percent(run: Run) -> float:
    """Of a UDP flow's packets, those that did not arrive; on this channel overruns alone."""
    flow = run.rows("flows")[0]
    return float(100 * flow["lost"] / flow["sent"])


def _variant_table(runs: Runs, name: str, title: str, row: str, column: str) -> Table:
    """Net throughput in kbit/s over two axes."""
    columns = list(dict.fromkeys(run.at[column] for run in runs))
    rows: list[Sequence[Cell]] = []
    for (value,), own in runs.groups(row).items():
        cells = [own.where(**{column: one}) for one in columns]
        rows.append((str(value), *(c.sample(lambda run: transfer(run).kbps) for c in cells)))
    return Table(name, title, (row, *map(str, columns)), rows)


def _load_table(runs: Runs) -> Table:
    heads = ("copying", "queue", "UDP kbit/s", "never left", "TCP kbit/s", "never left")
    rows: list[Sequence[Cell]] = []
    for (load, queue), own in runs.groups("load", "queue").items():
        cells: list[Cell] = []
        for transport in TRANSPORTS:
            one = transfer(own.where(transport=transport)[0])
            cells += [f"{one.kbps:.0f}", _percent(one.never_left / one.sent)]
        rows.append((str(load), int(str(queue)), *cells))
    return Table("load", "The PCMCIA card's copying and its queue, 1500 B", heads, rows)


def _verdict(*parts: bool) -> Verdict:
    """All of a claim's parts hold, some of them, or none."""
    return "reproduced" if all(parts) else "in part" if any(parts) else "not"


def _claims(done: Done, runs: Runs) -> Iterator[Claim]:
    yield from _first_scenario(done, runs)
    yield from _second_scenario(done)
    yield from _further_scenarios(done, runs)


def _first_scenario(done: Done, runs: Runs) -> Iterator[Claim]:
    slow, fast = of(done, 1, "b", "udp"), of(done, 1, "a", "udp")
    tcp = of(done, 1, "a", "tcp")
    worst = max(one.loss for one in slow.values())
    yield Claim(
        "slow-sender",
        "1: a slow sender loses next to nothing",
        _verdict(worst < NEGLIGIBLE),
        f"UDP, at most {_percent(worst)}",
    )
    least, most = (fast[size].loss for size in (min(fast), max(fast)))
    grows = all(a.loss < b.loss for a, b in pairwise(fast.values()))
    overruns = sum(one.overrun for one in fast.values()) / sum(
        one.sent - one.arrived for one in fast.values()
    )
    yield Claim(
        "overrun",
        "1: a fast sender overruns a slow receiver: 0.3 to 0.6 %, growing with size",
        _verdict(overruns > 0.9, grows),
        f"UDP, {_percent(least)} to {_percent(most)}; fitted",
    )
    rising = [
        all(a.kbps < b.kbps for a, b in pairwise(own.values()))
        for _, _, transport, own in _groups(done)
        if transport == "udp"
    ]
    yield Claim(
        "udp-size",
        "1: net throughput of UDP grows with size",
        _verdict(*rising),
        f"{sum(rising)} of {len(rising)} series; in 1 "
        + " to ".join(f"{fast[size].kbps:.0f}" for size in (min(fast), max(fast)))
        + " kbit/s",
    )
    below = all(tcp[size].kbps < fast[size].kbps for size in tcp)
    drops = min(a.kbps - b.kbps for a, b in pairwise(list(tcp.values())[-2:])) > 0
    yield Claim(
        "tcp-size",
        "1: TCP is below UDP, and drops at the largest sizes",
        _verdict(below, drops),
        ", ".join(f"{size} B {tcp[size].kbps:.0f} and {fast[size].kbps:.0f}" for size in tcp)
        + " kbit/s",
    )
    both = [one for sender in ("a", "b") for one in of(done, 1, sender, "tcp").values()]
    data, acks = sum(one.collided for one in both), sum(one.back_collided for one in both)
    yield Claim(
        "collisions",
        "1: TCP's data and ACKs collide undetected, both are lost alike",
        _verdict(data > 0, abs(data - acks) <= ALIKE * data),
        f"{data} data packets and {acks} ACKs in {len(both)} transfers; UDP "
        f"{sum(one.collided for one in (*fast.values(), *slow.values()))}",
    )
    at = {
        (end, what): levels(runs.where(scenario=1), end, what).mean_dbm
        for end in ("a", "b")
        for what in ("signal", "noise")
    }
    apart = [abs(at["a", what] - at["b", what]) for what in ("signal", "noise")]
    yield Claim(
        "symmetric",
        "1: histograms of levels are the same at both ends",
        _verdict(*(one < 1 for one in apart)),
        f"means apart by {apart[0]:.2f} dB of signal, {apart[1]:.2f} dB of noise",
    )


def _second_scenario(done: Done) -> Iterator[Claim]:
    fast, card = of(done, 2, "a", "udp"), of(done, 2, "b", "udp")
    overrun = fmean(one.loss for one in fast.values())
    yield Claim(
        "overrun-pcmcia",
        "2: the fast sender overruns the PCMCIA host too",
        _verdict(all(one.overrun > 0 for one in fast.values())),
        f"UDP, {_percent(overrun)} in the mean",
    )
    lost = sum(one.sent - one.arrived for one in card.values())
    stayed = sum(one.never_left for one in card.values())
    yield Claim(
        "never-left",
        "2: what the PCMCIA host loses never leaves it",
        _verdict(stayed >= (1 - ALIKE) * lost > 0),
        f"UDP, {lost} packets lost, {stayed} frames found no transmit buffer",
    )
    pcmcia = of(done, 2, "b", "tcp")
    others = {
        "the fast ISA host the other way": of(done, 2, "a", "tcp"),
        "the slow ISA host of 1": of(done, 1, "b", "tcp"),
    }
    slower = {
        name: fmean(pcmcia[size].kbps / own[size].kbps - 1 for size in pcmcia)
        for name, own in others.items()
    }
    yield Claim(
        "tcp-pcmcia",
        "2: TCP is slightly slower from the PCMCIA card",
        _verdict(*(one < 0 for one in slower.values())),
        "mean over sizes: "
        + ", ".join(f"than from {name} {100 * one:+.1f} %" for name, one in slower.items()),
    )
    faster = [
        of(done, 2, sender, "udp")[size].kbps > one.kbps
        for sender in ("a", "b")
        for size, one in of(done, 2, sender, "tcp").items()
    ]
    yield Claim(
        "udp-tcp",
        "2: UDP is faster than TCP",
        _verdict(*faster),
        f"{sum(faster)} of {len(faster)} pairs of transfers",
    )


def _further_scenarios(done: Done, runs: Runs) -> Iterator[Claim]:
    present = {k[0] for k in done}
    signal = {s: levels(runs.where(scenario=s), "b", "signal").mean_dbm for s in present}
    if {1, 2, 3, 4} <= present:
        lower = [signal[near] - signal[far] for near, far in ((1, 3), (2, 4))]
        changes = [abs(_change(done, near, far)) for near, far in ((1, 3), (2, 4))]
        yield Claim(
            "distance",
            "3, 4: levels are lower throughout, performance is the same",
            _verdict(min(lower) > 0, max(changes) < ALIKE),
            f"signal {lower[0]:.0f} dB lower; mean throughput differs by "
            + " and ".join(f"{100 * one:.1f} %" for one in changes),
        )
    if 5 in present:
        equal = max(one.loss for one in of(done, 5, "a", "udp").values())
        yield Claim(
            "equal-hosts",
            "5: equal hosts do not overrun each other",
            _verdict(equal < NEGLIGIBLE),
            f"UDP from ISA to PCMCIA, at most {_percent(equal)}",
        )
    near = 4 if 4 in present else 2
    noise = {s: sum(one.noise for k, one in done.items() if k[0] == s) for s in (near, 6)}
    sent = {s: sum(one.sent for k, one in done.items() if k[0] == s) for s in (near, 6)}
    yield Claim(
        "further",
        "6: slightly more loss, lower levels",
        _verdict(noise[6] / sent[6] > noise[near] / sent[near], signal[6] < signal[near]),
        f"lost to noise {_percent(noise[6] / sent[6])} of the packets, in {near} "
        f"{_percent(noise[near] / sent[near])}; signal {signal[near] - signal[6]:.0f} dB lower",
    )


def _change(done: Done, near: int, far: int) -> float:
    """Of the mean throughput over senders, transports and sizes, relative."""
    means = [fmean(one.kbps for k, one in done.items() if k[0] == s) for s in (near, far)]
    return means[1] / means[0] - 1


def _values(done: Done) -> dict[str, float]:
    found: dict[str, float] = {}
    for at, reads in HELD.items():
        if at in done:
            name = "_".join(map(str, at))
            found |= {f"{name}_{read}": float(getattr(done[at], read)) for read in reads}
    return found


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    main = runs.part()
    done = {key(run): transfer(run) for run in main}
    tables = [_transfer_table(done), _fate_table(done), _ends_table(done), _level_table(main)]
    beside = []
    if power := runs.part("power"):
        tables.append(_fit_table(power, published))
        as_used = power.where(power=1)
        overrun = published["overrun"]
        beside = [
            Beside(
                f"lost of {size} B, fast to slow host, %",
                as_used.where(size=size).sample(overrun_percent),
                100 * share,
            )
            for size, share in zip(overrun["sizes"], overrun["losses"], strict=True)
        ]
    if largest := runs.part("largest"):
        tables += [
            _variant_table(
                largest.where(recovery=recovery),
                f"largest-{recovery}",
                f"TCP ({recovery}) over size and window, kbit/s",
                "window",
                "size",
            )
            for recovery in ("reno", "newreno")
        ]
    if cards := runs.part("card"):
        title = "TCP by card and recovery, 1500 B, kbit/s"
        tables.append(_variant_table(cards, "card", title, "sending", "recovery"))
    if load := runs.part("load"):
        tables.append(_load_table(load))
    shown = [
        pictures.over_size(done),
        pictures.ends(done),
        pictures.histograms(main),
        pictures.sequence(main),
    ]
    return Findings(tables, shown, list(_claims(done, main)), beside, _values(done))
