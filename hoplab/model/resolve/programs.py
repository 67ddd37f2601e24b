# SPDX-License-Identifier: Apache-2.0
"""The programs of a scenario, with their names and their files.

A resolved scenario holds the files themselves. They are therefore part of a run's key. They travel
with the run to any place where it is performed, packed or verified.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.contents import OCTETS, octets_of
from hoplab.model.keys.program import Additions, Program
from hoplab.model.keys.resolved import ResolvedProgram
from hoplab.model.reading import content
from hoplab.model.wording import worded

MAX_FILES = 1000
MAX_FILES_BYTES = 8 << 20
MAX_LOCK_BYTES = 1 << 20
MAX_ADDED = MAX_FILES_BYTES * 4 // 3
"""Limit of a program's files, which a scenario holds."""


def expanded(
    program: Program, index: int, folder: Path, addresses: Mapping[str, str], routes: bool
) -> tuple[ResolvedProgram, ...]:
    """Return the program as `resolved`, or its copies at all stations, of which ``addresses`` has
    the addresses. ``routes`` says whether programs of all stations route."""
    one = resolved(program, index, folder)
    if one.stations is None:
        return (one,)
    kept = one.model_dump(exclude_defaults=True, exclude={"stations"})
    return tuple(
        _copy({"routing": routes, **kept}, name, address) for name, address in addresses.items()
    )


def _copy(document: dict[str, Any], station: str, address: str) -> ResolvedProgram:
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
        return ResolvedProgram.model_validate({**document, **update})
    except ValueError as error:
        raise ScenarioError(f"program {name}: {_first_line(error)}") from None


def resolved(program: Program, index: int, folder: Path) -> ResolvedProgram:
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
        return ResolvedProgram.model_validate(
            {**program.model_dump(exclude_defaults=True), **update}
        )
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


def _first_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = worded(error)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)


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
