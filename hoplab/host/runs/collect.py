# SPDX-License-Identifier: Apache-2.0
"""Collect a run: tables, digest and manifest from what the lab left."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from hoplab import __version__
from hoplab.guest.system import signals
from hoplab.guest.system.processes import program
from hoplab.host.machine import compare, confined, surroundings
from hoplab.host.machine.sealed import Machine
from hoplab.host.results import digests, flows, packets, tables
from hoplab.host.results.flows import Course
from hoplab.host.results.manifest import Where
from hoplab.host.runs import folder
from hoplab.host.runs.folder import shown
from hoplab.host.runs.kinds import programs
from hoplab.model.errors import GuestFailed, HoplabError, ResultsError
from hoplab.model.reading import content
from hoplab.model.records import inplace
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import plan

MANIFEST = "manifest.json"
RUNNING, RECORDS_ONLY, COMPLETE = "running", "records only", "complete"
"""States of a run: it goes on (or was killed), its records wait for `finish`, all is there."""
ROOM = 2048
"""Bytes kept in the manifest for how a run ended on a full disk."""
SHORT = 500


def begin(out: Path, scenario: Scenario, where: Where, sealed: Machine | None = None) -> None:
    """Write a manifest that says what the run is, and keep room for how it ends."""
    manifest: dict[str, Any] = {
        "run": shown(Path(out.name)),
        "state": RUNNING,
        "digest": None,
        "hoplab_version": __version__,
        "machine_hash": None if sealed is None else sealed.id,
        "machine_parts": None if sealed is None else compare.parts(sealed),
        "packages": None if sealed is None else sealed.packages(),
        "daemons": _versions(scenario) if sealed is None else _sealed_versions(scenario, sealed),
        "host": surroundings.found(),
        "confinement": None if sealed is None else confined.confinement(),
        "seed": scenario.seed,
        "machine": where,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "routing": scenario.routing.model_dump(),
        "verdict": {"status": None, "error": None, "warnings": []},
    }
    inplace.write(out / MANIFEST, manifest, reserve=len(json.dumps(manifest, indent=1)) + ROOM)


def gather(
    out: Path, wall_s: float | None, status: int, failure: BaseException | None = None
) -> dict[str, Any]:
    """Tables, digest and manifest from what the lab left in ``out``, whose process ended with
    ``status``, and by ``failure`` where that is known.

    Raises `ResultsError` where they cannot be made; raw records and a manifest that says so stay,
    for `finish`.
    """
    manifest = _json(out / MANIFEST)
    scenario = Scenario.model_validate(_json(out / "scenario.json"))
    verdict = _verdict(out, status)
    if isinstance(failure, signals.Stopped) and verdict["status"] != 0:
        verdict |= {"status": failure.exit_status, "error": failure.word}
    manifest["wall_s"] = None if wall_s is None else round(wall_s, 3)
    try:
        made = _tables(out, scenario, verdict)
        found = digests.of_run(out, made)
        whole = {
            **manifest,
            "state": COMPLETE,
            "digest": found.digest,
            "tables": found.tables,
            "captures": found.captures,
            "kernel": verdict.pop("kernel", None),
            "virtual_s": verdict.pop("virtual_s", None),
            "tcp_settings": verdict.pop("tcp_settings", {}),
            "medium": _medium_account(out),
            "verdict": verdict,
        }
        inplace.write(out / MANIFEST, whole)
    except (OSError, ResultsError) as error:
        raise _kept(out, manifest, verdict, error) from None
    return whole


def finish(out: Path) -> dict[str, Any]:
    """Make tables and manifest of a run that could not make its own: its disk was full, or it was
    killed. Raises `ResultsError` where it still runs, is complete, or still cannot."""
    state = _json(out / MANIFEST).get("state", COMPLETE)
    if state == COMPLETE:
        raise ResultsError(f"{out}: is complete; 'hoplab report {out}' writes its report again")
    with folder.held(out):
        return gather(out, None, GuestFailed.exit_status)


def _kept(
    out: Path, manifest: dict[str, Any], verdict: dict[str, Any], error: Exception
) -> ResultsError:
    """Note in the manifest's own room that only raw records are there; the error to raise."""
    shutil.rmtree(out / "tables", ignore_errors=True)
    reason = str(error)
    if isinstance(error, OSError):
        reason = f"{out}: cannot be written: {error.strerror}"
    manifest["state"] = RECORDS_ONLY
    manifest["verdict"] = {
        "status": verdict["status"] or ResultsError.exit_status,
        "error": verdict["error"] or reason[:SHORT],
        "warnings": [],
    }
    with contextlib.suppress(OSError):
        inplace.write(out / MANIFEST, manifest)
    if isinstance(error, OSError):
        reason += "; free some space"
    return ResultsError(f"{reason}; the records are kept: 'hoplab finish {out}' completes the run")


def _verdict(out: Path, status: int) -> dict[str, Any]:
    """What the lab told of itself, as far as it came."""
    try:
        verdict: dict[str, Any] = json.loads(content(out / "raw" / "verdict.json"))
    except (OSError, ValueError):
        verdict = {"status": None}
    if verdict["status"] is None:
        verdict["status"] = status
        verdict["error"] = f"the lab ended early, with status {status}"
    verdict.setdefault("warnings", [])
    return verdict


def _json(path: Path) -> dict[str, Any]:
    """A file of the run's folder."""
    try:
        value: dict[str, Any] = json.loads(content(path))
    except OSError as error:
        raise ResultsError(
            f"{path}: cannot be read: {error.strerror}; name the folder of a run"
        ) from None
    except ValueError:
        raise ResultsError(f"{path}: is not JSON; run it again") from None
    return value


def _medium_account(out: Path) -> dict[str, Any] | None:
    """What the medium says of itself: the audit of frames, system calls, whether to trust it."""
    try:
        account: dict[str, Any] = json.loads(content(out / "raw" / "medium.json"))
    except (OSError, ValueError):
        return None
    return account


def _tables(out: Path, scenario: Scenario, verdict: dict[str, Any]) -> dict[str, pa.Table]:
    """Every table, those first that are evaluated here: `flows` and `packets`."""
    (out / "raw").mkdir(exist_ok=True)
    work = plan(scenario)
    date_ns = verdict.pop("realtime_epoch_ns", None)
    udp = {} if date_ns is None else packets.gather(out, work, date_ns)
    course = Course(
        tables.raw_rows(out, "tcp"),
        udp,
        verdict.pop("monotonic_epoch_ns", None),
        verdict.get("virtual_s") is not None,
    )
    with (out / "raw" / "flows.jsonl").open("w", encoding="utf-8") as file:
        for row in flows.rows(out, work, course):
            file.write(json.dumps(row) + "\n")
    return tables.convert(out, scenario.duration_s)


def _sealed_versions(scenario: Scenario, sealed: Machine) -> dict[str, str]:
    """Versions of the programs that took part, as the machine lists them."""
    listed = {package["name"]: package["version"] for package in sealed.description["packages"]}
    return {
        name: listed.get(name, f"hoplab {sealed.description['hoplab']}")
        for name in programs(scenario)
    }


def _versions(scenario: Scenario) -> dict[str, str]:
    """Versions of the programs that took part, as they tell them themselves."""
    versions: dict[str, str] = {}
    for name in programs(scenario):
        option = {"batmand": "-v", "babeld": "-V"}.get(name, "--version")
        try:
            answer = subprocess.run(
                [program(name), option], capture_output=True, text=True, timeout=10, check=False
            )
        except (HoplabError, OSError, subprocess.TimeoutExpired):
            versions[name] = "unknown"
            continue
        lines = (answer.stdout + answer.stderr).strip().splitlines()
        versions[name] = lines[0] if lines else "unknown"
    return versions
