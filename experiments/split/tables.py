# SPDX-License-Identifier: Apache-2.0
"""The tables and the picture of docs/split-tcp.md, from the results of two sweeps.

hoplab sweep experiments/split/sweep.toml --out chains
hoplab sweep experiments/split/sweep-crossing.toml --out crossing
python experiments/split/tables.py chains crossing docs/figures/split-chains.svg
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hoplab.results.samples import Sample, jain
from hoplab.study import plot

EVERY = ("1", "2", "3", "4", "5")


def rows(folder: str) -> list[dict[str, Any]]:
    return pq.read_table(Path(folder) / "results.parquet").to_pylist()


def told(values: list[float], form: str) -> str:
    sample = Sample.of(values)
    return f"{sample.mean:{form}} ± {sample.half_width:{form}}"


def chains(folder: str) -> dict[str, list[tuple[int, Sample]]]:
    """Prints goodput of plain TCP and the ratios; returns these, seed by seed, by distance."""
    goodput: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for row in rows(folder):
        goodput[row["hops"], str(row["every"])][row["seed"]] = row["goodput_kbps"]
    ratios: dict[str, list[tuple[int, Sample]]] = {every: [] for every in EVERY}
    print("| hops | plain, kbit/s | every 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|---|")
    for hops in sorted({hops for hops, _ in goodput}):
        plain = goodput[hops, "none"]
        cells = [told(list(plain.values()), ".0f")]
        for every in EVERY:
            split = goodput.get((hops, every))
            if split:
                ratio = [split[seed] / plain[seed] for seed in split]
                ratios[every].append((hops, Sample.of(ratio)))
                cells.append(told(ratio, ".2f"))
            else:
                cells.append("")
        print(f"| {hops} | " + " | ".join(cells) + " |")
    return ratios


def crossing(folder: str) -> None:
    """Prints what both sessions get, and unfairness by both metrics: 0 is fair, 1 the worst."""
    runs: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows(folder):
        runs[row["split"]][row["seed"]][row["flow"]] = row["goodput_kbps"]
    print("| split | long | short | sum | gap | rescaled Jain |\n|---|---|---|---|---|---|")
    for split, found in runs.items():
        pairs = [(run["long"], run["short"]) for run in found.values()]
        cells = [
            told([long for long, _ in pairs], ".0f"),
            told([short for _, short in pairs], ".0f"),
            told([sum(pair) for pair in pairs], ".0f"),
            told([(max(pair) - min(pair)) / max(pair) for pair in pairs], ".2f"),
            told([2 * (1 - jain(pair)) for pair in pairs], ".2f"),
        ]
        print(f"| {split} | " + " | ".join(cells) + " |")


def picture(ratios: dict[str, list[tuple[int, Sample]]], path: str) -> None:
    panel = plot.Panel("Goodput of Split-TCP over plain TCP", (3.5, 10.5), (0.85, 1.15))
    for number, (every, points) in enumerate(ratios.items()):
        panel.add(
            every,
            [(hops + 0.08 * (number - 2), sample.mean) for hops, sample in points],
            line="-",
            errors=[sample.half_width for _, sample in points],
        )
    panel.add("plain", [(3.5, 1.0), (10.5, 1.0)], line="--", style=("#111111", ","))
    Path(path).write_text(plot.svg([panel], "hops", "ratio", "A proxy every 1 to 5 hops"))


if __name__ == "__main__":
    found = chains(sys.argv[1])
    crossing(sys.argv[2])
    picture(found, sys.argv[3])
