# SPDX-License-Identifier: Apache-2.0
"""Write a study's tables and pictures: to a folder, and into its page between the page's marks.

A table stands in ``docs/studies/STUDY.md`` between ``<!-- table NAME -->`` and
``<!-- end of table -->``. Between ``<!-- machine -->`` and ``<!-- end of machine -->`` stands which
machine made them. A picture is ``docs/figures/STUDY-NAME.svg``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from hoplab.host.machine.sealed import SHORT
from hoplab.host.statistics.samples import Sample
from hoplab.many.study.findings import Findings, Table, all_tables, told
from hoplab.model.errors import ResultsError
from hoplab.model.reading import MAX_BYTES, read_text
from hoplab.model.resources import PROJECT

DOCUMENTATION = PROJECT / "docs"
MARK = re.compile(r"(<!-- table (?P<name>\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
MACHINE = re.compile(r"(<!-- machine -->\n).*?(<!-- end of machine -->)", re.DOTALL)


def write(findings: Findings, folder: Path) -> list[Path]:
    """Write each table as Markdown and CSV, each picture as SVG. Raises `ResultsError`."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in all_tables(findings):
            written.append(folder / f"{table.name}.md")
            written[-1].write_text(f"# {table.title}\n\n{markdown(table)}", encoding="utf-8")
            _csv(table, folder / f"{table.name}.csv")
        for picture in findings.pictures:
            written.append(folder / f"{picture.name}.svg")
            written[-1].write_text(picture.svg, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error.strerror}") from None
    return written


def refresh(
    study: str, findings: Findings, made: str, documentation: Path = DOCUMENTATION
) -> list[Path]:
    """Update the study's page and its pictures. ``made`` is a sentence about who made them. Returns
    the files that were written.

    Raises `ResultsError` if there is no page, or if it has a mark without a table.
    """
    page = documentation / "studies" / f"{study}.md"
    tables = {table.name: table for table in all_tables(findings)}
    text = read_text(page, MAX_BYTES, "a study with a page, or write it first", ResultsError)

    def renewed(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in tables:
            known = ", ".join(tables)
            raise ResultsError(f"{page}: has a mark of the table {name!r}; there are {known}")
        return f"{found[1]}{markdown(tables[name])}{found[3]}"

    text = MACHINE.sub(rf"\g<1>{made}\n\g<2>", MARK.sub(renewed, text))
    page.write_text(text, encoding="utf-8")
    written = [page]
    for picture in findings.pictures:
        written.append(documentation / "figures" / f"{study}-{picture.name}.svg")
        written[-1].write_text(picture.svg, encoding="utf-8")
    return written


def made(runs: int, machine: str) -> str:
    """Return the sentence of a page about its runs, and the machine (by hash) that made them."""
    which = f"one machine, `{machine[:SHORT]}`" if machine else "more than one machine"
    return f"Tables and pictures are of {runs} runs on {which}."


def markdown(table: Table) -> str:
    """Return the table with headings, in GitHub's Markdown."""
    rows = [table.columns, ["---"] * len(table.columns)]
    rows += [[told(cell) for cell in row] for row in table.rows]
    return "".join(_line(row) for row in rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _csv(table: Table, path: Path) -> None:
    """Write all digits. A sample has three columns: mean, half-width of its 95 % interval,
    draws."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        sampled = [
            any(isinstance(row[i], Sample) for row in table.rows) for i in range(len(table.columns))
        ]
        heads = zip(table.columns, sampled, strict=True)
        writer.writerow([word for name, wide in heads for word in _heads(name, wide)])
        for row in table.rows:
            cells = zip(row, sampled, strict=True)
            writer.writerow([value for cell, wide in cells for value in _values(cell, wide)])


def _heads(name: str, wide: bool) -> list[str]:
    return [name, f"{name} half-width", f"{name} draws"] if wide else [name]


def _values(cell: object, wide: bool) -> list[object]:
    if isinstance(cell, Sample):
        return [cell.mean, cell.half_width, cell.n]
    return [cell, "", ""] if wide else [cell]
