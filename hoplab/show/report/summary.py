# SPDX-License-Identifier: Apache-2.0
"""Results of a run, as a table for the terminal and as JSON for programs."""

from __future__ import annotations

from functools import partial
from typing import Any

from markupsafe import escape
from rich.table import Column, Table
from rich.text import Text

from hoplab.host.results.reader import Results

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
)
_PROGRAM_KEYS = ("start_s", "first_octet_s", "stop_s")
_FLOW_KEYS = ("protocol", "goodput_kbps", "delivered_bytes", "retransmits", "rtt_ms_mean")
_UDP_KEYS = ("sent", "received", "lost", "latency_ms_mean")
_EXCHANGES_KEYS = ("sent", "received", "lost", "rtt_ms_min", "rtt_ms_max", "rate_per_s")
_MORE_KEYS = {"udp": _UDP_KEYS, "ping": _EXCHANGES_KEYS, "rr": _EXCHANGES_KEYS}


def summary_table(results: Results) -> Table | Text:
    """Return a table with a row per flow, or a line where there is none. Columns without a value in
    any flow are left out."""
    manifest = results.manifest
    title = str(results.scenario.get("title") or manifest.run or results.run_dir.name)
    about = f"seed {manifest.seed}, digest {(manifest.digest or '')[:12]}"
    rows = results.rows("flows")
    if not rows:
        return Text(f"{title}: no flows; {about}")
    table = Table(title=Text(title), caption=Text(about))
    columns = [column for column in _COLUMNS if any(row.get(column[0]) is not None for row in rows)]
    table.add_column("flow")
    table.add_column("path")
    for _, heading, form in columns:
        table.add_column(heading, justify="right" if form else "left")
    for row in rows:
        cells = []
        for key, _, form in columns:
            value = row.get(key)
            if value is not None and key == "delivered_bytes":
                value = value / 1000
            cells.append(Text("" if value is None else format(value, form)))
        path = f"{row['src']} → {row['dst']} ({row['protocol']})"
        table.add_row(Text(str(row["flow"])), Text(path), *cells)
    return table


def summary_html(results: Results) -> str:
    """The same table for a notebook; names and titles are escaped."""
    table = summary_table(results)
    if isinstance(table, Text):
        return f"<p>{escape(str(table))}</p>"
    head = "".join(_cell("th", column, column.header) for column in table.columns)
    cells = zip(*(column.cells for column in table.columns), strict=True)
    rows = "".join(
        f"<tr>{''.join(map(partial(_cell, 'td'), table.columns, row))}</tr>" for row in cells
    )
    title = f"<b>{escape(str(table.title))}</b>, {escape(str(table.caption))}"
    return (
        f'<div style="overflow-x: auto"><p>{title}</p><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(tag: str, column: Column, text: object) -> str:
    # Inline styles, because notebooks have their own styles and drop style sheets.
    style = f"text-align: {column.justify}; white-space: nowrap"
    return f'<{tag} style="{style}">{escape(str(text))}</{tag}>'


def summary(results: Results) -> dict[str, Any]:
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
