# SPDX-License-Identifier: Apache-2.0
"""Collect a run: tables, digest and manifest from the lab's records."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hoplab import __version__
from hoplab.guest.system import signals
from hoplab.guest.system.processes import program
from hoplab.host.machine import compare, confined, surroundings
from hoplab.host.machine.sealed import Machine
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
from hoplab.host.results.manifest import (
    COMPLETE,
    RECORDS_ONLY,
    RUNNING,
    VERSION,
    Manifest,
    Verdict,
    Where,
)
from hoplab.host.results.packets import Packet
from hoplab.host.runs import folder
from hoplab.host.runs.folder import shown
from hoplab.host.runs.kinds import programs
from hoplab.model.errors import GuestFailed, HoplabError, ResultsError
from hoplab.model.reading import content, value
from hoplab.model.records import inplace, writer
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import plan

ROOM = 2048
"""Bytes reserved in the manifest for the end of a run on a full disk."""
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


def begin(out: Path, scenario: Scenario, where: Where, sealed: Machine | None = None) -> None:
    """Write a manifest that describes the run, and reserve room for its end."""
    manifest = Manifest(
        version=VERSION,
        run=shown(Path(out.name)),
        state=RUNNING,
        digest=None,
        hoplab_version=__version__,
        machine_hash=None if sealed is None else sealed.id,
        machine_parts=None if sealed is None else compare.parts(sealed),
        packages=None if sealed is None else sealed.packages(),
        daemons=_versions(scenario) if sealed is None else _sealed_versions(scenario, sealed),
        host=surroundings.found(),
        confinement=None if sealed is None else confined.confinement(),
        seed=scenario.seed,
        machine=where,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        routing=scenario.routing.model_dump(),
        verdict=Verdict(status=None, error=None, warnings=[]),
    )
    _write(out, manifest, reserve=len(json.dumps(manifest.document(), indent=1)) + ROOM)


def gather(
    out: Path, wall_s: float | None, status: int, failure: BaseException | None = None
) -> Manifest:
    """Make tables, digest and manifest from the lab's records in ``out``. ``status`` is the exit
    status of its process, and ``failure`` the known reason.

    Raises `ResultsError` if they cannot be made. Raw records and a manifest that says so then stay,
    for `finish`.
    """
    manifest = manifests.read(out / manifests.NAME)
    scenario = Scenario.model_validate(_json(out / "scenario.json"))
    ended = _ended(out, status, failure)
    manifest = manifest.updated(wall_s=None if wall_s is None else round(wall_s, 3))
    try:
        made, told = _tables(out, scenario, ended)
        found = Digests(made, digests.of_captures(out))
        whole = manifest.updated(
            state=COMPLETE,
            digest=found.digest,
            tables=found.tables,
            captures=found.captures,
            kernel=ended.kernel,
            virtual_s=ended.virtual_s,
            tcp_settings=ended.tcp_settings,
            medium=value(out / "raw" / "medium.json"),
            verdict=ended.verdict.model_copy(update={"warnings": [*ended.warnings, *told]}),
        )
        _write(out, whole)
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


def _write(out: Path, manifest: Manifest, reserve: int = 0) -> None:
    inplace.write(out / manifests.NAME, manifest.document(), reserve)


def _kept(out: Path, manifest: Manifest, ended: _Ended, error: Exception) -> ResultsError:
    """Note in the manifest's reserved room that only raw records exist. Returns the error to
    raise."""
    shutil.rmtree(out / "tables", ignore_errors=True)
    reason = str(error)
    if isinstance(error, OSError):
        reason = f"{out}: cannot be written: {error.strerror}"
    verdict = Verdict(
        status=ended.status or ResultsError.exit_status,
        error=ended.error or reason[:SHORT],
        warnings=[],
    )
    with contextlib.suppress(OSError):
        _write(out, manifest.updated(state=RECORDS_ONLY, verdict=verdict))
    if isinstance(error, OSError):
        reason += "; free some space"
    return ResultsError(f"{reason}; the records are kept: 'hoplab finish {out}' completes the run")


def _ended(out: Path, status: int, failure: BaseException | None) -> _Ended:
    """Return how the lab ended: by itself, by its process's status or by a signal."""
    try:
        ended = _Ended.model_validate_json(content(out / "raw" / "verdict.json"))
    except (OSError, ValueError):
        ended = _Ended()
    if isinstance(failure, signals.Stopped) and ended.status != 0:
        return ended.model_copy(update={"status": failure.exit_status, "error": failure.word})
    if ended.status is None:
        early = f"the lab ended early, with status {status}"
        reason = str(failure)[:SHORT] if isinstance(failure, HoplabError) else early
        return ended.model_copy(update={"status": status, "error": reason})
    return ended


def _json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file in the run's folder."""
    try:
        found: dict[str, Any] = json.loads(content(path))
    except OSError as error:
        raise ResultsError(
            f"{path}: cannot be read: {error.strerror}; name the folder of a run"
        ) from None
    except ValueError:
        raise ResultsError(f"{path}: is not JSON; run it again") from None
    return found


def _tables(out: Path, scenario: Scenario, ended: _Ended) -> tuple[dict[str, str], list[str]]:
    """Write every table. Returns their digests, and warnings about them. `flows`, `connections` and
    `packets`, which are evaluated here, come first."""
    raw = out / "raw"
    raw.mkdir(exist_ok=True)
    work = plan(scenario)
    date_ns = ended.realtime_epoch_ns
    none = packets.Gathered(arrow.empty("packets"), {})
    seen = none if date_ns is None else packets.gather(out, work, date_ns)
    found = connections.Found([], {})
    if date_ns is not None and scenario.program:
        found = connections.gather(out, work, date_ns)
        if scenario.measure.packets:
            more = connection_packets.gather(out, work, found, date_ns)
            writer.write(raw, "packets", map(Packet._asdict, more), add=True)
    course = Course(
        tables.recorded(out, "tcp"),
        seen.udp,
        ended.monotonic_epoch_ns,
        ended.virtual_s is not None,
        found,
        tables.recorded(out, "exchanges"),
    )
    writer.write(raw, "flows", flows.rows(out, work, course))
    if found.rows:
        writer.write(raw, "connections", found.rows)
    return tables.convert(out, scenario.duration_s, seen.packets), found.warnings()


PACKAGES = {"wpa_supplicant": "wpasupplicant"}
"""Debian packages whose name differs from their program's."""


def _sealed_versions(scenario: Scenario, sealed: Machine) -> dict[str, str]:
    """Return versions of the programs that took part, from the machine's list."""
    listed = {package["name"]: package["version"] for package in sealed.description["packages"]}
    return {
        name: listed.get(PACKAGES.get(name, name), f"hoplab {sealed.description['hoplab']}")
        for name in programs(scenario)
    }


def _versions(scenario: Scenario) -> dict[str, str]:
    """Return versions of the programs that took part, as the programs print them."""
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
