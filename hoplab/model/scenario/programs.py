# SPDX-License-Identifier: Apache-2.0
"""The programs of a scenario: their names, their files, their contradictions.

A resolved scenario holds the files themselves. They are therefore part of a run's key. They travel
with the run to any place where it is performed, packed or verified.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.reading import content
from hoplab.model.scenario.model import Scenario
from hoplab.model.scenario.plan import Plan
from hoplab.model.scenario.program import MAX_PROGRAMS, Additions, Program
from hoplab.model.wording import worded

OCTETS = "base64:"
MAX_FILES = 1000
MAX_FILES_BYTES = 8 << 20
MAX_LOCK_BYTES = 1 << 20
MAX_ADDED = MAX_FILES_BYTES * 4 // 3
"""Limit of a program's files, which a scenario holds."""


def expanded(
    program: Program, index: int, folder: Path, addresses: Mapping[str, str], routes: bool
) -> tuple[Program, ...]:
    """Return the program as `resolved`, or its copies at all stations, of which ``addresses`` has
    the addresses. ``routes`` says whether programs of all stations route."""
    one = resolved(program, index, folder)
    if one.stations is None:
        return (one,)
    kept = one.model_dump(exclude_defaults=True, exclude={"stations"})
    return tuple(
        _copy({"routing": routes, **kept}, name, address) for name, address in addresses.items()
    )


def _copy(document: dict[str, Any], station: str, address: str) -> Program:
    """Return the program's copy at a station."""

    def own(text: str) -> str:
        return text.replace("{name}", station).replace("{address}", address)

    texts = {
        key: {name: text if text.startswith(OCTETS) else own(text) for name, text in found.items()}
        for key in ("env", "file")
        if (found := document.get(key))
    }
    name = f"{document['name']}-{station}"
    update = {"name": name, "station": station, "run": own(document["run"]), **texts}
    try:
        return Program.model_validate({**document, **update})
    except ValueError as error:
        raise ScenarioError(f"program {name}: {_first_line(error)}") from None


def resolved(program: Program, index: int, folder: Path) -> Program:
    """Return the program with its name, and with the files of its folder, which is looked up in
    ``folder``."""
    name = program.name or f"program{index}"
    update: dict[str, object] = {"name": name}
    if program.files is not None:
        found = _read(folder / program.files, f"program {name}: files")
        update |= {"files": None, "file": {**found, **program.file}}
    for path, text in program.file.items():
        octets_of(text, f"program {name}: file {path}")
    # Make the object again, so that names of found files are checked as given ones are.
    try:
        return Program.model_validate({**program.model_dump(exclude_defaults=True), **update})
    except ValueError as error:
        raise ScenarioError(f"program {name}: files: {_first_line(error)}") from None


def added(machine: Additions, folder: Path) -> Additions:
    """Return the additions with their files, which are looked up in ``folder``. The keys are the
    names by which programs find them."""
    found: dict[str, str] = {}
    for name in machine.add:
        path = folder / name
        if path.is_dir():
            here = _read(path, "machine.add")
        else:
            here = {path.name: _written(_octets(path, "machine.add"))}
        if twice := sorted(here.keys() & (found.keys() | machine.file.keys())):
            raise ScenarioError(f"machine.add: {name}: there is a {twice[0]!r} already")
        found |= here
    files = {**found, **machine.file}
    for path_there, text in machine.file.items():
        octets_of(text, f"machine: file {path_there}")
    if sum(map(len, files.values())) > MAX_ADDED:
        raise ScenarioError(
            f"machine.add: more than {MAX_FILES_BYTES >> 20} MiB; leave out what no program needs"
        )
    kept = {"users": machine.users, "folder": machine.folder, "locked": _locked(machine, folder)}
    try:
        return Additions.model_validate({"file": files, **kept})
    except ValidationError as error:
        first = _first_line(error)
        if first.startswith("locked: "):
            first = first.replace("locked", f"lock: {machine.lock}", 1)
            raise ScenarioError(f"machine.{first}") from None
        raise ScenarioError(f"machine.add: {first}") from None


def _locked(machine: Additions, folder: Path) -> str:
    """Return the lock of the requested packages. It must be for these packages."""
    if not (machine.packages or machine.python):
        return machine.locked
    path = folder / machine.lock
    todo = "make it with 'hoplab lock FILE', FILE being the scenario"
    try:
        text = content(path, MAX_LOCK_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise ScenarioError(f"machine.lock: {path}: {why}; {todo}") from None
    if machine.asked not in text.splitlines():
        raise ScenarioError(f"machine.lock: {path}: is of other packages than are named; {todo}")
    return text


def early(plan: Plan) -> tuple[Program, ...]:
    """Return programs that start before time 0, which waits for them, in their order. There are
    none if a person starts the programs."""
    if plan.end_s is None:
        return ()
    return tuple(p for p in plan.scenario.program if p.ready is not None)


def early_s(plan: Plan) -> float:
    """Return the time that they have to start, one after the other, after the warm-up."""
    return sum(p.ready.wait_s for p in early(plan) if p.ready is not None)


def _first_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = worded(error)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)


def octets_of(text: str, what: str = "file") -> bytes:
    """Return the content of a file as a scenario writes it. Raises `ScenarioError`."""
    if not text.startswith(OCTETS):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(OCTETS), validate=True)
    except (binascii.Error, ValueError):
        raise ScenarioError(f"{what}: is not base64 after {OCTETS!r}") from None


def _written(octets: bytes) -> str:
    """Return octets as a scenario writes them."""
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        text = OCTETS
    if text.startswith(OCTETS) or "\0" in text:
        return OCTETS + base64.b64encode(octets).decode()
    return text


def _read(folder: Path, key: str) -> dict[str, str]:
    """Return the regular files below ``folder``, by their paths there. Links are left out, because
    they lead elsewhere."""
    if not folder.is_dir():
        raise ScenarioError(f"{key}: {folder}: is no folder; name one beside the scenario")
    found: dict[str, str] = {}
    size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or path.is_symlink():
                continue
            octets = _octets(path, key)
            size += len(octets)
            if len(found) == MAX_FILES or size > MAX_FILES_BYTES:
                raise ScenarioError(
                    f"{key}: {folder}: has more than {MAX_FILES} files or "
                    f"{MAX_FILES_BYTES >> 20} MiB; leave out what the program does not need"
                )
            found[path.relative_to(folder).as_posix()] = _written(octets)
    return found


def _octets(path: Path, key: str) -> bytes:
    try:
        return content(path, MAX_FILES_BYTES)
    except OSError as error:
        raise ScenarioError(f"{key}: {path}: cannot be read: {error.strerror}") from None


def check(scenario: Scenario, stations: list[str]) -> None:
    """Raise `ScenarioError` for the first contradiction in the programs of a resolved scenario."""
    if scenario.machine != Additions() and not scenario.program:
        raise ScenarioError("machine: acts on nothing: there is no [[program]]; remove it")
    if scenario.machine.is_sealed and any(program.host for program in scenario.program):
        raise ScenarioError(
            "machine.packages: go into a sealed machine, and host = true takes programs of this "
            "computer; leave out one of them"
        )
    if len(scenario.program) > MAX_PROGRAMS:
        raise ScenarioError(
            f"program: {len(scenario.program)} with a copy at each station; at most {MAX_PROGRAMS}"
        )
    _routing(scenario)
    names: set[str] = {str(flow.name) for flow in scenario.flow}
    for i, program in enumerate(scenario.program):
        if program.station not in stations:
            shown = ", ".join(stations[:20])
            raise ScenarioError(
                f"program.{i}.station: no station {program.station!r}; there are: {shown}"
            )
        if program.name in names:
            raise ScenarioError(f"program.{i}.name: {program.name!r} is given twice")
        names.add(str(program.name))
        if program.start_s is not None and program.start_s >= scenario.duration_s:
            raise ScenarioError(
                f"program.{i}.start_s: {program.start_s:g} is not before duration_s "
                f"{scenario.duration_s:g}"
            )


def _routing(scenario: Scenario) -> None:
    """Check that programs route where nobody else does, and only there."""
    protocol = scenario.routing.protocol
    for program in scenario.program:
        if program.routing and (protocol != "own" or scenario.is_found):
            found = "a script's network" if scenario.is_found else f'routing.protocol "{protocol}"'
            raise ScenarioError(
                f"program {program.name}: routing: {found} has its own routes; set "
                'routing.protocol = "own", or remove it'
            )
        if program.routing and program.ready is not None:
            raise ScenarioError(
                f"program {program.name}: ready: it starts with the warm-up, which time 0 waits "
                "for; remove ready, and set warm_up_s"
            )
    if protocol == "own" and scenario.flow and not scenario.program and not scenario.is_found:
        raise ScenarioError(
            'routing.protocol: "own" installs no routes, and no [[program]] does; add your '
            'daemon with stations = "all", or choose another protocol'
        )
