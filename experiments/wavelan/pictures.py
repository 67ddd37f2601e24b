# SPDX-License-Identifier: Apache-2.0
"""The study's figures: over size, both ends' counters, levels, sequence numbers over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hoplab.many.study import plot
from hoplab.many.study.findings import Picture
from hoplab.many.study.swept import Run, Runs

from .transfer import HOSTS, PLACES, Transfer, levels

Done = Mapping[tuple[int, str, str, int], Transfer]
STYLES = {
    ("udp", "a"): ("UDP from a", "-", ("#1f5fa8", "o")),
    ("udp", "b"): ("UDP from b", "--", ("#7fb0e0", "s")),
    ("tcp", "a"): ("TCP from a", "-", ("#c0182b", "o")),
    ("tcp", "b"): ("TCP from b", "--", ("#e58a8a", "s")),
}
COUNTERS: Mapping[str, tuple[Callable[[Transfer], int], tuple[str, str]]] = {
    "data sent": (lambda one: one.sent, ("#1f5fa8", "o")),
    "data received": (lambda one: one.arrived, ("#7fb0e0", "s")),
    "ACKs sent": (lambda one: one.back_sent, ("#c0182b", "o")),
    "ACKs received": (lambda one: one.back_arrived, ("#e58a8a", "s")),
}
LOSS_FLOOR = 0.005
"""Percent; half of a packet of 10 000: where none is lost, on a logarithmic axis."""
EXCERPT_S = 0.4


def _named(scenario: int) -> str:
    a, b = HOSTS[scenario]
    return f"{scenario}: {a} (a), {b} (b), {PLACES[scenario]}"


def over_size(done: Done) -> Picture:
    """A row a scenario: throughput to the left, loss to the right."""
    panels = []
    for scenario in dict.fromkeys(k[0] for k in done):
        rate = plot.Panel(_named(scenario), (0, 1600), (0, 1800), y_label="net kbit/s")
        lost = plot.Panel("lost", (0, 1600), (0.004, 20), "y", y_label="% (none: 0.005)")
        for (transport, sender), (kind, line, style) in STYLES.items():
            own = {k[3]: one for k, one in done.items() if k[:3] == (scenario, sender, transport)}
            if not own:
                continue
            rate.add(
                kind, [(float(size), one.kbps) for size, one in own.items()], line, style=style
            )
            points = [(float(size), max(LOSS_FLOOR, 100 * one.loss)) for size, one in own.items()]
            lost.add(kind, points, line, style=style)
        panels += [rate, lost]
    title = "Throughput and loss over the size of IP datagrams"
    return Picture("size", plot.svg(panels, "octets", "", title))


def ends(done: Done) -> Picture:
    """What one end sent and the other received under TCP; the gaps are the collisions."""
    panels = []
    for scenario in dict.fromkeys(k[0] for k in done if k[0] <= 2):
        for sender in ("a", "b"):
            own = {k[3]: one for k, one in done.items() if k[:3] == (scenario, sender, "tcp")}
            a, b = HOSTS[scenario]
            title = f"{scenario}: {a} to {b}" if sender == "a" else f"{scenario}: {b} to {a}"
            panel = plot.Panel(title, (0, 1600), (4000, 11000))
            for kind, (read, style) in COUNTERS.items():
                points = [(float(size), float(read(one))) for size, one in own.items()]
                panel.add(kind, points, "-", style=style)
            panels.append(panel)
    return Picture("ends", plot.svg(panels, "octets", "packets", "Counters of both ends, TCP"))


def histograms(runs: Runs) -> Picture:
    """A panel a scenario: levels of signal and noise that each end's card reported."""
    panels = []
    styles = {
        ("signal", "a"): ("#1f5fa8", ","),
        ("signal", "b"): ("#7fb0e0", ","),
        ("noise", "a"): ("#c0182b", ","),
        ("noise", "b"): ("#e58a8a", ","),
    }
    for (scenario,), own in runs.groups("scenario").items():
        panel = plot.Panel(_named(int(str(scenario))), (-100, -20), (0, 45))
        for (quantity, end), style in styles.items():
            found = levels(own, end, quantity).percent
            points = [(dbm + 0.5, share) for dbm, share in found.items()]
            line = "-" if end == "a" else "--"
            panel.add(f"{quantity} at {end}", points, line, style=style)
        panels.append(panel)
    title = "Levels that the cards told, all transfers of a scenario"
    return Picture("levels", plot.svg(panels, "dBm", "% of frames", title))


def sequence(runs: Runs) -> Picture:
    """TCP's packets over time as the receiver gets them: from an ISA and from a PCMCIA card."""
    panels = []
    for scenario, name in ((1, "from the slow ISA host"), (2, "from the slow PCMCIA host")):
        own = runs.where(scenario=scenario, sender="b", transport="tcp", size=1500)
        panels.append(_excerpt(own[0], name))
    return Picture("sequence", plot.svg(panels, "s", "octets", "TCP, 1500 B, an excerpt"))


def _excerpt(run: Run, name: str) -> plot.Panel:
    packets = sorted(run.rows("packets"), key=lambda row: row["sent_s"])
    lost_s = next(
        (p["sent_s"] for p in packets[100:] if p["received_s"] is None), packets[100]["sent_s"]
    )
    begin_s = lost_s - EXCERPT_S / 4
    seen = [p for p in packets if begin_s <= p["sent_s"] < begin_s + EXCERPT_S]
    base = min(p["seq"] for p in seen)
    top = max(p["seq"] for p in seen) - base
    panel = plot.Panel(name, (begin_s, begin_s + EXCERPT_S), (-0.05 * top, 1.05 * top))
    again: set[int] = {p["seq"] for p in packets if p["sent_s"] < begin_s}
    kinds: dict[str, list[tuple[float, float]]] = {"sent": [], "sent again": [], "lost": []}
    for p in seen:
        point = (p["sent_s"], float(p["seq"] - base))
        kinds["sent again" if p["seq"] in again else "sent"].append(point)
        again.add(p["seq"])
        if p["received_s"] is None:
            kinds["lost"].append(point)
    for kind, points in kinds.items():
        if points:
            panel.add(kind, points)
    arrivals = [
        (p["received_s"], float(p["seq"] - base)) for p in seen if p["received_s"] is not None
    ]
    panel.add(
        "received", [p for p in arrivals if p[0] < begin_s + EXCERPT_S], style=("#9aa5b1", ".")
    )
    return panel
