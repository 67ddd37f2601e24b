# SPDX-License-Identifier: Apache-2.0
"""Verify a run: its tables are unchanged, and its scenario gives them again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from hoplab.host.machine import compare, private, select, trust
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.host.results import digests
from hoplab.host.results import manifest as manifests
from hoplab.host.results.manifest import Manifest, Where, read_json
from hoplab.host.runs import artifact, decisions, kinds, launch
from hoplab.host.runs.builder import Find, none_here
from hoplab.host.runs.kinds import Kind
from hoplab.host.runs.launch import RunRequest
from hoplab.model.errors import OF_THIS_PLACE, NotReproduced, ResultsError
from hoplab.model.resolve.file import parse_resolved

MOST_DIFFERENCES = 5


def verify(
    run: Path, say: Callable[[str], None], given: bool = False, find: Find = none_here
) -> str:
    """Run the scenario of a finished run, or of an artifact, again. Returns the common digest.

    If another machine has to serve, ``say`` first receives a message. ``given`` is the user's trust
    in other people's machines, see `trust.require`. Raises `NotReproduced`.
    """
    if run.is_dir():
        return _compare(run, run, None, say, given, find)
    with private.temporary("verify") as folder:
        return _compare(run, folder, artifact.read(run, folder), say, given, find)


def _compare(
    name: Path,
    folder: Path,
    machine: Machine | None,
    say: Callable[[str], None],
    given: bool,
    find: Find,
) -> str:
    manifest = _manifest(name, folder)
    if manifest.machine is Where.SCRIPT:
        raise ResultsError(f"{name}: is of a script's network; the script can be run again")
    if manifest.machine is Where.SHELL:
        raise ResultsError(f"{name}: somebody took part in it; its scenario.json has what was done")
    by_agent = manifest.machine is Where.AGENT
    is_guests = by_agent or manifest.machine is Where.GUEST
    if machine is not None and not is_guests:
        raise ResultsError(f"{name}: was not run on a sealed machine, so nobody could repeat it")
    damage = list(digests.damage(folder, manifest))
    if damage:
        more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
        raise NotReproduced(f"{name}: {damage[0]}{more}")
    if machine is None and is_guests and manifest.machine_hash is not None:
        machine = _machine(name, manifest)
    if by_agent:
        decided = decisions.read(folder, str(name))
        scenario = decided.scenario
    else:
        scenario = parse_resolved(read_json(folder / "scenario.json"), f"{name}: scenario.json")
    if machine is not None:  # it may be a stranger's, whatever the manifest says
        trust.require(machine, name, given, programs=bool(scenario.program))
        _say_differences(name, manifest, machine, say)
    with private.temporary("verify") as place, contextlib.ExitStack() as stack:
        where = place / "again"
        if by_agent:
            steps = stack.enter_context(decisions.repeated(decided))
            on: Kind = kinds.Sealed(machine or select.chosen(), steps)
        elif machine is not None:
            on = kinds.Sealed(machine, is_cold=True)
        else:
            on = kinds.chosen(manifest.machine, scenario, find)
        again = launch.perform(RunRequest(scenario, on, out=where))
    if again.digest != manifest.digest:
        why = ""
        if machine is not None and machine.id != manifest.machine_hash:
            why = "; the machines differ, see above"
        raise NotReproduced(f"{name}: digest {_short(manifest)}… became {_short(again)}…{why}")
    return str(again.digest)


def _manifest(name: Path, folder: Path) -> Manifest:
    """Return the run's manifest, which may say anything if a stranger sent it."""
    manifest = manifests.read(folder / manifests.NAME, f"{name}: {manifests.NAME}")
    if {"machine", "digest"} <= manifest.model_fields_set:
        return manifest
    raise ResultsError(f"{name}: its manifest.json is not that of a finished run")


def _short(manifest: Manifest) -> str:
    return (manifest.digest or "")[:SHORT]


def _machine(name: Path, manifest: Manifest) -> Machine:
    """Return the run's own machine if it is here, else the default one."""
    try:
        return artifact.find(manifest, name)
    except OF_THIS_PLACE:
        return select.chosen()


def _say_differences(
    name: Path, manifest: Manifest, machine: Machine, say: Callable[[str], None]
) -> None:
    then = str(manifest.machine_hash)
    if then == machine.id:
        return
    say(f"{name}: was run on machine {then[:SHORT]}, here is {machine.id[:SHORT]}; they differ in")
    lines = [
        *compare.of_packages(manifest.packages or [], machine.packages()),
        *compare.of_parts(manifest.machine_parts or {}, compare.parts(machine)),
    ]
    for line in lines[:MOST_DIFFERENCES]:
        say(f"  {line}")
    if len(lines) > MOST_DIFFERENCES:
        say(f"  and {len(lines) - MOST_DIFFERENCES} more")
