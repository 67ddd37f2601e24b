# SPDX-License-Identifier: Apache-2.0
"""A machine: the kernel, its modules, and a root with every program that runs start, by hash.

A machine is a folder:

    machine.json    what it is: files with their hashes, layers of the root, packages, versions
    linux           the guest's kernel
    root.cpio       the root: layers one after the other, which the kernel unpacks into its memory
    access-points.cpio  what the root of a run with access points has beside that
    modules/        the TCP modules, which the root has too, and a modprobe's lists of all there are
    kernel/         configuration and patches, and how to build it again
    licences/       of everything in it

Its identity is SHA-256 over ``machine.json``, which names every other file's SHA-256. Nothing of
the host is in a guest that boots it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hoplab.host.machine.description import (
    ARCHITECTURE,
    DESCRIPTION,
    FORMAT,
    KERNEL,
    NAME,
    ROOT,
    parse,
)
from hoplab.model import reading
from hoplab.model.errors import Damaged, MissingTool

__all__ = ["ARCHITECTURE", "DESCRIPTION", "FORMAT", "KERNEL", "NAME", "ROOT", "Machine", "parse"]

SHORT = 16
"""Digits of an identity, or of a run's key, in messages and names of folders."""
LARGEST_DESCRIPTION_BYTES = 2 << 20


@dataclass(frozen=True)
class Machine:
    """A machine on this host. ``description`` is the content of its ``machine.json``."""

    folder: Path
    id: str
    description: Mapping[str, Any] = field(repr=False)

    @property
    def kernel(self) -> Path:
        return self.folder / KERNEL

    @property
    def root(self) -> Path:
        return self.folder / ROOT

    @property
    def files(self) -> Mapping[str, Mapping[str, Any]]:
        files: Mapping[str, Mapping[str, Any]] = self.description["files"]
        return files

    def packages(self) -> list[str]:
        """``KIND NAME VERSION`` of every package of others."""
        return [f"{p['kind']} {p['name']} {p['version']}" for p in self.description["packages"]]

    def layer(self, name: str) -> bytes:
        """The archive of one layer of the root."""
        with self.root.open("rb") as file:
            for layer in self.description["layers"]:
                if layer["name"] == name:
                    file.seek(layer["offset"])
                    return file.read(layer["size"])
        raise Damaged(f"machine {self.id[:SHORT]}: has no layer {name}")


def identity(description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a description, whatever its layout."""
    canonical = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def load(folder: Path) -> Machine:
    """Return the machine in ``folder``; `check` examines its files."""
    text = reading.read_bytes(
        folder / DESCRIPTION, LARGEST_DESCRIPTION_BYTES, "a machine's folder", MissingTool
    )
    description = parse(text, folder)
    return Machine(folder, identity(description), description)


def check(machine: Machine, stamps: Path) -> None:
    """Raise `Damaged` if kernel or root do not match the identity.

    A file that was right is not read again, if size, times and inode show no change since. The
    folder ``stamps`` holds these records.
    """
    state = [_state(machine.folder / name, machine) for name in (KERNEL, ROOT)]
    key = hashlib.sha256(str(machine.folder.resolve()).encode()).hexdigest()[:32]
    stamp = stamps / key
    word = json.dumps([machine.id, state])
    try:
        if stamp.read_text(encoding="utf-8") == word:
            return
    except OSError:
        pass
    for name in machine.files:
        check_file(machine, name)
    try:
        stamps.mkdir(parents=True, exist_ok=True)
        partial = stamps / f"{key}.{os.getpid()}"
        partial.write_text(word, encoding="utf-8")
        partial.replace(stamp)
    except OSError:
        pass  # it is then read again next time


def _state(path: Path, machine: Machine) -> list[int]:
    try:
        found = path.stat()
    except OSError as error:
        raise Damaged(
            f"machine {machine.id[:SHORT]}: {path}: {error.strerror}; remove its folder, then "
            "'make setup' or 'hoplab machine unpack FILE'"
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise Damaged(f"machine {machine.id[:SHORT]}: {path}: is no regular file")
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def check_file(machine: Machine, name: str) -> None:
    """Raise `Damaged` unless the file's bytes match the identity."""
    _state(machine.folder / name, machine)
    try:
        with (machine.folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Damaged(f"machine {machine.id[:SHORT]}: {name}: {error.strerror}") from None
    if found != machine.files[name]["sha256"]:
        raise Damaged(
            f"machine {machine.id[:SHORT]}: {name} in {machine.folder} was changed; remove the "
            "folder, then 'make setup' or 'hoplab machine unpack FILE'"
        )
