# SPDX-License-Identifier: Apache-2.0
"""Assemble a machine from a checkout's parts: base, daemons and modules, and the lab's code.

``python -m hoplab.host.machine.assemble base`` makes the base from the lock, if it is missing, and
prints its name. Without the word, the machine is assembled. `current` also does that for a run, so
that changed code takes effect.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hoplab import __version__
from hoplab.host.machine import (
    addition,
    archive,
    cpio,
    kernel,
    modules,
    relock,
    root,
    sealed,
    store,
)
from hoplab.host.machine.archive import Package
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.sealed import Machine
from hoplab.model.errors import Damaged, HoplabError, MissingTool
from hoplab.model.layers import IN_GUEST
from hoplab.model.resources import BINARIES, KERNEL_BUILD, PACKAGE, PROJECT

HERE = Path(__file__).parent
LOCKS = PROJECT / "locks"
LOCK = LOCKS / "machine.lock"
ADDED_LOCK = LOCKS / "access-points.lock"
RECIPE = ("addition.py", "archive.py", "cpio.py", "root.py")
"""Inputs of the base beside its locks."""
INIT = "hoplab-init"
"""The first process of a guest."""
DAEMONS = (
    *("hoplab-medium", "hoplab-dsr", "hoplab-aodv", "hoplab-olsr", "hoplab-dsdv"),
    *("hoplab-split", "hoplab-traffic"),
    *(INIT, "libhoplab_waiting_select.so", "libhoplab_mptcp_socket.so"),
)
ENGINE = "hoplab-engine.o"
"""The medium and the routing daemons. The kernel's build expects it two folders above its own."""
ENGINE_LAYOUT = KERNEL_BUILD.with_name("engine.lds")
LINKED = (
    *("abi", "base", "wire", "linux", "records", "document", "medium-core", "channel"),
    "medium-kernel",
    *("dsr-core", "dsr-elfn", "dsr-split", "dsr", "split-core", "split", "station"),
    *("routing-core", "aodv-core", "olsr-core", "dsdv-core", "router"),
    *("traffic-core", "traffic", "dsr-kernel"),
)
"""Crates that are linked into the kernel."""
KEPT = 8
"""Machines of changed code that stay in the cache, each of 60 MB."""
KEPT_BASES = 3
"""Bases that stay, each of 100 MB. Another base is made again from the cached packages within
seconds."""


def lock(committed: Path) -> Path:
    """Return the lock that the base is made from: the committed lock, or its replacement."""
    instead = _instead(committed)
    return instead if instead.exists() else committed


def _instead(committed: Path) -> Path:
    """Return the path of the lock of the newest packages that replaces the committed one as it is
    now."""
    return PROJECT / "build" / f"{committed.stem}-{_digest([committed])}.lock"


def base_key() -> str:
    """Return the name of the base for this checkout's locks and recipe."""
    return _digest([lock(LOCK), lock(ADDED_LOCK), *(HERE / name for name in RECIPE)])


def _digest(paths: Iterable[Path]) -> str:
    sha = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        sha.update(f"{path.name} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()[:32]


def base_folder() -> Path:
    """Return the folder of the base's archive, list of packages and licences. It is in the cache,
    which checkouts share."""
    return store.cache() / "bases" / base_key()


def make_base() -> Path:
    """Return the base, which is built if it is missing."""
    target = base_folder()
    if (target / "base.cpio").exists():
        with contextlib.suppress(OSError):
            os.utime(target)
        return target
    with store.writing_to(store.cache()):
        store.cache().mkdir(parents=True, exist_ok=True)
    packages, added = _fetch(LOCK), _fetch(ADDED_LOCK)
    target = base_folder()
    with store.writing_to(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=target.parent) as name:
        work = Path(name)
        entries, licences = root.build(packages, work)
        made = work / "made"
        made.mkdir()
        (made / "base.cpio").write_bytes(cpio.dump(entries))
        (work / "added").mkdir()
        archived, more = addition.build(added, work / "added")
        (made / addition.NAME).write_bytes(archived)
        (work / "root").rename(made / "root")  # its interpreter compiles the lab
        listed = [vars(package) for package in [*packages, *added]]
        (made / "packages.json").write_text(json.dumps(listed), encoding="utf-8")
        for path, text in (more | licences).items():
            (made / "licences" / path).parent.mkdir(parents=True, exist_ok=True)
            (made / "licences" / path).write_bytes(text)
        if not target.exists():
            made.rename(target)
    with contextlib.suppress(OSError):
        os.utime(target)
        _prune_bases(target.parent)
    return target


def _prune_bases(bases: Path) -> None:
    """Remove the bases of recipes and locks that no checkout has used lately."""
    found = [path for path in bases.glob("*") if not path.name.startswith("new-")]
    found.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in found[KEPT_BASES:]:
        shutil.rmtree(path, ignore_errors=True)


def _fetch(committed: Path) -> dict[Package, Path]:
    """Return the lock's packages. If the archive has dropped them, the newest packages make another
    machine, whose hash says so. An outdated lock thus leaves the checkout usable."""
    cache = store.cache() / "packages"
    try:
        return archive.fetch(lock(committed), cache)
    except archive.Superseded as error:
        print(
            f"machine: {error}. Taking the newest instead: digests may differ from those of the "
            "locked machine",
            file=sys.stderr,
        )
    instead = _instead(committed)
    instead.parent.mkdir(exist_ok=True)
    relock.make(instead, committed.with_suffix(".packages"), LOCKS / "python.txt")
    return archive.fetch(instead, cache)


def lab_files() -> list[Path]:
    """Return the package's files for a guest: its layers that run there, and nothing else."""
    return sorted(
        path
        for layer in IN_GUEST
        for path in (PACKAGE / layer).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    )


def current() -> Machine:
    """Return the machine of this checkout as it is now."""
    parts = [*lab_files(), *sorted(HERE.glob("*.py")), *_kernel_sources()]
    key = hashlib.sha256(_digest(parts).encode())
    built = [make_base() / "base.cpio", kernel.path(), *kernel.modules()]
    built += [BINARIES / name for name in DAEMONS]
    for path in built:
        try:
            state = path.stat()
        except OSError:
            raise MissingTool(f"machine: {path} is not there; run 'make setup'") from None
        key.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    known = store.cache() / "assembled" / key.hexdigest()[:32]
    try:
        identity = known.read_text(encoding="ascii")
        store.hold(identity)
        machine = store.find(identity)
        os.utime(known)
        return machine
    except (OSError, MissingTool, Damaged):
        machine = _assemble()
        store.hold(machine.id)
    known.parent.mkdir(parents=True, exist_ok=True)
    # Two threads may assemble the same machine at once.
    partial = known.with_suffix(f".{os.getpid()}-{threading.get_native_id()}")
    partial.write_text(machine.id, encoding="ascii")
    partial.replace(known)
    with contextlib.suppress(OSError):  # two threads at once may remove the same machine
        _prune(known.parent)
    return machine


def _prune(assembled: Path) -> None:
    """Remove old machines of this and other checkouts that no process holds: every change of the
    code makes one."""
    notes = sorted(assembled.glob("*"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    kept: set[str] = set()
    for note in notes:
        identity = note.read_text(encoding="ascii")
        if identity in kept or len(kept) < KEPT:
            kept.add(identity)
        elif store.remove(identity):
            note.unlink()


def _assemble() -> Machine:
    base = base_folder()
    layers = [
        ("base", (base / "base.cpio").read_bytes()),
        ("daemons", cpio.dump(_daemons())),
        ("lab", cpio.dump(_lab(base))),
    ]
    with store.new_folder() as folder:
        with (folder / sealed.ROOT).open("wb") as file:
            for _, content in layers:
                file.write(content)
        _copy(base / addition.NAME, folder / addition.NAME)
        _copy(kernel.path(), folder / sealed.KERNEL, executable=True)
        for path in sorted((kernel.folder() / "modules").iterdir()):
            _copy(path, folder / "modules" / path.name)
        _copy(kernel.folder() / "config", folder / "kernel" / "config")
        for path in _kernel_sources():
            _copy(path, folder / "kernel" / "source" / path.relative_to(PROJECT / "kernel-modules"))
        _copy(kernel.LOCK, folder / "kernel" / "locks" / kernel.LOCK.name)
        # Its licence requires the source of all that is linked, and how it is linked.
        for path in _engine_sources():
            _copy(path, folder / "kernel" / "engine" / path.relative_to(PROJECT / "daemons"))
        _copy(BINARIES / ENGINE, folder / "kernel" / "build" / "bin" / ENGINE)
        shutil.copytree(base / "licences", folder / "licences")
        _copy(PROJECT / "LICENSE", folder / "licences" / "hoplab")
        _copy(PROJECT / "LICENSE-MIT", folder / "licences" / "hoplab-medium")
        _copy(PROJECT / "kernel-modules" / "COPYING", folder / "licences" / "linux")
        machine = store.adopt(folder, _describe(folder, layers, base))
        store.trust(machine)
        return machine


def _kernel_sources() -> list[Path]:
    """Return the inputs of the kernel and its modules beside the kernel's own source."""
    folder = PROJECT / "kernel-modules"
    modules = sorted([*folder.glob("*/*.[ch]"), *folder.glob("*/Kbuild")])
    parts = [KERNEL_BUILD, KERNEL_BUILD.with_name("series.toml"), ENGINE_LAYOUT]
    guest = [path for path in KERNEL_BUILD.parent.glob("*/*") if path.is_file()]
    return [*parts, *sorted(guest), *modules]


def _engine_sources() -> list[Path]:
    """Return the inputs of the medium in the kernel beside crates of others."""
    daemons = PROJECT / "daemons"
    crates = [path for name in LINKED for path in sorted((daemons / name).rglob("*"))]
    sources = [path for path in crates if path.suffix in (".rs", ".toml")]
    return [daemons / "Cargo.toml", daemons / "Cargo.lock", *sources]


def _copy(source: Path, target: Path, executable: bool = False) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if executable else 0o644)


def _daemons() -> dict[str, Entry]:
    entries = {}
    with tempfile.TemporaryDirectory(prefix="hoplab-strip-") as folder:
        for name in DAEMONS:
            stripped = Path(folder) / name
            strip = ["strip", "--strip-debug", "-o", str(stripped), str(BINARIES / name)]
            subprocess.run(strip, check=True)
            entries[f"usr/bin/{name}"] = Entry.file(stripped.read_bytes(), executable=True)
    entries["init"] = Entry.link(f"usr/bin/{INIT}")
    for module in kernel.modules():
        entries[f"usr/lib/modules/{module.name}"] = Entry.file(module.read_bytes())
    return entries


def _lab(base: Path) -> dict[str, Entry]:
    """This package's modules, compiled by the machine's interpreter."""
    with tempfile.TemporaryDirectory(prefix="hoplab-lab-") as name:
        tree = Path(name)
        for source in lab_files():
            _copy(source, tree / "hoplab" / source.relative_to(PROJECT))
        root.compile_python(base / "root", tree, ("hoplab",))
        (tree / modules.NAME).write_bytes(modules.gathered(base / "root", tree))
        return cpio.from_tree(tree)


def _describe(folder: Path, layers: list[tuple[str, bytes]], base: Path) -> dict[str, Any]:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            files[path.relative_to(folder).as_posix()] = {
                "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
    offset, described = 0, []
    for name, archived in layers:
        sha256 = hashlib.sha256(archived).hexdigest()
        size = len(archived)
        described.append({"name": name, "offset": offset, "size": size, "sha256": sha256})
        offset += size
    return {
        "format": sealed.FORMAT,
        "architecture": sealed.ARCHITECTURE,
        "hoplab": __version__,
        "files": files,
        "layers": described,
        "inputs": {"base": base_key(), "kernel": kernel.folder().name},
        "kernel": kernel.facts(),
        "packages": [
            *json.loads((base / "packages.json").read_text(encoding="utf-8")),
            *kernel.packages(),
            *_crates(),
        ],
    }


def _crates() -> list[dict[str, str]]:
    """Return the crates of the daemons."""
    lock = tomllib.loads((PROJECT / "daemons" / "Cargo.lock").read_text(encoding="utf-8"))
    return [
        {"kind": "crate", "name": p["name"], "version": p["version"], "sha256": p["checksum"]}
        for p in lock["package"]
        if "checksum" in p
    ]


def main(arguments: list[str]) -> int:
    try:
        if arguments == ["base"]:
            print(make_base().name)
        else:
            print(current().id)
    except HoplabError as error:
        print(f"machine: {error}", file=sys.stderr)
        return error.exit_status
    except subprocess.SubprocessError as error:
        print(f"machine: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
