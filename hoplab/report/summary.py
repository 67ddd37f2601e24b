# SPDX-License-Identifier: Apache-2.0
"""What a run came to, as a table for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from hoplab.results.reader import Results

_COLUMNS = (
    ("congestion_control", "variant", ""),
    ("goodput_kbps", "goodput kbit/s", ",.1f"),
    ("delivered_bytes", "delivered kB", ",.1f"),
    ("retransmits", "retransmits", ",d"),
    ("timeouts", "timeouts", ",d"),
    ("rtt_ms_mean", "mean RTT ms", ",.1f"),
    ("sent", "sent", ",d"),
    ("received", "received", ",d"),
    ("lost", "lost", ",d"),
    ("latency_ms_mean", "mean delay ms", ",.1f"),
)


def summary_table(results: Results) -> Table:
    """A row per flow; columns that no flow has a value for are left out."""
    manifest = results.manifest
    title = str(results.scenario.get("title") or manifest.get("run") or results.run_dir.name)
    digest = str(manifest.get("digest") or "")[:12]
    table = Table(title=Text(title), caption=Text(f"seed {manifest.get('seed')}, digest {digest}"))
    rows = results.rows("flows")
    columns = [column for column in _COLUMNS if any(row[column[0]] is not None for row in rows)]
    table.add_column("flow")
    table.add_column("path")
    for _, heading, form in columns:
        table.add_column(heading, justify="right" if form else "left")
    for row in rows:
        cells = []
        for key, _, form in columns:
            value = row[key]
            if value is not None and key == "delivered_bytes":
                value = value / 1000
            cells.append(Text("" if value is None else format(value, form)))
        path = f"{row['src']} → {row['dst']} ({row['protocol']})"
        table.add_row(Text(str(row["flow"])), Text(path), *cells)
    return table
