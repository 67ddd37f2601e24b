# SPDX-License-Identifier: Apache-2.0
"""Rates against uniform loss, beside PFTK and the square-root law.

The formulas are `hoplab.many.study.loss_law`'s. Segments are lost one by one and independently;
acknowledgements are not lost and not delayed (b = 1).

``python -m tests.validate.loss_law FOLDER`` draws the figure of `docs/tcp.md`, prints its table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import plot
from hoplab.many.study.figures import Figure, figure
from hoplab.many.study.loss_law import pftk, square_root
from tests.validate.runs import measure_seeds

MSS = 1000
DELAY_MS = 25.0
RATE_MBPS = 50.0
WINDOW = 400
"""Segments: more than any loss here lets it grow to, mostly."""
SEEDS = (1, 2, 3, 4, 5)
STARTED_S = 5.0
LOSSES = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
VARIANTS = ("tahoe", "reno", "newreno", "sack", "vegas", "westwood", "tcpw")


def duration_s(loss: float) -> float:
    """Long enough for some fifty losses, of which 14 % are chance, and `SEEDS` halves that."""
    return 240.0 if loss < 1e-3 else 100.0


def scenario(variant: str, loss: float) -> dict[str, Any]:
    """One flow on a path whose rate is beyond what the loss allows."""
    return {
        "title": f"{variant}, loss {loss:g}",
        "duration_s": duration_s(loss),
        "station": [{"name": name, "radio": False} for name in ("a", "r", "b")],
        "link": [
            {"ends": ["a", "r"], "rate_mbps": 100, "delay_ms": 0.0},
            {
                "ends": ["r", "b"],
                "rate_mbps": RATE_MBPS,
                "delay_ms": DELAY_MS,
                "queue": {"kind": "droptail", "packets": 1000},
            },
        ],
        "loss": [{"kind": "uniform", "src": "a", "dst": "r", "rate": loss}],
        "tcp": {"profile": "classic", "delayed_ack": False},
        "flow": [
            {
                "source": "a",
                "destination": "b",
                "congestion_control": variant,
                "mss": MSS,
                "window": WINDOW,
            }
        ],
        "measure": {"interval_s": 0.25},
    }


@dataclass(frozen=True)
class Point:
    """Segments/s that arrived and that were sent, mean round trip and first timeout in s."""

    goodput: float
    sent: float
    round_trip_s: float
    timeout_s: float
    timeouts: int
    retransmits: int
    told: float | None
    """The congestion control's own mean estimate, segments/s."""


def point(results: Results) -> Point:
    rows = [row for row in results.rows("tcp") if row["t_s"] >= STARTED_S]
    first, last = rows[0], rows[-1]
    seconds = last["t_s"] - first["t_s"]
    goodput = (last["delivered_bytes"] - first["delivered_bytes"]) / MSS / seconds
    retransmits = last["retransmits"] - first["retransmits"]
    told = [row["estimate_kbps"] for row in rows if row["estimate_kbps"] is not None]
    return Point(
        goodput,
        goodput + retransmits / seconds,
        fmean(row["rtt_ms"] for row in rows) / 1000,
        # The timer's value doubles with each timeout in a row; backed off once per doubling.
        fmean(row["rto_ms"] / 2 ** row["backoff"] for row in rows) / 1000,
        last["timeouts"] - first["timeouts"],
        retransmits,
        fmean(told) * 125 / MSS if told else None,
    )


def table(
    variants: Sequence[str] = VARIANTS, losses: Sequence[float] = LOSSES
) -> dict[tuple[str, float], list[Point]]:
    """Every variant at every loss, a point a seed."""
    keys = [(variant, loss) for loss in losses for variant in variants]
    found = measure_seeds([scenario(*key) for key in keys], SEEDS, point)
    return dict(zip(keys, found, strict=True))


def expected(loss: float, seen: Point) -> float:
    """What PFTK says of the round trip and timer that were measured."""
    return pftk(loss, seen.round_trip_s, seen.timeout_s, WINDOW)


def items() -> Iterator[Figure]:
    """Reno's send rate beside PFTK."""
    for (_, loss), draws in table(("reno",)).items():
        model = fmean(expected(loss, seen) for seen in draws)
        name = f"tcp/loss-law/reno/{loss:g}_segments-per-s"
        yield figure(name, [seen.sent for seen in draws], model, 0.15)


def draw(folder: Path, found: dict[tuple[str, float], list[Point]]) -> None:
    """Reno beside the formulas, and all variants as multiples of PFTK."""
    law = plot.Panel("reno, sent, beside the formulas", (1e-5, 1.0), (10.0, 1e4), True)
    every = plot.Panel("goodput of all variants, PFTK for Reno = 1", (1e-5, 1.0), (0.1, 100), True)
    reno = {loss: draws for (variant, loss), draws in found.items() if variant == "reno"}
    model = {p: fmean(expected(p, seen) for seen in draws) for p, draws in reno.items()}
    law.add("PFTK", list(model.items()))
    law.add("square root", [(p, _square_root(p, draws)) for p, draws in reno.items()])
    law.add("reno", [(p, fmean(seen.sent for seen in draws)) for p, draws in reno.items()])
    for i, variant in enumerate(VARIANTS):
        # Side by side, in the order of the legend.
        aside = 10 ** (0.07 * (i - len(VARIANTS) // 2))
        points = [(p * aside, _goodput(found[variant, p]) / model[p]) for p in LOSSES]
        every.add(variant, points)
    (folder / "loss-law.svg").write_text(
        plot.svg([law, every], "loss", "segments/s, or ratio", "one flow, 50 ms, uniform loss"),
        encoding="utf-8",
    )


def _goodput(draws: list[Point]) -> float:
    return fmean(seen.goodput for seen in draws)


def _square_root(loss: float, draws: list[Point]) -> float:
    return fmean(square_root(loss, seen.round_trip_s) for seen in draws)


def lines(found: dict[tuple[str, float], list[Point]]) -> Iterator[str]:
    """The table of `docs/tcp.md`: goodput of each variant, Reno's sending, the formulas."""
    for loss in LOSSES:
        reno = found["reno", loss]
        cells = [f"{_goodput(found[variant, loss]):.0f}" for variant in VARIANTS]
        cells.append(f"{fmean(seen.sent for seen in reno):.0f}")
        cells.append(f"{fmean(expected(loss, seen) for seen in reno):.0f}")
        cells.append(f"{_square_root(loss, reno):.0f}")
        yield f"| {100 * loss:g} % | {' | '.join(cells)} |"
    told = [fmean(seen.told or 0.0 for seen in found["tcpw", loss]) for loss in LOSSES]
    over = [one / _goodput(found["tcpw", loss]) for one, loss in zip(told, LOSSES, strict=True)]
    yield f"tcpw's mean estimate over its goodput: {', '.join(f'{ratio:.2f}' for ratio in over)}"


if __name__ == "__main__":
    measured = table()
    draw(Path(sys.argv[1]), measured)
    for line in lines(measured):
        print(line)
