# SPDX-License-Identifier: Apache-2.0
"""Machines with another kernel: one of the lock, or a user's own, by a name.

The kernel is a property of the machine, never of the scenario. Such a machine is this checkout's or
the installed one but for its kernel, that kernel's modules, and what ``machine.json`` says of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoplab.host.machine import archive, cpio, kernel, sealed, store
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.derived import derived
from hoplab.host.machine.sealed import KERNEL, ROOT, Machine
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.resources import IS_CHECKOUT, KERNEL_BUILD

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TAKEN = ("uml", "host")
ENGINE = "kernel/build/bin/hoplab-engine.o"
"""A machine's file with the medium, which its kernel is linked with."""
SOURCES = "kernel/source/guest/build"
MODULES = "usr/lib/modules/"
DOES_NOT_BUILD = 125
"""Status of the build if the source itself is at fault."""


class DoesNotBuild(MissingTool):
    """The kernel's source does not compile, or a patch does not fit it."""


@dataclass(frozen=True)
class Wanted:
    """A kernel to build: one of the lock or a folder, with a user's patches and options."""

    release: str | None = None
    source: Path | None = None
    patches: tuple[Path, ...] = ()
    options: tuple[Path, ...] = ()

    @property
    def called(self) -> str | None:
        """A name for it if the user gives none; None for the default kernel."""
        if self.patches or self.options:
            return (*self.patches, *self.options)[0].stem
        return self.source.resolve().name if self.source else self.release

    def arguments(self) -> list[str]:
        """Return the options of ``hoplab machine build`` and of the kernel's build alike."""
        words = [] if self.release is None else ["--kernel", self.release]
        words += [] if self.source is None else ["--source", str(self.source.resolve())]
        for option, paths in (("--patch", self.patches), ("--config", self.options)):
            for path in paths:
                words += [option, str(path.resolve())]
        return words


def build(own: Machine, wanted: Wanted, name: str, say: Callable[[str], None]) -> Machine:
    """Build a kernel, and return the machine ``own`` with it. Runs find it by ``name``.

    Raises `DoesNotBuild` if the source is at fault, `MissingTool` for another obstacle.
    """
    if NAME.fullmatch(name) is None or name in TAKEN:
        raise ScenarioError(
            f"--name: {name!r} is no name for a machine; expected letters, digits, '.', '_', '-', "
            f"and neither of {', '.join(TAKEN)}"
        )
    if wanted.release is not None and wanted.source is not None:
        raise ScenarioError(
            f"--kernel {wanted.release}, --source {wanted.source}: give one of them; a tree has a "
            "version of its own"
        )
    plain = wanted.release or default(own)
    if name in known(own) and (name != plain or wanted != Wanted(wanted.release)):
        raise ScenarioError(f"--name: {name} is a kernel of the lock; take another name")
    if wanted.source is None:
        release = wanted.release or default(own)
        if release not in known(own):
            raise ScenarioError(
                f"--kernel: {release} is not in the lock; one of: {', '.join(known(own))}"
            )
        # A package that cannot be had is no obstacle if its kernel was compiled before.
        with contextlib.suppress(archive.Superseded):
            source(own, release)
    result = _run([*_command(own), *wanted.arguments()], say)
    made = _with(own, result, name, wanted.arguments())
    if name not in known(own):
        record = {"result": str(result), "arguments": wanted.arguments()}
        with store.writing_to(_record(name).parent):
            _record(name).parent.mkdir(parents=True, exist_ok=True)
            _record(name).write_text(json.dumps(record), encoding="utf-8")
    return made


def named(own: Machine, name: str) -> Machine:
    """Return the machine ``own`` with the kernel that was built under ``name``. The default
    kernel's name is that of ``own`` itself. Raises `MissingTool` if there is none."""
    if name == default(own):
        return own
    if name in known(own):
        result = _locked(own, name)
        if not result.exists():
            raise MissingTool(
                f"machine {name}: is not built; run 'hoplab machine build --kernel {name}'"
            )
        return _with(own, result, name, ["--kernel", name])
    if NAME.fullmatch(name) is None or not _record(name).is_file():
        raise MissingTool(
            f"machine {name[:80]!r}: there is none of that name here; one of: "
            f"{', '.join(names(own))}; 'hoplab machine build' makes one"
        )
    record: dict[str, Any] = json.loads(_record(name).read_text(encoding="utf-8"))
    return _with(own, Path(record["result"]), name, record["arguments"])


class Machines:
    """A machine, and the same one with other kernels by their names, each looked up once."""

    def __init__(self, own: Machine) -> None:
        self.own = own
        self._found: dict[str, Machine] = {}

    def of(self, name: str | None) -> Machine:
        """Return the machine of a name, its files checked; ``own`` if there is none."""
        if name is None:
            return self.own
        if name not in self._found:
            machine = named(self.own, name)
            sealed.check(machine, store.stamps())
            self._found[name] = machine
        return self._found[name]


def names(own: Machine) -> list[str]:
    """Return the names that `named` knows: the lock's kernels that are built, then a user's."""
    first = default(own)
    locked = [name for name in known(own) if name == first or _locked(own, name).exists()]
    return [*locked, *sorted(path.stem for path in _record("x").parent.glob("*.json"))]


def known(own: Machine) -> list[str]:
    """Return the kernels of the lock."""
    found = [package.name for package in archive.read_lock(_lock(own))]
    return [name.removeprefix(kernel.SOURCE) for name in found]


def source(own: Machine, release: str) -> Path:
    """Return the package with the source of a kernel of the lock."""
    return kernel.fetch(release, _lock(own))


def unpack(own: Machine, release: str, folder: Path, parts: Sequence[str]) -> None:
    """Unpack files and folders of the source of a kernel of the lock into an empty folder."""
    source(own, release)
    words = ["--kernel", release, "--unpack", str(folder)]
    _run([*_command(own), *words, *(f"--part={part}" for part in parts)], lambda line: None)


def default(own: Machine) -> str:
    """Return the name of the kernel that runs take if none is named."""
    return kernel.default(_build(own).with_name("series.toml"))


def _locked(own: Machine, name: str) -> Path:
    """Return the folder of a kernel of the lock, which may not be there."""
    return _run([*_command(own), "--kernel", name, "--print-path"], lambda line: None)


def _record(name: str) -> Path:
    return store.cache() / "named" / f"{name}.json"


def _build(own: Machine) -> Path:
    """Return the program that builds kernels: the checkout's, or that of an installed machine."""
    return KERNEL_BUILD if IS_CHECKOUT else own.folder / SOURCES


def _lock(own: Machine) -> Path:
    return kernel.LOCK if IS_CHECKOUT else own.folder / "kernel" / "locks" / kernel.LOCK.name


def _command(own: Machine) -> list[str]:
    return [sys.executable, str(_build(own))]


def _run(command: list[str], say: Callable[[str], None]) -> Path:
    """Run the build, and hand its lines to ``say``, but for a last one that is its complaint. If
    the caller is interrupted, the build ends with all compilers, and removes what is half built."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        last = ""
        try:
            for line in process.stderr:
                if last:
                    say(last)
                last = line.rstrip()
            result = process.stdout.read().strip()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode == DOES_NOT_BUILD:
        raise DoesNotBuild(last)
    if process.returncode != 0:
        raise MissingTool(last or "guest kernel: its build ended without a word")
    if last:
        say(last)
    return Path(result)


def _with(own: Machine, result: Path, name: str, arguments: list[str]) -> Machine:
    """Return ``own`` with the kernel in the folder ``result``. It is made if it is missing."""
    again = shlex.join(["hoplab", "machine", "build", *arguments, "--name", name])
    try:
        facts = json.loads((result / "kernel.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise MissingTool(f"machine {name}: its kernel is not there any more; '{again}'") from None
    if own.files.get(ENGINE, {}).get("sha256") != facts["engine"]:
        raise MissingTool(
            f"machine {name}: its kernel has the medium of another version of hoplab; '{again}'"
        )
    return derived("kernelled", own, result.name, Path(__file__), lambda: _made(own, result, facts))


def _made(own: Machine, result: Path, facts: dict[str, Any]) -> Machine:
    new = {KERNEL: result / "linux", "kernel/config": result / "config"}
    for part, below in (("modules", "modules"), ("own", "kernel/own")):
        for path in sorted((result / part).glob("*")):
            new[f"{below}/{path.name}"] = path
    folders = ("modules/", "kernel/own/")
    with store.new_folder() as folder:
        for name in own.files:
            if name != ROOT and name not in new and not name.startswith(folders):
                _copy(own.folder / name, folder / name)
        for name, path in new.items():
            _copy(path, folder / name)
        (folder / KERNEL).chmod(0o755)
        layers, described, offset = [], [], 0
        for layer in own.description["layers"]:
            content = own.layer(layer["name"])
            if layer["name"] == "daemons":
                content = _with_modules(content, result)
            digest = hashlib.sha256(content).hexdigest()
            size = len(content)
            described.append(
                {"name": layer["name"], "offset": offset, "size": size, "sha256": digest}
            )
            layers.append(content)
            offset += size
        (folder / ROOT).write_bytes(b"".join(layers))
        kept = [p for p in own.description["packages"] if p["kind"] not in ("kernel", "compiler")]
        description = {
            **own.description,
            "files": _files(folder),
            "layers": described,
            "inputs": {**own.description.get("inputs", {}), "kernel": result.name},
            "kernel": facts,
            "packages": [*kept, *kernel.packages(result)],
        }
        made = store.adopt(folder, description)
    if store.is_trusted(own):
        store.trust(made)
    return made


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _with_modules(layer: bytes, result: Path) -> bytes:
    entries = {n: e for n, e in cpio.load(layer) if not n.startswith(MODULES)}
    for path in sorted((result / "modules").glob("*.ko")):
        entries[MODULES + path.name] = Entry.file(path.read_bytes())
    return cpio.dump(entries)


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest = archive.sha256_of(path)
            files[path.relative_to(folder).as_posix()] = {
                "size": path.stat().st_size,
                "sha256": digest,
            }
    return files
