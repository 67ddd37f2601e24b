# SPDX-License-Identifier: Apache-2.0
"""``hoplab study``: run, evaluate, draw, compare, report."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hoplab.host.statistics.samples import Sample
from hoplab.many.study import expected, pages
from hoplab.many.study.findings import Findings, Table, all_tables, told
from hoplab.many.study.folder import Study, find, names
from hoplab.many.study.gather import gather
from hoplab.many.study.swept import Runs
from hoplab.model.errors import NotReproduced, ResultsError
from hoplab.model.resources import IS_CHECKOUT, PROJECT


@dataclass(frozen=True)
class Outcome:
    """A study that was run."""

    study: Study
    quick: bool
    findings: Findings
    runs: int
    machine: str
    wall_s: float
    processor_s: float
    """Processor time of this process and its children. Runs from the store cost nothing."""
    folder: Path
    written: list[Path]
    differences: list[str]
    """Differences from ``expected.json``. Only the quick version is compared."""

    def require(self) -> None:
        """Raise `NotReproduced` if the quick version differs from the committed values."""
        if self.differences:
            lines = "\n  ".join(self.differences)
            raise NotReproduced(f"study {self.study.name}: is not as committed:\n  {lines}")

    def document(self) -> dict[str, Any]:
        """Return the outcome for ``--json``."""
        found = self.findings
        return {
            "study": self.study.name,
            "quick": self.quick,
            "runs": self.runs,
            "machine": self.machine,
            "wall_s": round(self.wall_s, 3),
            "processor_s": round(self.processor_s, 3),
            "claims": [vars(claim) for claim in found.claims],
            "published": [
                {
                    "name": one.name,
                    "measured": one.measured.mean,
                    "half_width": one.measured.half_width,
                    "draws": one.measured.n,
                    "published": one.published,
                    "ns2": one.ns2,
                    "deviation": one.deviation,
                    "cause": one.cause,
                }
                for one in found.beside
            ],
            "values": dict(found.values),
            "tables": {
                table.name: {"columns": list(table.columns), "rows": _plain(table)}
                for table in all_tables(found)
            },
            "written": [str(path) for path in self.written],
            "differences": self.differences,
        }


def default_folder(study: Study, quick: bool) -> Path:
    name = f"{study.name}-quick" if quick else study.name
    return (PROJECT / "build" if IS_CHECKOUT else Path()) / "studies" / name


def perform(study: Study, quick: bool, out: Path | None, docs: bool, console: Console) -> Outcome:
    """Run what the store lacks, evaluate, and write tables and pictures. Compares if ``quick``, and
    updates the study's page if ``docs``."""
    analysis = study.analysis()
    began_s, began_cpu_s = time.monotonic(), _processor_s()
    runs = gather(study, quick, console)
    findings = analysis.analyse(runs, study.published())
    machine = machine_of(runs)
    folder = out or default_folder(study, quick)
    written = pages.write(findings, folder)
    if docs:
        written += pages.refresh(study.name, findings, pages.made(len(runs), machine))
    found: list[str] = []
    if quick:
        try:
            found += expected.differences(expected.read(study.expected), machine, findings)
        except ResultsError as error:
            found.append(str(error))
    return Outcome(
        study,
        quick,
        findings,
        len(runs),
        machine,
        time.monotonic() - began_s,
        _processor_s() - began_cpu_s,
        folder,
        written,
        found,
    )


def expect(study: Study, draws: int, console: Console) -> Path:
    """Write ``expected.json`` from ``draws`` runs of the quick version. Returns its path."""
    analysis, published = study.analysis(), study.published()
    drawn = []
    machine = ""
    for draw in range(draws):
        runs = gather(study, True, console, draw)
        machine = machine or machine_of(runs)
        drawn.append(analysis.analyse(runs, published))
        console.print(f"{study.name}: draw {draw + 1} of {draws}", highlight=False)
    expected.Expected.of(machine, drawn).write(study.expected)
    return study.expected


def machine_of(runs: Runs) -> str:
    """Return the hash of the machine that ran them, "" if they are not of one sealed machine."""
    hashes = {run.machine for run in runs}
    return hashes.pop() if len(hashes) == 1 else ""


def summary(outcome: Outcome) -> RenderableType:
    """Return all tables, then the findings to look at."""
    lines: list[RenderableType] = [_rich(table) for table in all_tables(outcome.findings)]
    unexplained = outcome.findings.unexplained
    if unexplained:
        lines.append(Text(f"more than 15 % off, cause not known: {', '.join(unexplained)}"))
    verdicts = [claim.verdict for claim in outcome.findings.claims]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    lines.append(
        Text(
            f"{outcome.runs} runs, {outcome.wall_s:.0f} s, {outcome.processor_s:.0f} s of "
            f"processor time; claims: {counts or 'none'}"
        )
    )
    return Group(*lines)


def listing() -> RichTable:
    """Return every study, with the first sentence of its analysis."""
    table = RichTable(box=None, pad_edge=False, show_header=False)
    for name in names():
        table.add_row(Text(name), Text(find(name).sentence()))
    return table


def compared(outcome: Outcome) -> str:
    """Return what the quick version was compared with, once it has passed."""
    wanted = expected.read(outcome.study.expected)
    same = outcome.machine == wanted.machine
    how = "to the digit, on the same machine" if same else "within their limits, on another machine"
    return (
        f"passed: {len(wanted.values)} values and {len(wanted.verdicts)} verdicts are as committed "
        f"in {outcome.study.expected}, {how}"
    )


def _rich(table: Table) -> RichTable:
    shown = RichTable(title=Text(table.title), title_justify="left")
    for i, name in enumerate(table.columns):
        numbers = all(not isinstance(row[i], str) for row in table.rows)
        shown.add_column(Text(name), justify="right" if numbers else "left")
    for row in table.rows:
        shown.add_row(*(Text(told(cell)) for cell in row))
    return shown


def _plain(table: Table) -> list[list[Any]]:
    return [
        [
            {"mean": c.mean, "half_width": c.half_width, "n": c.n} if isinstance(c, Sample) else c
            for c in row
        ]
        for row in table.rows
    ]


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
