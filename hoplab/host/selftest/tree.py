# SPDX-License-Identifier: Apache-2.0
"""A kernel's tree as the source of tests, and a copy of what their build needs of it.

The copy stays in the cache and follows the tree by the files that changed, so that ``make``
compiles no others. The tree itself is never written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import kernels, private, store
from hoplab.host.machine.sealed import Machine
from hoplab.model import reading
from hoplab.model.errors import ScenarioError

SELFTESTS = Path("tools/testing/selftests")
PARTS = ("Makefile", "Kbuild", "Kconfig", "arch/Kconfig", "arch/x86", "include", "scripts", "usr")
"""What the build of tests needs of a tree beside ``tools``: its headers for programs."""
KEPT = 3
"""Copies of folders that stay, each of up to 300 MB. Those of the lock's kernels all stay."""
OF_FOLDER = "tree-"
COLLECTION = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")


@dataclass(frozen=True)
class Tree:
    """A kernel of the lock by its ``release``, or a user's ``folder``."""

    release: str | None
    folder: Path | None

    @property
    def name(self) -> str:
        return self.release or str(self.folder)


def named(word: str, own: Machine) -> Tree:
    """Return the tree that a user's word names: a kernel of the lock, or a folder.

    Raises `ScenarioError` for what has no tests of a kernel.
    """
    if word in kernels.known(own):
        return Tree(word, None)
    folder = Path(word)
    if not (folder / SELFTESTS / "Makefile").is_file():
        raise ScenarioError(
            f"TREE: {word} is no kernel's tree: it has no {SELFTESTS}/Makefile; expected a folder, "
            f"or a kernel of the lock: {', '.join(kernels.known(own))}"
        )
    return Tree(None, folder.resolve())


@contextlib.contextmanager
def copied(tree: Tree, own: Machine) -> Iterator[Path]:
    """Yield the copy of a tree, which belongs to the caller alone meanwhile."""
    place = store.cache() / "selftests"
    with store.writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        if tree.release is not None:
            deb = kernels.source(own, tree.release)
            copy = place / f"{tree.release}-{deb.name[:16]}"
        else:
            key = hashlib.sha256(os.fsencode(str(tree.folder))).hexdigest()[:16]
            copy = place / f"{OF_FOLDER}{key}"
        descriptor = private.lock(_beside(copy, "lock"), wait=True)
        assert descriptor is not None
        try:
            if tree.release is None:
                assert tree.folder is not None
                follow(tree.folder, copy)
            elif not copy.is_dir():
                _unpack(tree.release, own, copy)
            os.utime(copy)
            yield copy
        finally:
            os.close(descriptor)
        _prune(place)


def collections(copy: Path) -> list[str]:
    """Return the collections of tests of a tree: folders with a Makefile of tests."""
    top = copy / SELFTESTS
    found = [path.parent for path in top.glob("*/**/Makefile")]
    return sorted(
        path.relative_to(top).as_posix()
        for path in found
        if "lib.mk" in (path / "Makefile").read_text(encoding="utf-8", errors="replace")
    )


def require_collection(copy: Path, collection: str) -> None:
    """Raise `ScenarioError` if the tree has no such collection; it names those that it has."""
    there = collections(copy)
    if COLLECTION.fullmatch(collection) and collection in there:
        return
    top = sorted({name.partition("/")[0] for name in there})
    near = [name for name in there if name.startswith(collection.partition("/")[0] + "/")]
    raise ScenarioError(
        f"COLLECTION: {collection!r} is none of this tree; one of: {', '.join(near or top)}"
    )


def follow(tree: Path, copy: Path) -> None:
    """Bring a copy to a tree as it stands: files with another size or date are copied again."""
    files = {name for name in _files(tree) if os.path.lexists(tree / name)}
    before = _beside(copy, "files")
    known = set(before.read_text(encoding="utf-8").splitlines()) if before.is_file() else set()
    for name in sorted(known - files):
        (copy / name).unlink(missing_ok=True)
    for name in sorted(files):
        source, target = tree / name, copy / name
        if not _same(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    copy.mkdir(exist_ok=True)
    before.write_text("\n".join(sorted(files)), encoding="utf-8")


def _same(source: Path, target: Path) -> bool:
    try:
        one, other = source.lstat(), target.lstat()
    except OSError:
        return False
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _files(tree: Path) -> list[str]:
    """Return the tree's own files: what a build left there is compiled for another root."""
    parts = [part for part in (*PARTS, "tools") if (tree / part).exists()]
    if (tree / ".git").exists() and shutil.which("git"):
        listing = ["git", "-C", str(tree), "ls-files", "-z", "-co", "--exclude-standard", "--"]
        done = subprocess.run([*listing, *parts], capture_output=True)
        if done.returncode == 0:
            return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    found = [tree / part for part in parts if (tree / part).is_file()]
    for part in parts:
        for parent, folders, names in os.walk(tree / part):
            found += [Path(parent, name) for name in names]
            found += [Path(parent, name) for name in folders if Path(parent, name).is_symlink()]
    kept = [p for p in found if p.is_symlink() or (p.is_file() and not _is_object(p))]
    return [path.relative_to(tree).as_posix() for path in kept]


def _is_object(path: Path) -> bool:
    with reading.opened(path) as file:
        return file.read(4) == b"\x7fELF"


def _unpack(release: str, own: Machine, copy: Path) -> None:
    new = _beside(copy, "new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    kernels.unpack(own, release, new, (*PARTS, "tools"))
    new.rename(copy)


def _prune(place: Path) -> None:
    found = [path for path in place.glob(f"{OF_FOLDER}*") if path.is_dir()]
    found.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for old in found[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
        _beside(old, "files").unlink(missing_ok=True)


def _beside(copy: Path, what: str) -> Path:
    return copy.with_name(f"{copy.name}.{what}")
