# SPDX-License-Identifier: Apache-2.0
"""Fall and Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR 26(3), 1996.

One connection on their topology (8 Mbit/s 0.1 ms, then 0.8 Mbit/s 100 ms) loses one to four
segments of one window. Number 14 is lost, and of the fifteen that follow the last, the third last
and the fifth last. Their cross traffic made the drops; here a list does, so they are exact.

Segments have the numbers of the paper's figures, from 0 on.

``python -m tests.validate.fall_floyd FOLDER`` draws the figures of `docs/tcp.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import plot
from hoplab.many.study.figures import Figure, figure
from hoplab.many.study.segments import Segment, segments
from tests.validate.runs import measure_all

VARIANTS = ("tahoe", "reno", "newreno", "sack")
DROPS = {1: (14,), 2: (14, 28), 3: (14, 26, 28), 4: (14, 24, 26, 28)}
WINDOW = 15
"""Segments out when the first loss is noticed: slow start has made 1, 2, 4, 8 of 1."""
MSS = 1000
ROUND_TRIP_S = 0.2 + 2 * 0.0001 + (MSS + 54) * 8 * (1 / 0.8e6 + 1 / 8e6) + 66 * 8 * (1 / 0.8e6)
"""Propagation, then serialisation of a segment and of its acknowledgement in Ethernet frames."""
DURATION_S = 6.0


def scenario(variant: str, drops: tuple[int, ...]) -> dict[str, Any]:
    """Their connection; the bottleneck's queue holds the whole window, so nothing else drops."""
    return {
        "title": f"{variant}, segments {', '.join(map(str, drops))} lost",
        "duration_s": DURATION_S,
        "station": [{"name": name, "radio": False} for name in ("s1", "r1", "k1")],
        "link": [
            {"ends": ["s1", "r1"], "rate_mbps": 8, "delay_ms": 0.1},
            {
                "ends": ["r1", "k1"],
                "rate_mbps": 0.8,
                "delay_ms": 100,
                "queue": {"kind": "droptail", "packets": 100},
            },
        ],
        # A list counts frames from 1, the paper segments from 0.
        "loss": [{"kind": "list", "src": "s1", "dst": "r1", "frames": [n + 1 for n in drops]}],
        "tcp": {"profile": "classic", "delayed_ack": False},
        "flow": [
            {"source": "s1", "destination": "k1", "congestion_control": variant, "mss": MSS},
        ],
        "measure": {"interval_s": 0.01, "captures": ["s1"]},
    }


@dataclass(frozen=True)
class Course:
    """What a connection did; segment numbers as in the paper, times in scenario seconds."""

    variant: str
    drops: tuple[int, ...]
    sent: tuple[tuple[float, int, bool], ...]
    """(time, number, sent before)"""
    acknowledged: tuple[tuple[float, int], ...]
    """(time, next number expected)"""
    window: tuple[tuple[float, int, int | None, str], ...]
    """(time, cwnd, ssthresh, state of the kernel's machine), every 10 ms"""
    timeouts: int
    retransmits: int

    @property
    def resent(self) -> list[tuple[float, int]]:
        return [(t, number) for t, number, again in self.sent if again]

    @property
    def resending_round_trips(self) -> float:
        """From the first retransmission to the last."""
        return (self.resent[-1][0] - self.resent[0][0]) / ROUND_TRIP_S

    def window_after(self, time_s: float) -> tuple[int, int | None]:
        """cwnd and ssthresh at the second sample after ``time_s``, when the state has settled."""
        later = [(cwnd, ssthresh) for t, cwnd, ssthresh, _ in self.window if t > time_s]
        return later[1]


def number(relative: int) -> int:
    """The paper's number of the segment that starts ``relative`` bytes after the first."""
    return relative // MSS


def course(results: Results) -> Course:
    flow = results.scenario["flow"][0]
    seen: list[Segment] = list(segments(results, "s1", flow_index=0))
    first = min(s.sequence for s in seen if s.outbound and s.payload > 0)
    sent: list[tuple[float, int, bool]] = []
    before: set[int] = set()
    acknowledged = []
    for segment in seen:
        if segment.outbound and segment.payload > 0:
            which = number(segment.sequence - first)
            sent.append((segment.time_s, which, which in before))
            before.add(which)
        elif not segment.outbound and segment.acknowledges > first:
            acknowledged.append((segment.time_s, number(segment.acknowledges - first)))
    rows = results.rows("tcp")
    return Course(
        flow["congestion_control"],
        tuple(frame - 1 for frame in results.scenario["loss"][0]["frames"]),
        tuple(sent),
        tuple(acknowledged),
        tuple((row["t_s"], row["cwnd"], row["ssthresh"], row["ca_state"]) for row in rows),
        int(rows[-1]["timeouts"]),
        int(rows[-1]["retransmits"]),
    )


def courses() -> dict[tuple[str, int], Course]:
    """All sixteen connections, by variant and number of drops."""
    keys = [(variant, count) for count in DROPS for variant in VARIANTS]
    documents = [scenario(variant, DROPS[count]) for variant, count in keys]
    return dict(zip(keys, measure_all(documents, course), strict=True))


def items(seen: dict[tuple[str, int], Course] | None = None) -> Iterator[Figure]:
    """Timeouts, retransmissions and round trips of recovery, as the paper describes them."""
    for (variant, count), one in (seen or courses()).items():
        name = f"tcp/fall-floyd/{variant}/{count}-drops"
        if variant == "tahoe":
            # Section 3: slow start from one segment after the fast retransmit, no timeout.
            cwnd, ssthresh = one.window_after(one.resent[0][0])
            yield figure(f"{name}_timeouts", one.timeouts, 0, 0)
            yield figure(f"{name}_cwnd", cwnd, 1, 0)
            yield figure(f"{name}_ssthresh", ssthresh or 0, WINDOW // 2, 0)
        elif variant == "reno":
            # Recovers from one and two (halving twice), waits for the timer from three on.
            yield figure(f"{name}_timeouts", one.timeouts, 0 if count <= 2 else 1, 0)
            if count <= 2:
                yield figure(f"{name}_retransmits", one.retransmits, count, 0)
                final = [ssthresh for _, _, ssthresh, _ in one.window][-1]
                yield figure(f"{name}_ssthresh", final or 0, (WINDOW // 2, 3)[count - 1], 0)
        else:
            yield figure(f"{name}_timeouts", one.timeouts, 0, 0)
            yield figure(f"{name}_retransmits", one.retransmits, count, 0)
            final = [ssthresh for _, _, ssthresh, _ in one.window][-1]
            yield figure(f"{name}_ssthresh", final or 0, WINDOW // 2, 0)
        if variant == "newreno" and count > 1:
            # One segment a round trip. Rate reduction (RFC 6937) may hold one back for the part
            # of a round trip in which the count in flight falls.
            trips = one.resending_round_trips
            yield figure(f"{name}_resending_round-trips", trips, count - 1, 0.1)
        if variant == "sack" and count > 1:
            # All within two round trips.
            yield figure(f"{name}_resending_round-trips", one.resending_round_trips, 1, 1)


def draw(folder: Path) -> None:
    """One file for each number of drops, the four variants side by side."""
    seen = courses()
    folder.mkdir(parents=True, exist_ok=True)
    for count, drops in DROPS.items():
        panels = [_panel(seen[variant, count]) for variant in VARIANTS]
        (folder / f"fall-floyd-{count}.svg").write_text(
            plot.svg(panels, "time (s)", "segment", f"segments lost: {', '.join(map(str, drops))}"),
            encoding="utf-8",
        )


def _panel(seen: Course) -> plot.Panel:
    lost = []
    waiting = list(seen.drops)
    for time_s, which, again in seen.sent:
        if not again and which in waiting:
            waiting.remove(which)
            lost.append((time_s, float(which)))
    panel = plot.Panel(
        f"{seen.variant}: timeouts {seen.timeouts}, retransmissions {seen.retransmits}",
        (1.0, DURATION_S),
        (0.0, 100.0),
    )
    panel.add("sent", [(t, float(n)) for t, n, again in seen.sent if not again])
    panel.add("sent again", [(t, float(n)) for t, n in seen.resent])
    panel.add("acknowledgement", [(t, float(n)) for t, n in seen.acknowledged])
    panel.add("lost", lost)
    return panel


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
