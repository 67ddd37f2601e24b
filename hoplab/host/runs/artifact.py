# SPDX-License-Identifier: Apache-2.0
"""A run as one file for others to verify: scenario, results and its machine."""

from __future__ import annotations

from pathlib import Path

from hoplab.host.machine import pack, sealed, store
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.host.results import manifest as manifests
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs import decisions
from hoplab.model.errors import Damaged, MissingTool, ResultsError
from hoplab.model.reading import opened

RUN, MACHINE = "run/", "machine/"
FILES = ("manifest.json", "scenario.json", "scenario.toml", "report.html", decisions.NAME)
FOLDERS = ("tables", "captures", "logs")
"""Folders in the artifact. It omits raw records, from which the tables are made."""
NEEDED = ("manifest.json", "scenario.json")
LARGEST_BYTES = 16 << 30


def write(run: Path, file: Path) -> Machine:
    """Write the artifact of a finished run to ``file``. Returns its machine."""
    machine = find(manifests.read(run / manifests.NAME), run)
    names = [name for name in FILES if _is_own(run / name)]
    for folder in FOLDERS:
        names += sorted(
            path.relative_to(run).as_posix() for path in (run / folder).glob("*") if _is_own(path)
        )
    for name in names:
        if not sealed.NAME.fullmatch(name):
            raise ResultsError(f"{run / name}: a file of this name cannot go into an artifact")
    for name in machine.files:
        sealed.check_file(machine, name)
    with pack.writing(file) as tar:
        pack.add_machine(tar, machine, MACHINE)
        for name in names:
            with opened(run / name) as own:
                pack.add(tar, RUN + name, own.read())
    return machine


def _is_own(path: Path) -> bool:
    """Return whether a file is the run's own. A link would put another file of the user's into the
    pack."""
    return path.is_file() and not path.is_symlink()


def find(manifest: Manifest, run: Path) -> Machine:
    """Return the machine of a run from the store. Raises `MissingTool` if it is missing."""
    identity = manifest.machine_hash
    if identity is None:
        raise ResultsError(f"{run}: was not run on a sealed machine, so nobody could repeat it")
    try:
        machine = store.find(identity)
    except MissingTool:
        raise MissingTool(
            f"{run}: its machine {identity[:SHORT]} is not here any more; 'hoplab machine unpack' "
            "its file, or run the scenario again"
        ) from None
    sealed.check(machine, store.stamps())
    return machine


def read(file: Path, folder: Path) -> Machine:
    """Take the machine into the store, and the run's files into the empty ``folder``.

    The file may be a stranger's. Only files with a run's names are written, and all required ones
    must be there.
    """
    with pack.reading(file) as members:
        machine = pack.read_machine(members, file, MACHINE)
        left = LARGEST_BYTES
        for member, content in members:
            name = member.name.removeprefix(RUN)
            if name == member.name or not _expected(name):
                raise Damaged(f"{file}: is damaged: {member.name[:80]!r} has no place in it")
            left -= member.size
            if left < 0:
                raise Damaged(f"{file}: holds more than {LARGEST_BYTES >> 30} GiB of results")
            with pack.new_file(folder / name, "TMPDIR") as write:
                while chunk := content.read(pack.CHUNK_BYTES):
                    write(chunk)
    for name in NEEDED:
        if not (folder / name).exists():
            raise Damaged(f"{file}: is no run's pack, or damaged: it has no {name}")
    return machine


def _expected(name: str) -> bool:
    folder, _, base = name.partition("/")
    return name in FILES or (folder in FOLDERS and base != "" and "/" not in base)
