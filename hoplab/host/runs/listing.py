# SPDX-License-Identifier: Apache-2.0
"""The runs in a folder, the newest last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.guest.system import signals
from hoplab.host.results.manifest import NAME, RECORDS_ONLY, RUNNING, Manifest, read, read_json
from hoplab.host.results.reader import load
from hoplab.host.runs import folder
from hoplab.model.errors import HoplabError, ResultsError

NO_TABLES = (RUNNING, RECORDS_ONLY, "damaged")


@dataclass(frozen=True)
class Entry:
    """A run's folder. ``state`` is "complete", "failed", "running", "records only"
    (``hoplab finish`` makes the rest) or "damaged". After a signal it is "interrupted",
    "terminated" or "hung up", with the results so far. ``goodput_kbps`` is that of all flows."""

    run: Path
    state: str
    started: str
    title: str
    seed: int | None
    virtual_s: float | None
    goodput_kbps: float | None
    digest: str
    error: str


def runs(where: Path) -> list[Entry]:
    """Return every run below ``where``, in order of their starts.

    Raises `ResultsError` if that is no folder.
    """
    if not where.is_dir():
        raise ResultsError(
            f"{where}: is no folder; name one with runs, or run something: hoplab run FILE"
        )
    found = [_entry(path.parent) for path in sorted(where.glob("*/manifest.json"))]
    return sorted(found, key=lambda entry: (entry.started, entry.run))


def _entry(run: Path) -> Entry:
    manifest, scenario = _manifest(run), _scenario(run)
    error = manifest.verdict.error or ""
    state = manifest.state
    if folder.is_running(run):
        state = RUNNING
    elif state == RUNNING:  # its process was killed
        state = RECORDS_ONLY
    elif error:
        state = error if error in signals.WORDS.values() else "failed"
    return Entry(
        run=run,
        state=state,
        started=manifest.started,
        title=str(scenario.get("title", "")),
        seed=manifest.seed,
        virtual_s=manifest.virtual_s,
        goodput_kbps=_goodput_kbps(run) if state not in NO_TABLES else None,
        digest=manifest.digest or "",
        error=error,
    )


def _manifest(run: Path) -> Manifest:
    """Return the file's content, or nothing if it is damaged: one bad run must not hide the
    others."""
    try:
        return read(run / NAME)
    except ResultsError:
        return Manifest(state="damaged")


def _scenario(run: Path) -> dict[str, Any]:
    try:
        value = read_json(run / "scenario.json")
        return value if isinstance(value, dict) else {}
    except ResultsError:
        return {}


def _goodput_kbps(run: Path) -> float | None:
    try:
        return float(sum(row["goodput_kbps"] or 0.0 for row in load(run).rows("flows")))
    except HoplabError:
        return None
