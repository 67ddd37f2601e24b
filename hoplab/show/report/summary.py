# SPDX-License-Identifier: Apache-2.0
"""Results of a run, as a table for the terminal and as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import escape
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from hoplab.host.results.reader import Results
from hoplab.show.report import units

_COLUMNS = (
    ("congestion_control", "variant", ""),
    ("goodput_kbps", "goodput kbit/s", ",.1f"),
    ("delivered_bytes", "delivered kB", ",.1f"),
    ("retransmits", "retransmits", ",d"),
    ("timeouts", "timeouts", ",d"),
    ("rtt_ms_mean", "mean RTT ms", ",.1f"),
    ("rtt_ms_min", "lowest RTT ms", ",.3f"),
    ("rtt_ms_max", "highest RTT ms", ",.3f"),
    ("rate_per_s", "transactions 1/s", ",.1f"),
    ("first_octet_s", "first octet at s", ",.3f"),
    ("sent", "sent", ",d"),
    ("received", "received", ",d"),
    ("lost", "lost", ",d"),
    ("latency_ms_mean", "mean delay ms", ",.1f"),
    ("latency_ms_p95", "95 % delay ms", ",.1f"),
    ("jitter_ms", "jitter ms", ",.1f"),
)
_PROGRAM_KEYS = ("start_s", "first_octet_s", "stop_s")
_FLOW_KEYS = ("protocol", "goodput_kbps", "delivered_bytes", "retransmits", "rtt_ms_mean")
_UDP_KEYS = (
    *("sent", "received", "lost", "latency_ms_mean"),
    *("latency_ms_p50", "latency_ms_p95", "latency_ms_p99", "jitter_ms"),
)
_EXCHANGES_KEYS = ("sent", "received", "lost", "rtt_ms_min", "rtt_ms_max", "rate_per_s")
_MORE_KEYS = {"udp": _UDP_KEYS, "call": _UDP_KEYS, "ping": _EXCHANGES_KEYS, "rr": _EXCHANGES_KEYS}


LONGEST_NAME = 20
"""Characters of a name in a line of a narrow table."""
WIDEST = 1 << 16


@dataclass(frozen=True)
class FlowTables:
    """The flows of a run, a table a kind, no wider than the place that it is printed to.

    Numbers are never cut. Where a table's columns do not fit, the last ones are left out, and the
    caption names them.
    """

    title: str
    about: str
    kinds: tuple[_Kind, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.kinds:
            yield Text(f"{self.title}: no flows; {self.about}")
        for kind in self.kinds:
            table = self.table(kind)
            if _measured(console, table).maximum > options.max_width:
                left = len(kind.columns)
                table = self.table(kind, left, narrow=True)
                while left > 1 and _measured(console, table).minimum > options.max_width:
                    left -= 1
                    table = self.table(kind, left, narrow=True)
            yield table

    def table(self, kind: _Kind, columns: int | None = None, narrow: bool = False) -> Table:
        """Return the table of a kind of flow with its first ``columns``, each as ``narrow`` as its
        numbers allow."""
        number = len(kind.columns) if columns is None else columns
        shown, others = kind.columns[:number], kind.columns[number:]
        several = len(self.kinds) > 1
        title = f"{self.title}: {kind.protocol}" if several else self.title
        last = kind is self.kinds[-1]
        about = [self.about] if last else []
        if others:
            about.append(f"the report has also: {', '.join(column.heading for column in others)}")
        table = Table(title=Text(title), caption=Text("; ".join(about)) if about else None)
        if narrow:
            table.box, table.pad_edge = None, False
        for heading in ("flow", "path"):
            most = LONGEST_NAME if narrow else None
            table.add_column(heading, overflow="fold", max_width=most)
        for column in shown:
            justify: JustifyMethod = "right" if column.is_number else "left"
            width = column.width if narrow else None
            table.add_column(column.heading, justify=justify, width=width)
        for place, (name, path) in enumerate(kind.flows):
            cells = (Text(column.cells[place]) for column in shown)
            table.add_row(Text(name), Text(path), *cells)
        return table


@dataclass(frozen=True)
class _Column:
    heading: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def width(self) -> int:
        """The least width at which no number and no word of the heading is cut."""
        return max(map(len, (*self.heading.split(), *self.cells)))


@dataclass(frozen=True)
class _Kind:
    """Flows of a protocol, by name and path, and the columns in which one of them has a value."""

    protocol: str
    flows: tuple[tuple[str, str], ...]
    columns: tuple[_Column, ...]


def _measured(console: Console, table: Table) -> Measurement:
    """Return the least and the usual width of a table, wherever it is printed."""
    return Measurement.get(console, console.options.update_width(WIDEST), table)


def summary_table(results: Results) -> FlowTables:
    """Return what prints the flows, a row each, or a line where there is none."""
    manifest = results.manifest
    title = str(results.scenario.get("title") or manifest.run or results.run_dir.name)
    about = f"seed {manifest.seed}, digest {(manifest.digest or '')[:12]}"
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in results.rows("flows"):
        kinds.setdefault(str(row["protocol"]), []).append(row)
    return FlowTables(title, about, tuple(_kind(name, rows) for name, rows in kinds.items()))


def _kind(protocol: str, rows: list[dict[str, Any]]) -> _Kind:
    flows = tuple(
        (str(row["flow"]), f"{row['src']} → {row['dst']} ({row['protocol']})") for row in rows
    )
    columns = [
        _column(key, heading, form, [row.get(key) for row in rows])
        for key, heading, form in _COLUMNS
        if any(row.get(key) is not None for row in rows)
    ]
    return _Kind(protocol, flows, tuple(columns))


def _column(key: str, heading: str, form: str, values: list[Any]) -> _Column:
    factor = 1e-3 if key == "delivered_bytes" else 1
    if key == "goodput_kbps":
        unit = units.of_rates(values)
        heading, form, factor = f"goodput {unit.name}", f",.{unit.decimals}f", unit.per_kbps
    cells = tuple(
        ""
        if value is None
        else format(value, form)
        if factor == 1
        else format(value * factor, form)
        for value in values
    )
    return _Column(heading, cells, bool(form))


def summary_html(results: Results) -> str:
    """The same tables for a notebook; names and titles are escaped."""
    found = summary_table(results)
    if not found.kinds:
        return f"<p>{escape(found.title)}: no flows; {escape(found.about)}</p>"
    return "".join(_html(found.table(kind)) for kind in found.kinds)


def _html(table: Table) -> str:
    head = "".join(_cell("th", column, column.header) for column in table.columns)
    cells = zip(*(column.cells for column in table.columns), strict=True)
    rows = "".join(
        f"<tr>{''.join(map(partial(_cell, 'td'), table.columns, row))}</tr>" for row in cells
    )
    about = "" if table.caption is None else f", {escape(str(table.caption))}"
    title = f"<b>{escape(str(table.title))}</b>{about}"
    return (
        f'<div style="overflow-x: auto"><p>{title}</p><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(tag: str, column: Column, text: object) -> str:
    # Inline styles, because notebooks have their own styles and drop style sheets.
    style = f"text-align: {column.justify}; white-space: nowrap"
    return f'<{tag} style="{style}">{escape(str(text))}</{tag}>'


def summary_of(results: Results) -> dict[str, Any]:
    """Return what ``hoplab run --json`` prints: the run, its flows, every station's last row."""
    flows = []
    for row in results.rows("flows"):
        keys = _FLOW_KEYS + _MORE_KEYS.get(row["protocol"], ())
        if row["first_octet_s"] is not None:
            keys += _PROGRAM_KEYS
        flows.append({"name": row["flow"], **{key: row[key] for key in keys}})
    nodes: dict[str, Any] = {}
    for row in results.rows("nodes"):
        nodes[row.pop("node")] = row
    return {
        **{key: getattr(results.manifest, key) for key in ("run", "digest", "virtual_s", "wall_s")},
        "warnings": results.manifest.verdict.warnings,
        "flows": flows,
        "nodes": [{"name": name, **row} for name, row in sorted(nodes.items())],
    }
