# SPDX-License-Identifier: GPL-2.0-only
"""The cache of kernels, by what they are made from.

Its folders:

    HASH/              a packaged kernel's tree, compiled, without objects
    HASH-MODULES/      kernel, configuration and modules, linked with an engine
    own/KEY/           the build folder of a user's tree, or of a packaged kernel with the user's
                       patches or options
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from building import GUEST, Failed, Refused, compiled, finished, locks, series, source
from building.laid import Folder
from building.series import Patched, Series
from building.source import Package, Source, Tree

CHECKS = GUEST / "checks"
RECIPE = Path(compiled.__file__)
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "depmod": "kmod",
    "strip": "binutils",
}
OWN_KEPT = 3
"""Build folders that stay, each of some 3 GB."""


def cache() -> Path:
    """Return the user's cache, as `hoplab.host.machine.store` does."""
    for variable, below in (("HOPLAB_CACHE", ""), ("XDG_CACHE_HOME", "hoplab")):
        if os.environ.get(variable):
            return Path(os.environ[variable], below)
    try:
        home = Path.home()
    except RuntimeError:
        raise Refused(
            f"no place for the kernel: user {os.getuid()} has no home folder; set HOME or "
            "HOPLAB_CACHE"
        ) from None
    return home / ".cache" / "hoplab"


@dataclass(frozen=True)
class Wanted:
    """A kernel to build: its source, and a user's own patches and options."""

    source: Source
    patches: tuple[Path, ...] = ()
    options: tuple[Path, ...] = ()

    @property
    def is_own(self) -> bool:
        return isinstance(self.source, Tree) or bool(self.patches or self.options)

    def kept(self) -> dict[str, Path]:
        """Return the user's patches and options, by names that a machine's files may have."""
        found: dict[str, Path] = {}
        for path in (*self.patches, *self.options):
            name = re.sub(r"[^A-Za-z0-9._+-]", "_", path.name).lstrip(".")[:100] or "own"
            found[name if name not in found else f"{len(found)}-{name}"] = path
        return found


def _digest(first: str, paths: Iterable[Path], length: int) -> str:
    sha = hashlib.sha256(first.encode())
    for path in paths:
        sha.update(path.read_bytes())
    return sha.hexdigest()[:length]


class Kernel:
    """One kernel in the cache."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.series: Series = series.read()
        self.place = cache() / "kernel"
        self._fragments = [*self.series.fragments(wanted.source.release), *_checks()]

    def hash(self, patches: Sequence[series.Patch]) -> str:
        """Return the name of what these patches make of the source. It depends on the part of the
        build that compiles, so a changed module or last step costs seconds, not another kernel."""
        files = [RECIPE, compiled.COMPILER, compiled.COMMON, *self._fragments, *self.wanted.options]
        files += [*(patch.file for patch in patches), *compiled.own_files().values()]
        return _digest(self.wanted.source.identity, files, 16)

    def result(self, patches: Sequence[series.Patch]) -> Path:
        """Return the folder of the result."""
        if not finished.ENGINE.exists():
            raise Refused(f"{finished.ENGINE} is not there; run 'make setup'")
        return self.place / f"{self.hash(patches)}-{_digest('', finished.sources(), 8)}"

    def packaged(self) -> list[series.Patch]:
        """Return the patches of a package's kernel, all of which apply."""
        return self.series.patches(self.wanted.source.release)

    def tree(self) -> Path:
        """Return the folder of a package's kernel, compiled and not linked."""
        return self.place / self.hash(self.packaged())

    def compiled(self) -> Path:
        """Return `tree`, which is made if it is missing. The engine need not be there yet."""
        tree = self.tree()
        if not (tree / "linux").exists():
            require_tools()
            self._compile_packaged(tree)
        return tree

    def build(self) -> Path:
        """Return the result's folder; what is missing is made."""
        if not self.wanted.is_own:
            result = self.result(self.packaged())
            if not (result / "linux").exists():
                self._build_packaged(result)
            return result
        return self._build_own()

    def _build_packaged(self, result: Path) -> None:
        require_tools()
        tree = self.compiled()
        # To link waits for nobody who compiles another kernel.
        with _locked(self.place / "finish.lock"):
            self._finish(tree, result, self.packaged(), {})

    def _compile_packaged(self, tree: Path) -> None:
        assert isinstance(self.wanted.source, Package)
        with _locked(self.place / "lock"):
            if not (tree / "linux").exists():
                with _new_folder(self.place, "build-") as work:
                    say(f"unpacking {self.wanted.source.version}")
                    self.wanted.source.unpack(work)
                    found = series.patched(
                        self.series, self.wanted.source.release, _reader(work), whole=True
                    )
                    for name, content in found.content.items():
                        (work / name).parent.mkdir(parents=True, exist_ok=True)
                        (work / name).write_bytes(content or b"")
                    for place, path in compiled.own_files().items():
                        (work / place).parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(path, work / place)
                    self._compile(work)
                    compiled.drop_objects(work)
                    _drop_folders(work)
                    shutil.rmtree(tree, ignore_errors=True)
                    work.rename(tree)

    def _build_own(self) -> Path:
        wanted, key = self.wanted, self.wanted.source.about["name"]
        if isinstance(wanted.source, Tree):
            where = hashlib.sha256(os.fsencode(wanted.source.folder)).hexdigest()[:8]
            key = f"{key}-{where}"
        require_tools()
        folder = Folder(self.place / "own" / key)
        with _locked(self.place / "own" / f"{key}.lock"):
            found = folder.follow(wanted.source, self.series, list(wanted.patches))
            for tier, why in found.left_out.items():
                say(f"without tier {tier}: {why}")
            result = self.result(found.patches)
            if not (result / "linux").exists():
                for place, path in compiled.own_files().items():
                    folder.put(place, path.read_bytes())
                with folder.compiling():
                    self._compile(folder.place)
                self._finish(folder.place, result, found.patches, found.left_out)
            os.utime(folder.place)
        _prune(self.place / "own")
        return result

    def _compile(self, tree: Path) -> None:
        compiled.configure(tree, self._fragments, self.wanted.options)
        say("compiling")
        log = self.place / "build.log"
        try:
            compiled.compile_kernel(tree, tree / "build.log")
        except Failed as failed:
            shutil.copyfile(tree / "build.log", log)
            raise Failed(f"{failed}; {log} has the rest") from None

    def _finish(
        self,
        tree: Path,
        result: Path,
        patches: Sequence[series.Patch],
        left_out: dict[str, str],
    ) -> None:
        with _new_folder(self.place, "stage-") as staging:
            finished.finish(tree, staging, self._facts(patches, left_out))
            if self.wanted.is_own:
                self._keep_sources(staging / "own")
            shutil.rmtree(result, ignore_errors=True)
            staging.rename(result)

    def _facts(self, patches: Sequence[series.Patch], left_out: dict[str, str]) -> dict[str, Any]:
        applied = Patched(list(patches), left_out, {})
        with finished.ENGINE.open("rb") as file:
            engine = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "version": self.wanted.source.version,
            "source": self.wanted.source.about,
            "tiers": applied.tiers,
            "without": left_out,
            "patches": [patch.file.name for patch in patches if patch.tier],
            "own": list(self.wanted.kept()),
            "engine": engine,
        }

    def _keep_sources(self, folder: Path) -> None:
        """Keep a user's patches and options, and a tree's difference from its commit.

        They serve to build the kernel again, and its licence asks for its source.
        """
        folder.mkdir()
        for name, path in self.wanted.kept().items():
            shutil.copyfile(path, folder / name)
        tree = self.wanted.source
        if isinstance(tree, Tree) and "commit" in tree.about:
            git = ["git", "-C", str(tree.folder), "diff", "--binary", "HEAD"]
            done = subprocess.run(git, capture_output=True)
            (folder / "tree.diff").write_bytes(done.stdout)


def say(line: str) -> None:
    print(f"guest kernel: {line}", file=sys.stderr, flush=True)


def require_tools() -> None:
    for tool, package in TOOLS.items():
        source.require(tool, package)


def _checks() -> list[Path]:
    """Return the options of a kernel that watches itself: HOPLAB_KERNEL_CHECKS=lockdep or kasan."""
    name = os.environ.get("HOPLAB_KERNEL_CHECKS")
    if not name:
        return []
    known = {path.stem: path for path in sorted(CHECKS.glob("*.config"))}
    if name not in known:
        raise Refused(f"HOPLAB_KERNEL_CHECKS={name} is not known; one of: {' '.join(known)}")
    if name == "kasan":
        # What is compiled of User-Mode Linux into every program's memory has no shadow there.
        for stub in ("stub.o", "stub_segv.o"):
            os.environ[f"KASAN_SANITIZE_{stub}"] = "n"
    return [known[name]]


def _reader(work: Path) -> Any:
    def original(path: str) -> bytes | None:
        return (work / path).read_bytes() if (work / path).is_file() else None

    return original


def _drop_folders(tree: Path) -> None:
    """Remove folders that modules out of the tree do not need."""
    for name in ("Documentation", "drivers", "sound", "fs", "tools/testing", "samples"):
        shutil.rmtree(tree / name, ignore_errors=True)
    for path in (tree / "arch").iterdir():
        if path.name not in ("um", "x86") and path.is_dir() and path.name[0] != "u":
            shutil.rmtree(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waits for another build of this kernel")
            fcntl.flock(file, fcntl.LOCK_EX)
        locks.append(file.fileno())
        try:
            yield
        finally:
            locks.remove(file.fileno())


@contextlib.contextmanager
def _new_folder(place: Path, prefix: str) -> Iterator[Path]:
    """Make a folder that is removed unless it is moved. What a build did not end is never taken,
    and folders of builds that were killed are removed."""
    with contextlib.ExitStack() as stack:
        with (place / "new.lock").open("w") as steady:
            # Nobody sees a folder that its owner has not claimed yet.
            fcntl.flock(steady, fcntl.LOCK_EX)
            for old in place.glob(f"{prefix}*"):
                with contextlib.suppress(BlockingIOError), contextlib.ExitStack() as claims:
                    claims.callback(os.close, _claim(old))
                    shutil.rmtree(old, ignore_errors=True)
            path = Path(tempfile.mkdtemp(dir=place, prefix=prefix))
            stack.callback(os.close, _claim(path))
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        yield path


def _claim(folder: Path) -> int:
    """Return a descriptor that claims a folder. Raises `BlockingIOError` if it is another's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


def _prune(own: Path) -> None:
    """Remove build folders that were not used lately."""
    found = [p for p in own.iterdir() if p.is_dir() and p.suffix not in (".pristine", ".new")]
    found.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in found[OWN_KEPT:]:
        for old in (path, path.with_name(f"{path.name}.pristine")):
            shutil.rmtree(old, ignore_errors=True)
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)
