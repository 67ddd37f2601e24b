# SPDX-License-Identifier: Apache-2.0
"""From the output of a recording to a finished run: the medium's tables, all others, the report."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoplab.front.mininet.recording import STARTED
from hoplab.host.results.manifest import Manifest, Where
from hoplab.host.results.tables import recorded
from hoplab.host.runs import beginning, collect
from hoplab.host.stream.hub import told
from hoplab.model import reading, writing
from hoplab.model.errors import GuestFailed
from hoplab.model.keys.resolved import Resolved
from hoplab.model.reading import content, opened
from hoplab.model.records import writer
from hoplab.model.records.schema import TABLES
from hoplab.show import report

STATES = ("t_s", "node", "src", "dst", "x_m", "y_m", "queue_len")
"""Columns of samples that hold no counts."""


def recordings(out: Path) -> list[Path]:
    """Return the folders of recordings in a script's output."""
    return sorted(path.parent for path in out.glob("*/scenario.json"))


def complete(out: Path, medium: Path | None, status: int | None) -> Manifest:
    """Make tables and report of the recording in ``out``. Returns the manifest. ``medium`` is the
    folder of the medium's own records, if there are any, and ``status`` the lab's (None:
    killed)."""
    scenario = Resolved.model_validate_json(content(out / "scenario.json"))
    beginning.begin(out, scenario, Where.SCRIPT)
    if medium is not None and (medium / "medium.json").exists():
        _adopt(out, medium, scenario)
    manifest = collect.gather(out, None, GuestFailed.exit_status if status is None else status)
    report.render(out)
    return manifest


def _adopt(out: Path, medium: Path, scenario: Resolved) -> None:
    """Make the medium's samples the run's: by stations' names, from the run's time 0 on."""
    epoch_ns, started_s = told(out, "monotonic_epoch_ns"), reading.value(out / "raw" / STARTED)
    if epoch_ns is None or not isinstance(started_s, int | float):
        return
    offset_s = started_s - epoch_ns / 1e9
    names = {s.port.mac.lower(): s.name for s in scenario.station if s.port is not None}
    raw = out / "raw"
    with writing.new(raw / "medium.json") as copy:
        copy.write(content(medium / "medium.json"))
    for table in ("nodes", "link_samples"):
        writer.write(raw, table, _from_zero(_rows(medium, table, names), table, offset_s))
    writer.write(raw, "links", _links(out, medium, names, scenario.duration_s))


def _rows(medium: Path, table: str, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of stations, by their names."""
    path = medium / f"{table}.jsonl"
    if not path.exists():
        return
    with io.TextIOWrapper(opened(path), "utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            ends = [key for key in ("node", "src", "dst") if key in row]
            if all(row[end] in names for end in ends):
                yield {**row, **{end: names[row[end]] for end in ends}}


def _from_zero(
    rows: Iterator[dict[str, Any]], table: str, offset_s: float
) -> Iterator[dict[str, Any]]:
    """Yield rows after time 0, with earlier counts subtracted."""
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    counts = [c.name for c in TABLES[table].columns if c.name not in STATES]
    for row in rows:
        about = tuple(row[key] for key in TABLES[table].keys)
        moved = {**row, "t_s": round(row["t_s"] + offset_s, 9)}
        if moved["t_s"] <= 0:
            before[about] = row
            continue
        base = before.get(about)
        if base is None:
            yield moved
            continue
        for name in counts:
            if name == "busy_fraction":
                busy_s = row[name] * row["t_s"] - base[name] * base["t_s"]
                moved[name] = busy_s / (row["t_s"] - base["t_s"])
            else:
                moved[name] = row[name] - base[name]
        yield moved


def _links(
    out: Path, medium: Path, names: dict[str, str], duration_s: float
) -> Iterator[dict[str, Any]]:
    """Yield each link's last sample of the run. The mean signal covers the medium's whole life."""
    signal = {(r["src"], r["dst"]): r["signal_dbm_mean"] for r in _rows(medium, "links", names)}
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for row in recorded(out, "link_samples").to_pylist():
        if row["t_s"] <= duration_s:
            last[row["src"], row["dst"]] = row
    for pair, row in sorted(last.items()):
        if row["frames"]:
            yield {**{k: v for k, v in row.items() if k != "t_s"}, "signal_dbm_mean": signal[pair]}
