# SPDX-License-Identifier: Apache-2.0
"""A machine with a scenario's packages: another machine, which has them in an archive.

Its identity depends on every octet of them, so a run on it packs and verifies like any other. The
packages are in memory beside the root, and never replace one of its files. A run's own course
therefore does not depend on what its programs need.
"""

from __future__ import annotations

import hashlib
import io
import math
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import archive, cpio, memory, root, store
from hoplab.host.machine.archive import Package
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.derived import derived
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.model.errors import MissingTool
from hoplab.model.keys.program import Additions

NAME = "packages.cpio"
"""Name of its file in such a machine's folder, and in a guest's."""
UNPACK = f"(cd / && busybox cpio -idmu </run/host/{NAME} 2>/dev/null)"
ADDED = "added"
"""Key of a machine's description: SHA-256 of the lock of its packages."""
SITE = f"usr/local/lib/python{archive.PYTHON}/dist-packages"
"""Folder in which the root's interpreter finds a user's packages; the lab has its own path."""
WITHOUT = ("usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/")
DOCUMENTS = "usr/share/doc/"
LARGEST_BYTES = 512 << 20
FIRST_ID = 100
"""First user number for the users that a scenario declares, in their order."""


def equipped(machine: Machine, additions: Additions) -> Machine:
    """Return the machine with the packages to which ``additions`` are locked. It is made if it is
    missing.

    Raises `MissingTool` for packages that are not available, or have other octets than in the lock.
    """
    if not additions.locked:
        return machine
    lock = hashlib.sha256(additions.locked.encode()).hexdigest()
    if ADDED in machine.description:
        if machine.description[ADDED] != lock:
            raise MissingTool(
                f"machine {machine.id[:SHORT]}: has other packages than the scenario's lock says; "
                "take a machine without"
            )
        return machine
    return derived(
        "equipped", machine, lock, Path(__file__), lambda: _made(machine, additions.locked)
    )


@dataclass(frozen=True)
class Added:
    """Unpacked packages: their files by places in the root, texts of licences, what they are, and
    the SHA-256 of their lock."""

    entries: dict[str, Entry]
    licences: dict[str, bytes]
    packages: list[Package]
    lock: str


def unpacked(locked: str) -> Added:
    """Return the packages of a lock's text, which are downloaded if they are not in the cache."""
    packages = _fetched(locked)
    licences: dict[str, bytes] = {}
    entries: dict[str, Entry] = {}
    for package, path in packages.items():
        unpack = _of_deb if package.kind == "deb" else _of_wheel
        entries |= unpack(package, path, licences)
    lock = hashlib.sha256(locked.encode()).hexdigest()
    return Added(entries, licences, list(packages), lock)


def _made(machine: Machine, locked: str) -> Machine:
    added = unpacked(locked)
    there = {name for name, _ in cpio.load(machine.root.read_bytes())}
    entries = {name: entry for name, entry in added.entries.items() if name not in there}
    return with_files(machine, entries, added, added.lock)


def with_files(machine: Machine, entries: dict[str, Entry], added: Added, mark: str) -> Machine:
    """Return a new machine with ``entries`` in memory beside its root. ``mark`` says what was
    added."""
    archived = cpio.dump(entries)
    if len(archived) > LARGEST_BYTES:
        raise MissingTool(
            f"machine.packages: they come to {len(archived) >> 20} MiB; at most "
            f"{LARGEST_BYTES >> 20} go into a guest"
        )
    with store.new_folder() as folder:
        for name in machine.files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(machine.folder / name, folder / name)
        new = {NAME: archived}
        new |= {f"licences/added/{name}": text for name, text in added.licences.items()}
        for name, content in new.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        facts = {
            name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in new.items()
        }
        description = {
            **machine.description,
            "files": {**machine.files, **facts},
            "packages": [*machine.description["packages"], *map(vars, added.packages)],
            ADDED: mark,
        }
        made = store.adopt(folder, description)
    if store.is_trusted(machine):
        store.trust(made)
    return made


def _fetched(locked: str) -> dict[Package, Path]:
    with tempfile.TemporaryDirectory(prefix="hoplab-lock-") as name:
        lock = Path(name) / "lock"
        lock.write_text(locked, encoding="utf-8")
        try:
            return archive.fetch(lock, store.cache() / "packages")
        except MissingTool as error:
            why = str(error).removesuffix(f"; {archive.RELOCK}")
            raise MissingTool(
                f"machine.packages: {why}; 'hoplab lock FILE' takes what there is today"
            ) from None


def _of_deb(package: Package, path: Path, licences: dict[str, bytes]) -> dict[str, Entry]:
    """Return a package's files, by their places in the root. Its scripts are ignored."""
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True)
    if done.returncode != 0:
        raise MissingTool(f"{package.name}: cannot be unpacked: {done.stderr.decode().strip()}")
    entries: dict[str, Entry] = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        for member in tar:
            name = _place(member.name)
            if name == f"{DOCUMENTS}{package.name}/copyright" and member.isfile():
                licences[f"debian/{package.name}"] = _content(tar, member)
            if not name or name.startswith((*WITHOUT, DOCUMENTS)) or name in root.MERGED:
                continue
            if member.isdir():
                entries[name] = Entry.folder()
            elif member.issym():
                entries[name] = Entry.link(member.linkname)
            elif member.islnk() and (same := entries.get(_place(member.linkname))):
                entries[name] = same
            elif member.isfile():
                entries[name] = Entry.file(_content(tar, member), bool(member.mode & 0o100))
    return entries


def _place(name: str) -> str:
    """Return a path below the root, whose old folders are links into /usr. Empty for a path out of
    the root."""
    name = name.removeprefix("./").strip("/")
    parts = name.split("/")
    if ".." in parts or name == ".":
        return ""
    return f"usr/{name}" if parts[0] in root.MERGED and len(parts) > 1 else name


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _of_wheel(package: Package, path: Path, licences: dict[str, bytes]) -> dict[str, Entry]:
    entries = {}
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith("/") or ".data/" in name or not _place(name):
                continue
            content, base = wheel.read(name), Path(name).name
            if ".dist-info/" in name and base.upper().startswith(("LICEN", "COPYING", "NOTICE")):
                licences[f"python/{package.name}/{base}"] = content
            entries[f"{SITE}/{name}"] = Entry.file(content)
    return entries


def memory_mb(machine: Machine) -> int:
    """Return the additional memory of a guest: the archive, whose files are in its memory."""
    size = int(machine.files[NAME]["size"]) if NAME in machine.files else 0
    return math.ceil(size / memory.MEGABYTE / memory.STEP_MB) * memory.STEP_MB


def declared(additions: Additions) -> list[str]:
    """Return commands for a sealed guest that make the users and folders which programs need
    there."""
    lines = []
    for number, user in enumerate(additions.users, FIRST_ID):
        lines.append(f"echo {user}:x:{number}:{number}::/:/bin/false >>/etc/passwd")
        lines.append(f"echo {user}:x:{number}: >>/etc/group")
    for folder, user in additions.folder.items():
        place = shlex.quote(folder)
        lines.append(f"mkdir -p {place} && busybox chown {user}:{user} {place}")
    return lines
