# SPDX-License-Identifier: Apache-2.0
"""The beginning of a run: its manifest, with room for its end."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hoplab import __version__
from hoplab.guest.system.processes import program
from hoplab.host.machine import compare, confined, surroundings
from hoplab.host.machine.sealed import Machine
from hoplab.host.results import manifest as manifests
from hoplab.host.results.manifest import RUNNING, VERSION, Manifest, Verdict, Where
from hoplab.host.runs.folder import shown
from hoplab.host.runs.kinds import programs
from hoplab.model.errors import HoplabError
from hoplab.model.keys.resolved import Resolved, ResolvedBranch
from hoplab.model.records import inplace

ROOM = 2048
"""Bytes reserved in the manifest for the end of a run on a full disk."""
PACKAGES = {"wpa_supplicant": "wpasupplicant"}
"""Debian packages whose name differs from their program's."""


def begin(
    out: Path,
    scenario: Resolved,
    where: Where,
    sealed: Machine | None = None,
    branch: Mapping[str, float] | None = None,
) -> None:
    """Write a manifest that describes the run, and reserve room for its end. ``branch`` is that of
    `hoplab.host.runs.kinds.Kind`."""
    manifest = Manifest(
        version=VERSION,
        run=shown(Path(out.name)),
        state=RUNNING,
        digest=None,
        hoplab_version=__version__,
        machine_hash=None if sealed is None else sealed.id,
        machine_parts=None if sealed is None else compare.parts(sealed),
        guest_kernel=None if sealed is None else sealed.description.get("kernel"),
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
    if scenario.branch is not None:
        manifest = manifest.updated(branch=_branch(scenario.branch))
    elif branch is not None:
        manifest = manifest.updated(branch={**branch, "past": _sha256(scenario)})
    write(out, manifest, ROOM)


def _branch(branch: ResolvedBranch) -> dict[str, Any]:
    return {"at_s": branch.at_s, "past": _sha256(branch.past)}


def _sha256(scenario: Resolved) -> str:
    text = scenario.model_dump_json(exclude_none=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write(out: Path, manifest: Manifest, room: int = 0) -> None:
    """Write the manifest in place, with ``room`` for so many bytes more."""
    inplace.write(out / manifests.NAME, manifest.document(), room)


def _sealed_versions(scenario: Resolved, sealed: Machine) -> dict[str, str]:
    """Return versions of the programs that took part, from the machine's list."""
    listed = {package["name"]: package["version"] for package in sealed.description["packages"]}
    return {
        name: listed.get(PACKAGES.get(name, name), f"hoplab {sealed.description['hoplab']}")
        for name in programs(scenario)
    }


def _versions(scenario: Resolved) -> dict[str, str]:
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
