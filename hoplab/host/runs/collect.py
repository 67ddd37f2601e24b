# SPDX-License-Identifier: Apache-2.0
"""Collect a run: tables, digest and manifest from the lab's records.

Its libraries take as long to import as a guest takes to boot. `hoplab.host.runs.launch` imports
them meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hoplab.guest.system import signals
from hoplab.host.results import (
    arrow,
    connection_packets,
    connections,
    digests,
    flows,
    packets,
    tables,
)
from hoplab.host.results import manifest as manifests
from hoplab.host.results.digests import Digests
from hoplab.host.results.flows import Course
from hoplab.host.results.manifest import COMPLETE, RECORDS_ONLY, Manifest, Verdict
from hoplab.host.results.packets import Packet
from hoplab.host.results.reader import scenario_in
from hoplab.host.runs import beginning, folder, suspects
from hoplab.model.errors import GuestFailed, HoplabError, ResultsError
from hoplab.model.keys import variants
from hoplab.model.keys.resolved import Resolved
from hoplab.model.network.plan import plan
from hoplab.model.reading import OTHER_KINDS, content, value
from hoplab.model.records import writer

SHORT = 500


class _Ended(BaseModel):
    """The lab's account of itself so far (`hoplab.guest.lab.account`)."""

    model_config = ConfigDict(frozen=True)

    status: int | None = None
    error: str | None = None
    warnings: list[str] = []
    kernel: str | None = None
    virtual_s: float | None = None
    tcp_settings: dict[str, Any] = {}
    realtime_epoch_ns: int | None = None
    monotonic_epoch_ns: int | None = None

    @property
    def verdict(self) -> Verdict:
        return Verdict(status=self.status, error=self.error, warnings=self.warnings)


def gather(
    out: Path, wall_s: float | None, status: int, failure: BaseException | None = None
) -> Manifest:
    """Make tables, digest and manifest from the lab's records in ``out``. ``status`` is the exit
    status of its process, and ``failure`` the known reason.

    Raises `ResultsError` if they cannot be made. Raw records and a manifest that says so then stay,
    for `finish`.
    """
    manifest = manifests.read(out / manifests.NAME)
    scenario = scenario_in(_json(out / "scenario.json"), out / "scenario.json")
    ended = _ended(out, scenario, status, failure)
    manifest = manifest.updated(wall_s=None if wall_s is None else round(wall_s, 3))
    try:
        made, told = _tables(out, scenario, ended)
        medium = value(out / "raw" / "medium.json")
        found = Digests(made, digests.of_captures(out))
        whole = manifest.updated(
            state=COMPLETE,
            digest=found.digest,
            tables=found.tables,
            captures=found.captures,
            kernel=ended.kernel,
            virtual_s=ended.virtual_s,
            tcp_settings=ended.tcp_settings,
            medium=medium if isinstance(medium, dict) else None,
            verdict=ended.verdict.model_copy(update={"warnings": [*ended.warnings, *told]}),
        )
        beginning.write(out, whole)
    except (OSError, ResultsError) as error:
        raise _kept(out, manifest, ended, error) from None
    return whole


def finish(out: Path) -> Manifest:
    """Make tables and manifest of a run that could not make its own: its disk was full, or it was
    killed. Raises `ResultsError` if it still runs, is complete, or fails again."""
    if not (out / manifests.NAME).exists():
        raise ResultsError(f"{out}: has no {manifests.NAME}; name the folder of a run")
    if manifests.read(out / manifests.NAME).state == COMPLETE:
        raise ResultsError(f"{out}: is complete; 'hoplab report {out}' writes its report again")
    with folder.held(out):
        return gather(out, None, GuestFailed.exit_status)


def _kept(out: Path, manifest: Manifest, ended: _Ended, error: Exception) -> ResultsError:
    """Note in the manifest's reserved room that only raw records exist. Returns the error to
    raise."""
    shutil.rmtree(out / "tables", ignore_errors=True)
    reason = str(error)
    if isinstance(error, OSError):
        reason = f"{out}: cannot be written: {error.strerror}"
        if error.errno in OTHER_KINDS:
            reason = f"{error.filename}: cannot be used: {error.strerror}"
    verdict = Verdict(
        status=ended.status or ResultsError.exit_status,
        error=ended.error or reason[:SHORT],
        warnings=[],
    )
    with contextlib.suppress(OSError):
        beginning.write(out, manifest.updated(state=RECORDS_ONLY, verdict=verdict))
    if isinstance(error, OSError):
        reason += "; remove it" if error.errno in OTHER_KINDS else "; free some space"
    return ResultsError(f"{reason}; the records are kept: 'hoplab finish {out}' completes the run")


def _ended(out: Path, scenario: Resolved, status: int, failure: BaseException | None) -> _Ended:
    """Return how the lab ended: by itself, by its process's status or by a signal."""
    try:
        ended = _Ended.model_validate_json(content(out / "raw" / "verdict.json"))
    except (OSError, ValueError):
        ended = _Ended()
    if isinstance(failure, signals.Stopped) and ended.status != 0:
        return ended.model_copy(update={"status": failure.exit_status, "error": failure.word})
    if ended.status is None:
        by = suspects.of_signal(status, scenario, out)
        early = f"the lab ended early, with status {status}{by}"
        reason = str(failure)[:SHORT] if isinstance(failure, HoplabError) else early
        return ended.model_copy(update={"status": status, "error": reason})
    if by := suspects.of_signal(ended.status, scenario, out):
        return ended.model_copy(update={"error": f"{ended.error}{by}"})
    return ended


def _json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file in the run's folder."""
    try:
        found: dict[str, Any] = json.loads(content(path))
    except OSError as error:
        raise ResultsError(
            f"{path}: cannot be read: {error.strerror}; name the folder of a run"
        ) from None
    except (ValueError, RecursionError):
        raise ResultsError(f"{path}: is not JSON; run it again") from None
    return found


def _tables(out: Path, scenario: Resolved, ended: _Ended) -> tuple[dict[str, str], list[str]]:
    """Write every table. Returns their digests, and warnings about them. `flows`, `connections`,
    `udp` in part and `packets`, which are evaluated here, come first."""
    raw = out / "raw"
    raw.mkdir(exist_ok=True)
    work = plan(scenario)
    date_ns = ended.realtime_epoch_ns
    none = packets.Gathered(arrow.empty("packets"), {})
    seen = none if date_ns is None else packets.gather(out, work, date_ns)
    found = connections.Found([], {})
    if date_ns is not None and scenario.program:
        found = connections.gather(out, work, date_ns)
        every = scenario.measure.packets
        courses = connection_packets.gather(out, work, found, date_ns, datagrams_alone=not every)
        found = connection_packets.known(found, courses, scenario.duration_s)
        if every:
            kept = (c.packets(name, scenario.duration_s) for name, c in courses.items())
            writer.write(raw, "packets", map(Packet._asdict, chain.from_iterable(kept)), add=True)
    of_programs = connection_packets.rows(found, scenario.measure.interval_s)
    if sampled := [*seen.samples, *of_programs]:
        writer.write(raw, "udp", sampled)
    known = {name: tables.recorded(out, name) for name in ("tcp", "exchanges", "udp")}
    course = Course(
        known["tcp"],
        seen.udp,
        ended.monotonic_epoch_ns,
        ended.virtual_s is not None,
        found,
        known["exchanges"],
        known["udp"],
    )
    rows = list(flows.rows(out, work, course))
    writer.write(raw, "flows", rows)
    if found.rows:
        writer.write(raw, "connections", found.rows)
    told = [*_about_variants(scenario, rows), *found.warnings()]
    return tables.convert(out, scenario.duration_s, seen.packets, known), told


def _about_variants(scenario: Resolved, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what names of variants hide, and what compared flows differ in beside them."""
    for name in dict.fromkeys(flow.congestion_control for flow in scenario.flow):
        hidden = variants.confusion(name, scenario.tcp.profile)
        if hidden is not None:
            yield f"flow.congestion_control: {hidden}"
    differ = variants.difference((row["congestion_control"], row["sack"]) for row in rows)
    if differ is not None:
        yield differ
