# SPDX-License-Identifier: Apache-2.0
"""Curves of OFDMA over the number of stations, by Magrin, Avallone, Roy and Zorzi (WNS3 2021).

    python -m tests.published.ofdma FOLDER

FOLDER has the figures of https://github.com/signetlabdei/ofdma-validation, from its folder
``src/wifi/experiments/ofdma-validation/figures`` at commit 7c8248579ae6. The command writes the
values into ``ofdma.tsv``, from which comparisons read them: a row for each number of stations of
each curve, in Mbit/s.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.published.drawing import Drawing, half_width, read

TABLE = Path(__file__).with_name("ofdma.tsv")
COLUMNS = ("curve", "stations", "model", "simulated", "half_width")
HEADING = """\
# Magrin, Avallone, Roy, Zorzi: Validation of the ns-3 802.11ax OFDMA implementation (WNS3 2021).
# github.com/signetlabdei/ofdma-validation, figures of commit 7c8248579ae6, in Mbit/s.
# Simulated: means of two runs of downlink-*, of twenty of others with the half of a 99 % interval.
# Made by: python -m tests.published.ofdma FOLDER"""
FIGURES = {
    "acksequences.pdf": (
        "downlink-alone",
        "downlink-sequential",
        "downlink-mu-bar",
        "downlink-aggregated",
    ),
    "suonly.pdf": ("contention-15", "contention-127", "contention-1023"),
    "schedulers.pdf": ("beside-uplinks", "beside-uplinks-all"),
}
"""Curves in the order of each legend. The model's and the simulation's come in the same order."""


@dataclass(frozen=True)
class Row:
    """A number of stations on a curve; None where the figure has no marker."""

    curve: str
    stations: int
    model: float
    simulated: float | None
    half_width: float

    def line(self) -> str:
        simulated = "-" if self.simulated is None else f"{self.simulated:.3f}"
        cells = [self.curve, str(self.stations), f"{self.model:.3f}", simulated]
        return "\t".join([*cells, f"{self.half_width:.3f}"])


def rows_of(drawing: Drawing, curves: tuple[str, ...]) -> list[Row]:
    """Of a figure's curves, each with the markers of the same place in the legend."""
    found = []
    for name, model, markers in zip(curves, drawing.curves, drawing.markers, strict=True):
        means = {round(x): (x, y) for x, y in markers}
        for x, mbps in model:
            mean = means.get(round(x))
            half = half_width(drawing, mean) if mean else 0.0
            found.append(Row(name, round(x), mbps, mean[1] if mean else None, half))
    return found


def recorded() -> dict[str, dict[int, Row]]:
    """The table's rows by curve and number of stations."""
    found: dict[str, dict[int, Row]] = {}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    for curve, stations, model, simulated, half in cells[1:]:
        mean = None if simulated == "-" else float(simulated)
        row = Row(curve, int(stations), float(model), mean, float(half))
        found.setdefault(curve, {})[row.stations] = row
    return found


def main(folder: Path) -> None:
    rows = [row for name, curves in FIGURES.items() for row in rows_of(read(folder / name), curves)]
    lines = [HEADING, "\t".join(COLUMNS), *(row.line() for row in rows)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
