# SPDX-License-Identifier: Apache-2.0
"""The lines of the figures over time. They grow row by row, so the same code draws a run in
progress and a finished one."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_POINTS = 2400
"""Points drawn per line; a wider screen than this could not show more."""
GOODPUT_WINDOW_S = 1.0
NO_THRESHOLD = 1_000_000
"""Linux keeps ssthresh at 2^31 - 1 until the first loss. A line at that value would hide all
others."""
MAX_QUEUES = 8

Row = Mapping[str, Any]


CONNECTION = re.compile(r"(.+):\d+([<>])(.+:\d+)")
"""Name of a program's connection in one direction: ``client:40312<n3:80``."""


def group_of(flow: str) -> str:
    """Return the name under which a flow is in a legend. Connections of a program with the same
    service are together: a browser has dozens."""
    found = CONNECTION.fullmatch(flow)
    return flow if found is None else " ".join(found.groups())


def number(value: Any) -> float | None:
    """Return ``value`` as a finite float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


class Line:
    """Points in order of time. With ``limit`` at most that many are kept: at the limit every other
    point is dropped, and ``era`` counts how often."""

    def __init__(
        self, name: str, label: str = "", dashed: bool = False, limit: int | None = None
    ) -> None:
        """``name`` is that of a flow or a queue."""
        self.name = name
        self.group = group_of(name)
        self.label = label
        self.dashed = dashed
        self.t: list[float] = []
        self.y: list[float | None] = []
        self.era = 0
        self._limit = limit
        self._seen = 0

    def add(self, t_s: float, value: Any) -> None:
        """Add the next point. None and values that are no number are gaps."""
        self._seen += 1
        if (self._seen - 1) % (1 << self.era):
            return
        known = number(value)
        self.t.append(round(t_s, 3))
        self.y.append(None if known is None else round(known, 2))
        if self._limit is not None and len(self.t) >= self._limit:
            del self.t[1::2], self.y[1::2]
            self.era += 1

    def at(self, t_s: float) -> float | None:
        """Return the last value by then, or None before the first."""
        place = bisect_right(self.t, t_s)
        return self.y[place - 1] if place else None

    def has_values(self) -> bool:
        return any(value is not None for value in self.y)

    def drawn(self, whole: bool = False) -> dict[str, Any]:
        """Return all of its points, or at most `MAX_POINTS`, with the last one."""
        count = len(self.t)
        step = 1 if whole else max(1, math.ceil(count / MAX_POINTS))
        chosen = slice((count - 1) % step if count else 0, count, step)
        found: dict[str, Any] = {"name": self.name, "group": self.group, "label": self.label}
        if self.dashed:
            found["dashed"] = True
        return {**found, "t": self.t[chosen], "y": self.y[chosen]}


class Rate:
    """A rate in kbit/s over the `GOODPUT_WINDOW_S` before each point, from a total of bytes. Points
    that are further apart give the rate since the point before."""

    def __init__(self, interval_s: float = 0.0, before: float | None = None) -> None:
        """``interval_s`` is the time between points. ``before`` is the total at the flow's start;
        by default that of the first point."""
        self._window_s = max(GOODPUT_WINDOW_S, interval_s)
        self._recent: deque[tuple[float, float]] = deque()
        self._before = before

    def after(self, t_s: float, total_bytes: float) -> float:
        """Return the rate for ``total_bytes`` at ``t_s``, which is no earlier than the last
        point."""
        if self._before is None:
            self._before = total_bytes
        self._recent.append((t_s, total_bytes))
        while len(self._recent) > 1 and self._recent[1][0] <= t_s - self._window_s + 1e-9:
            self._recent.popleft()
        then_s, before = self._recent[0]
        span = t_s - then_s
        if span < self._window_s / 2:
            # The flow has just started, and had delivered nothing before.
            span, before = self._window_s, self._before
        return (total_bytes - before) * 8e-3 / span


@dataclass(frozen=True)
class Sampled:
    """A TCP flow at a moment. Its last sample was at ``t_s``, and every ``step``-th sample is
    kept."""

    flow: str
    t_s: float
    step: int
    goodput_kbps: float | None
    cwnd: float | None
    rtt_ms: float | None


@dataclass(frozen=True)
class Received:
    """A UDP flow at a moment, likewise. The delay is the median one way."""

    flow: str
    t_s: float
    step: int
    goodput_kbps: float | None
    delay_ms: float | None
    lost_percent: float | None


class _Flow:
    """The lines of a TCP flow."""

    def __init__(self, name: str, limit: int | None, interval_s: float) -> None:
        self.goodput = Line(name, limit=limit)
        self.window = Line(name, "cwnd", limit=limit)
        self.threshold = Line(name, "ssthresh", dashed=True, limit=limit)
        self.rtt = Line(name, limit=limit)
        self._rate = Rate(interval_s)

    def add(self, row: Row) -> None:
        t_s = float(row["t_s"])
        self.goodput.add(t_s, self._rate.after(t_s, row["delivered_bytes"] or 0))
        self.window.add(t_s, row["cwnd"])
        threshold = row["ssthresh"]
        known = threshold is not None and threshold <= NO_THRESHOLD
        self.threshold.add(t_s, threshold if known else None)
        self.rtt.add(t_s, row["rtt_ms"])


class _Datagrams:
    """The lines of a UDP flow, from its receiver's samples."""

    def __init__(self, name: str, limit: int | None, interval_s: float) -> None:
        self.goodput = Line(name, limit=limit)
        self.median = Line(name, "half", limit=limit)
        self.tail = Line(name, "95 %", dashed=True, limit=limit)
        self.jitter = Line(name, limit=limit)
        self.loss = Line(name, limit=limit)
        self._rate = Rate(interval_s, before=0.0)
        self._counts: deque[tuple[float, int, int]] = deque([(0.0, 0, 0)])

    def add(self, row: Row) -> None:
        t_s = float(row["t_s"])
        self.goodput.add(t_s, self._rate.after(t_s, row["delivered_bytes"] or 0))
        self.median.add(t_s, row["latency_ms_p50"])
        self.tail.add(t_s, row["latency_ms_p95"])
        self.jitter.add(t_s, row["jitter_ms"])
        if row["lost"] is not None:
            self.loss.add(t_s, self._lost_percent(t_s, row["received"] or 0, row["lost"]))

    def _lost_percent(self, t_s: float, received: int, lost: int) -> float | None:
        """Return the share that was lost of what was due in the last second; None of nothing."""
        while len(self._counts) > 1 and self._counts[1][0] <= t_s - GOODPUT_WINDOW_S + 1e-9:
            self._counts.popleft()
        _, had, lacked = self._counts[0]
        self._counts.append((t_s, received, lost))
        due = received + lost - had - lacked
        # A datagram that came late takes a loss back.
        return max(0.0, 100.0 * (lost - lacked) / due) if due > 0 else None


class Lines:
    """The lines of a run's panels over time, from rows in order of time."""

    def __init__(
        self, flows: Iterable[str], limit: int | None = None, interval_s: float = 0.0
    ) -> None:
        """``flows`` are their names, in the order of drawing. ``limit`` is the number of points of
        each line, ``interval_s`` the time between samples."""
        self._order = {name: place for place, name in enumerate(flows)}
        self._limit = limit
        self._interval_s = interval_s
        self._flows: dict[str, _Flow] = {}
        self._datagrams: dict[str, _Datagrams] = {}
        self._exchanges: dict[str, Line] = {}
        self._queues: dict[str, Line] = {}
        self._waiting: dict[str, Line] = {}
        self._waits: dict[str, Line] = {}
        """Of wired queues, and of their parts."""
        self._of_packets: tuple[list[Line], list[Line]] = ([], [])

    def add(self, table: str, row: Row) -> None:
        """Take a row of any table. Rows that no line shows are ignored."""
        if table == "tcp":
            name = str(row["flow"])
            if name not in self._flows:
                self._flows[name] = _Flow(name, self._limit, self._interval_s)
            self._flows[name].add(row)
        elif table == "udp":
            name = str(row["flow"])
            if name not in self._datagrams:
                self._datagrams[name] = _Datagrams(name, self._limit, self._interval_s)
            self._datagrams[name].add(row)
        elif table == "exchanges":
            name = str(row["flow"])
            if name not in self._exchanges:
                self._exchanges[name] = Line(name, limit=self._limit)
            self._exchanges[name].add(float(row["t_s"]), row["rtt_ms"])
        elif table == "queues":
            name = f"{row['node']} {row['interface']}"
            if name not in self._queues:
                self._queues[name] = Line(name, limit=self._limit)
            self._queues[name].add(float(row["t_s"]), row["backlog_packets"])
            self._add_wait(name, row)
        elif table == "queue_parts":
            self._add_wait(f"{row['node']} {row['interface']}, {row['part']}", row)
        elif table == "wifi_queues":
            name = f"{row['node']} to {row['peer']}, {row['category']}"
            if name not in self._waiting:
                self._waiting[name] = Line(name, limit=self._limit)
            self._waiting[name].add(float(row["t_s"]), row["backlog_packets"])

    def _add_wait(self, name: str, row: Row) -> None:
        wait_ms = row.get("sojourn_ms")
        if wait_ms is not None and name not in self._waits:
            self._waits[name] = Line(name, limit=self._limit)
        if name in self._waits:
            self._waits[name].add(float(row["t_s"]), wait_ms)

    def add_packets(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Take all packets of a flow after the run. They give its delay, and the goodput of a flow
        that was not sampled."""
        arrived = sorted(
            (row for row in rows if row["received_s"] is not None),
            key=lambda row: float(row["received_s"]),
        )
        if not arrived:
            return
        goodput, delay = self._of_packets
        delay.append(Line(name))
        for row in arrived:
            delay[-1].add(row["received_s"], (row["received_s"] - row["sent_s"]) * 1e3)
        if name not in self._flows and name not in self._datagrams:
            goodput.append(_packet_rate(name, arrived))

    def panels(self, whole: bool = False) -> list[dict[str, Any]]:
        """Return ``title``, ``unit``, ``lines`` and ``note`` of each panel that has a line, and
        ``connected`` where lines go on over gaps. With ``whole`` the lines have all points that are
        kept."""
        return [
            {**panel, "lines": [line.drawn(whole) for line in panel["lines"]]}
            for panel in self._panels()
        ]

    def sampled(self, t_s: float) -> Iterator[Sampled]:
        """Yield each TCP flow that was sampled by then, with its last values."""
        for name, flow in self._flows.items():
            place = bisect_right(flow.goodput.t, t_s)
            if place:
                values = flow.goodput.at(t_s), flow.window.at(t_s), flow.rtt.at(t_s)
                yield Sampled(name, flow.goodput.t[place - 1], 1 << flow.goodput.era, *values)

    def received(self, t_s: float) -> Iterator[Received]:
        """Yield each flow of datagrams that was sampled by then, with its last values."""
        for name, flow in self._datagrams.items():
            place = bisect_right(flow.goodput.t, t_s)
            if place:
                values = flow.goodput.at(t_s), flow.median.at(t_s), flow.loss.at(t_s)
                yield Received(name, flow.goodput.t[place - 1], 1 << flow.goodput.era, *values)

    def answered(self, t_s: float) -> Iterator[tuple[str, float | None]]:
        """Yield each flow of echoes or transactions by then, with its last time in ms, or None if
        that was lost."""
        for name, line in self._exchanges.items():
            if line.t and line.t[0] <= t_s:
                yield name, line.at(t_s)

    def each(self) -> Iterator[Line]:
        """Yield every line of the panels, in order of drawing."""
        for panel in self._panels():
            yield from panel["lines"]

    def _panels(self) -> list[dict[str, Any]]:
        flows = list(self._flows.values())
        windows: list[Line] = []
        for flow in flows:
            windows.append(flow.window)
            if flow.threshold.has_values():
                windows.append(flow.threshold)
        datagrams = list(self._datagrams.values())
        goodput, delay = self._of_packets
        received = [flow.goodput for flow in datagrams]
        timed = {line.group for line in delay}
        sampled = [flow for flow in datagrams if flow.goodput.group not in timed]
        delays = [line for flow in sampled for line in (flow.median, flow.tail)]
        panels = [
            _panel(
                "Goodput",
                "kbit/s",
                self._sorted([*(flow.goodput for flow in flows), *received, *goodput]),
                "Payload delivered in order, over the last second: what waited behind a hole "
                "counts at once.",
            ),
            _panel(
                "Congestion window",
                "segments",
                self._sorted(windows),
                "cwnd solid, ssthresh dashed; no ssthresh before the first loss.",
            ),
            _panel(
                "Round-trip time",
                "ms",
                self._sorted([flow.rtt for flow in flows]),
                "The sender's smoothed estimate.",
            ),
            _panel(
                "Echoes and transactions",
                "ms",
                self._sorted([*self._exchanges.values()]),
                "From each echo or request to the end of its reply; a gap where none came.",
            ),
            {
                **_panel(
                    "One-way delay",
                    "ms",
                    self._sorted([*delay, *filter(Line.has_values, delays)]),
                    _delay_note(bool(delay), bool(sampled)),
                ),
                # A point alone between samples without arrivals would not be seen.
                "connected": True,
            },
            _panel(
                "Jitter",
                "ms",
                self._sorted([flow.jitter for flow in datagrams if flow.jitter.has_values()]),
                "Smoothed difference of successive one-way delays (RFC 3550).",
            ),
            _panel(
                "Lost datagrams",
                "%",
                self._sorted([flow.loss for flow in datagrams if any(flow.loss.y)]),
                "Of those due in the last second, of flows that ever lost one.",
            ),
            _queue_panel("Queue", "wired", "interfaces", self._queues),
            _panel(
                "Wait in wired queues",
                "ms",
                [line for line in self._waits.values() if any(line.y)][:MAX_QUEUES],
                "As the kernel states it, of queues and parts that do.",
            ),
            _queue_panel("Wi-Fi queue", "Wi-Fi", "queues", self._waiting),
        ]
        return [panel for panel in panels if panel["lines"]]

    def _sorted(self, lines: list[Line]) -> list[Line]:
        last = len(self._order)
        return sorted(lines, key=lambda line: self._order.get(line.group, last))


def _queue_panel(title: str, kind: str, what: str, lines: dict[str, Line]) -> dict[str, Any]:
    used = [line for line in lines.values() if any(line.y)]
    used.sort(key=lambda line: -max(value or 0 for value in line.y))
    note = f"{kind[0].upper()}{kind[1:]} {what} in which packets ever waited."
    if len(used) > MAX_QUEUES:
        note = f"The {MAX_QUEUES} fullest of {len(used)} {kind} queues."
    return _panel(title, "packets", used[:MAX_QUEUES], note)


def _delay_note(of_packets: bool, of_samples: bool) -> str:
    each = "Of each packet that arrived."
    sampled = "Half of the datagrams since the last sample took at most this; dashed: 95 % of them."
    return " ".join([each] * of_packets + [sampled] * of_samples)


def _panel(title: str, unit: str, lines: list[Line], note: str) -> dict[str, Any]:
    return {"title": title, "unit": unit, "lines": lines, "note": note}


def _packet_rate(name: str, arrived: list[dict[str, Any]]) -> Line:
    """Return the goodput of a flow without a TCP socket, from its packets, every 100 ms."""
    t = [float(row["received_s"]) for row in arrived]
    sums = [0.0]
    for row in arrived:
        sums.append(sums[-1] + float(row["bytes"] or 0))
    line = Line(name)
    rate = Rate()
    for i in range(int((t[-1] - t[0]) * 10) + 2):
        at_s = t[0] + i / 10
        line.add(at_s, rate.after(at_s, sums[bisect_right(t, at_s)]))
    return line
