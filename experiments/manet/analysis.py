# SPDX-License-Identifier: Apache-2.0
"""Seven routing protocols among moving stations: delivery, delay, overhead, joules, TCP's goodput.

Every protocol runs on the same patterns, so differences and ratios are taken within a pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import plot
from hoplab.many.study.findings import Cell, Claim, Findings, Picture, Table, Verdict, told
from hoplab.many.study.swept import Run, Runs

NAMES = {
    "dsr": "DSR",
    "aodv": "AODV",
    "olsr": "OLSR",
    "dsdv": "DSDV",
    "babeld": "Babel",
    "batman-adv": "batman-adv",
    "hwmp": "HWMP",
}
STYLES = dict(zip(NAMES.values(), [(colour, "o") for colour in plot.FURTHER], strict=True))
PAYLOAD_BYTES = 512
PACKETS_PER_S = 4
"""Of a flow, unless an axis sets it."""
LINK_BYTES = 36
"""MAC header without QoS, LLC and FCS around a packet."""
UDP_BYTES = 28
"""Of IP and UDP."""
USERS = ("tcp", "udp", "icmp", "arp")
NEARLY_ALL = 0.95
"""Delivered: what counts as nearly all."""
ALMOST = 0.05
"""Delivery by which one protocol may lack to deliver almost as much as another."""
CONSTANT = 0.25
"""Relative change of what hardly depends on something."""
SLOW, FAST = 1, 20
"""Speeds of claims, m/s."""


@dataclass(frozen=True)
class Outcome:
    """What a run with datagrams came to; overheads are per delivered packet."""

    delivery: float
    delay_ms: float
    packets: float
    octets: float
    joules: float
    """Per megabit delivered, by all radios."""
    control_octets: float
    """A second, of routing packets in the whole network."""


def outcome(run: Run) -> Outcome:
    flows = run.rows("flows")
    rate = run.at.get("load") or PACKETS_PER_S
    offered = sum(math.ceil((flow["stop_s"] - flow["start_s"]) * rate) for flow in flows)
    received = sum(flow["received"] or 0 for flow in flows)
    waited = sum((flow["latency_ms_mean"] or 0.0) * (flow["received"] or 0) for flow in flows)
    packets, control, headers = _overhead(run.rows("frames"))
    some = max(received, 1)
    lasts_s = max(flow["stop_s"] for flow in flows)
    return Outcome(
        received / offered,
        waited / some,
        packets / some,
        (control + headers) / some,
        _joules(run) / (8e-6 * PAYLOAD_BYTES * some),
        control / lasts_s,
    )


def _overhead(frames: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Routing packets, their octets, and octets of routing in the users' packets, at each hop.

    A frame that is sent again is counted once: routing has handed it down once.
    """
    packets = octets = headers = 0
    for frame in frames:
        if frame["attempt"] != 1:
            continue
        protocol = frame["protocol"]
        if protocol == "udp" and frame["payload_bytes"] is not None:
            headers += max(0, frame["bytes"] - frame["payload_bytes"] - UDP_BYTES - LINK_BYTES)
        elif protocol not in USERS and (protocol is not None or _is_path_message(frame)):
            packets += 1
            octets += frame["bytes"] - LINK_BYTES
    return packets, octets, headers


def _is_path_message(frame: Mapping[str, Any]) -> bool:
    """HWMP's messages are management frames without a packet."""
    return frame["kind"] in ("data", "broadcast")


def _joules(run: Run) -> float:
    return sum(float(r["energy_tx_j"] + r["energy_rx_j"]) for r in run.rows("radios"))


class Field:
    """Outcomes of runs by protocol, by an axis, by pattern."""

    def __init__(self, runs: Runs, axis: str, value: Any = None) -> None:
        self.found: dict[Any, dict[str, dict[int, Outcome]]] = {}
        for run in runs:
            at = run.at.get(axis, value)
            name = NAMES.get(str(run.at.get("by")), "")
            self.found.setdefault(at, {}).setdefault(name, {})[run.seed] = outcome(run)

    def sample(self, at: Any, name: str, read: Callable[[Outcome], float]) -> Sample:
        return Sample.of([read(one) for one in self.found[at][name].values()])

    def ratio(self, at: Any, name: str, other: str, read: Callable[[Outcome], float]) -> Sample:
        """Of two protocols, within each pattern."""
        own, others = self.found[at][name], self.found[at][other]
        return Sample.of([read(own[p]) / read(others[p]) for p in sorted(set(own) & set(others))])

    def change(self, name: str, slow: Any, fast: Any, read: Callable[[Outcome], float]) -> Sample:
        """From one value of the axis to another, relative, within each pattern."""
        before, after = self.found[slow][name], self.found[fast][name]
        shared = sorted(set(before) & set(after))
        return Sample.of([read(after[p]) / read(before[p]) - 1 for p in shared])


HEADS = ("delivery, %", "delay, ms", "packets", "octets", "J/Mbit")


def _cells(field: Field, at: Any, name: str) -> list[Cell]:
    reads: list[Callable[[Outcome], float]] = [
        lambda one: 100 * one.delivery,
        lambda one: one.delay_ms,
        lambda one: one.packets,
        lambda one: one.octets,
        lambda one: one.joules,
    ]
    return [field.sample(at, name, read) for read in reads]


def _table(field: Field, name: str, title: str, head: str) -> Table:
    rows: list[Sequence[Cell]] = [
        (protocol, str(at), *_cells(field, at, protocol))
        for protocol in dict.fromkeys(p for own in field.found.values() for p in own)
        for at, own in field.found.items()
        if protocol in own
    ]
    return Table(name, title, ("", head, *HEADS), rows)


def _causes_table(runs: Runs) -> Table:
    rows: list[Sequence[Cell]] = []
    for (case,), own in runs.groups("case").items():
        field = Field(own, "case")
        rows.append((str(case), *_cells(field, case, "")))
    return Table("causes", "One rule changed, 20 m/s", ("", *HEADS), rows)


def _tcp_table(runs: Runs) -> Table:
    heads = ("", "m/s", "NewReno", "CUBIC", "BBR", "timeouts, NewReno", "J/Mbit, NewReno")
    rows: list[Sequence[Cell]] = []
    for (protocol, speed), own in runs.groups("by", "speed").items():
        cells: list[Cell] = []
        for variant in ("newreno", "cubic", "bbr"):
            some = own.where(variant=variant)
            cells.append(some.sample(tcp_kbps) if some else None)
        reno = own.where(variant="newreno")
        cells += [reno.sample(_timeouts), reno.sample(_tcp_joules)]
        rows.append((NAMES[str(protocol)], str(speed), *cells))
    return Table("tcp", "Three TCP connections, kbit/s in all", heads, rows)


def tcp_kbps(run: Run) -> float:
    """Of all connections together."""
    return sum(flow["goodput_kbps"] or 0.0 for flow in run.rows("flows"))


def _timeouts(run: Run) -> float:
    return float(sum(flow["timeouts"] or 0 for flow in run.rows("flows")))


def _tcp_joules(run: Run) -> float:
    bits = 8 * sum(flow["delivered_bytes"] or 0 for flow in run.rows("flows"))
    return _joules(run) / max(1e-6 * bits, 1e-3)


def _over_speed(field: Field) -> Picture:
    speeds = list(field.found)
    ends = (0.0, max(speeds) + 2.0)
    delivery = plot.Panel("delivery", ends, (0, 105), y_label="%")
    packets = plot.Panel("routing packets per delivered packet", ends, (0.01, 100), "y")
    for name in NAMES.values():
        if not all(name in own for own in field.found.values()):
            continue
        for panel, read in (
            (delivery, lambda one: 100 * one.delivery),
            (packets, lambda one: one.packets),
        ):
            samples = [field.sample(at, name, read) for at in speeds]
            points = [(float(at), s.mean) for at, s in zip(speeds, samples, strict=True)]
            panel.add(name, points, "-", [s.half_width for s in samples], STYLES[name])
    title = "Thirty moving stations, ten flows of four packets a second"
    return Picture("speed", plot.svg([delivery, packets], "speed (m/s)", "", title))


def _claims(main: Field, load: Field | None, said: Mapping[str, Any]) -> list[Claim]:
    broch, perkins, clausen = said["broch"], said["perkins"], said["clausen"]
    found = [
        _on_demand(main, broch["on_demand"]),
        _least(main, broch["dsr_least"]),
        _octets(main, broch["octets"]),
        _more(main, perkins["dsr_load"]),
    ]
    if {SLOW, FAST} <= set(main.found):
        found += [
            _falls(main, broch["dsdv_falls"]),
            _constant(main, "DSDV", broch["dsdv_constant"]),
            _constant(main, "OLSR", clausen["olsr_constant"]),
        ]
    if load is not None:
        found.append(_stress(load, perkins["stress"]))
    return found


def _delivery(field: Field, at: Any, name: str) -> Sample:
    """Of what the best protocol delivered in the pattern: some stations are out of all reach."""
    best: dict[int, float] = {}
    for own in field.found[at].values():
        for pattern, one in own.items():
            best[pattern] = max(best.get(pattern, 0.0), one.delivery)
    return Sample.of([one.delivery / best[p] for p, one in field.found[at][name].items()])


def _percent(sample: Sample) -> str:
    return f"{told(sample.scaled(100))} %"


def _falls(field: Field, sentence: str) -> Claim:
    slow, fast = (_delivery(field, at, "DSDV") for at in (SLOW, FAST))
    much = slow.mean >= NEARLY_ALL
    fails = fast.mean < NEARLY_ALL
    shown = f"{_percent(slow)} at {SLOW} m/s, {_percent(fast)} at {FAST}"
    return Claim("dsdv-falls", sentence, _both(much, fails), shown)


def _on_demand(field: Field, sentence: str) -> Claim:
    all_of = [_delivery(field, at, "DSR").mean for at in field.found]
    lacks = [
        _delivery(field, at, "DSR").mean - _delivery(field, at, "AODV").mean for at in field.found
    ]
    shown = "DSR and AODV: " + "; ".join(
        f"{_percent(_delivery(field, at, 'DSR'))} and {_percent(_delivery(field, at, 'AODV'))} "
        f"at {at} m/s"
        for at in field.found
    )
    verdict = _both(min(all_of) >= NEARLY_ALL, max(lacks) <= ALMOST)
    return Claim("on-demand", sentence, verdict, shown)


def _least(field: Field, sentence: str) -> Claim:
    ahead = []
    for at, own in field.found.items():
        mine = field.sample(at, "DSR", lambda one: one.packets).mean
        others = [n for n in ("AODV", "OLSR", "DSDV") if n in own]
        ahead.append(all(mine < field.sample(at, n, lambda o: o.packets).mean for n in others))
    verdict: Verdict = "reproduced" if all(ahead) else "in part" if any(ahead) else "not"
    shown = "packets of DSR, AODV, OLSR, DSDV: " + "; ".join(
        ", ".join(
            f"{field.sample(at, n, lambda o: o.packets).mean:.3g}"
            for n in ("DSR", "AODV", "OLSR", "DSDV")
        )
        + f" at {at} m/s"
        for at in field.found
    )
    return Claim("dsr-least", sentence, verdict, shown)


def _more(field: Field, sentence: str) -> Claim:
    ratios = {at: field.ratio(at, "AODV", "DSR", lambda one: one.packets) for at in field.found}
    more = [ratio.mean - ratio.half_width > 1 for ratio in ratios.values()]
    verdict: Verdict = "reproduced" if all(more) else "in part" if any(more) else "not"
    shown = ", ".join(f"{told(ratio)} times at {at} m/s" for at, ratio in ratios.items())
    return Claim("dsr-load", sentence, verdict, shown)


def _octets(field: Field, sentence: str) -> Claim:
    less = []
    told_ratios = []
    for at in field.found:
        packets = field.ratio(at, "AODV", "DSR", lambda one: one.packets)
        octets = field.ratio(at, "AODV", "DSR", lambda one: one.octets)
        less.append(octets.mean < packets.mean)
        told_ratios.append(f"{told(octets)} in octets, {told(packets)} in packets at {at} m/s")
    verdict: Verdict = "reproduced" if all(less) else "in part" if any(less) else "not"
    return Claim("octets", sentence, verdict, "AODV over DSR: " + "; ".join(told_ratios))


def _constant(field: Field, name: str, sentence: str) -> Claim:
    change = field.change(name, SLOW, FAST, lambda one: one.control_octets)
    verdict: Verdict = "reproduced" if abs(change.mean) <= CONSTANT else "not"
    slow, fast = (field.sample(at, name, lambda one: one.control_octets) for at in (SLOW, FAST))
    shown = f"octets/s of routing: {told(slow)} at {SLOW} m/s, {told(fast)} at {FAST}"
    return Claim(f"{name.lower()}-constant", sentence, verdict, shown)


def _stress(field: Field, sentence: str) -> Claim:
    most = max(field.found)
    ratio = field.ratio(most, "AODV", "DSR", lambda one: one.delay_ms)
    less = ratio.mean + ratio.half_width < 1
    verdict: Verdict = "reproduced" if less else "in part" if ratio.mean < 1 else "not"
    return Claim("stress", sentence, verdict, f"{told(ratio)} of DSR's at {most} packets/s")


def _both(first: bool, second: bool) -> Verdict:
    return "reproduced" if first and second else "in part" if first or second else "not"


def analyse(runs: Runs, published: Mapping[str, Any]) -> Findings:
    main = Field(runs.part(), "speed")
    tables = [_table(main, "speed", "Over speed; overheads per delivered packet", "m/s")]
    load = density = None
    if others := runs.part("load"):
        load = Field(others, "load")
        tables.append(_table(load, "load", "Over load, 10 m/s", "packets/s"))
    if others := runs.part("density"):
        density = Field(others, "density", 50)
        tables.append(_table(density, "density", "Fifty stations, 10 m/s", "stations"))
    if others := runs.part("causes"):
        tables.append(_causes_table(others))
    if others := runs.part("tcp"):
        tables.append(_tcp_table(others))
    return Findings(
        tables,
        [_over_speed(main)],
        _claims(main, load, published),
        values=_values(main, runs.part("tcp")),
    )


def _values(main: Field, tcp: Runs) -> dict[str, float]:
    values = {}
    for at, own in main.found.items():
        for name in own:
            for quantity in ("delivery", "packets", "octets"):
                sample = main.sample(at, name, attrgetter(quantity))
                values[f"{name}_{at}_{quantity}"] = sample.mean
    for (protocol, variant), group in tcp.groups("by", "variant").items():
        values[f"{NAMES[str(protocol)]}_{variant}_kbps"] = group.sample(tcp_kbps).mean
    return values
