# SPDX-License-Identifier: GPL-2.0-only
"""Where a kernel's source comes from: a package of the lock, or a user's own tree as it stands."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from building import GUEST, Refused
from building.series import Version, version

LOCK = GUEST.parent.parent / "locks" / "kernels.lock"
"""Beside a checkout's and an unpacked machine's sources alike."""
PREFIX = "linux-source-"
NUMBERS = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(.*)$", re.MULTILINE)
UNTAR = "tar -x --strip-components=1 -J -C"
BUILT = re.compile(
    r".*\.(o|a|ko|mod|mod\.c|cmd|order|symvers)|\.config(\.old)?|vmlinux.*|linux|System\.map|"
    r"include/(config|generated)/.*|arch/[^/]+/include/generated/.*|\.git/.*"
)
"""Files of a tree without git that a build left there."""


@dataclass(frozen=True)
class Source:
    """A kernel's source. ``identity`` names its content, ``about`` says the same for people."""

    release: Version
    version: str
    identity: str
    about: dict[str, str]


@dataclass(frozen=True)
class Package(Source):
    """The source in a Debian package with this SHA-256, which ``deb`` must be."""

    name: str
    sha256: str
    deb: Path

    def checked(self) -> Path:
        """Return the package. Raises `Refused` if it is missing or another."""
        if not self.deb.is_file():
            raise Refused(
                f"{self.name} {self.version}: is not in {self.deb.parent}; run 'make setup' or "
                f"'hoplab machine build', or name the package with --deb"
            )
        with self.deb.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise Refused(
                f"{self.deb}: has not the SHA-256 {self.sha256[:16]}… of {self.name} "
                f"{self.version} in {LOCK.name}; remove it"
            )
        return self.deb

    def unpack(self, target: Path, parts: Sequence[str] = ()) -> None:
        """Unpack the source, or only files and folders of it, into an empty folder."""
        inner = f"./usr/src/{self.name}.tar.xz"
        for tool, package in (("ar", "binutils"), ("xz", "xz-utils"), ("tar", "tar")):
            require(tool, package)
        with (
            subprocess.Popen(
                ["ar", "p", str(self.checked()), "data.tar.xz"], stdout=subprocess.PIPE
            ) as ar,
            subprocess.Popen(
                ["tar", "-xJO", inner], stdin=ar.stdout, stdout=subprocess.PIPE
            ) as outer,
        ):
            members = [f"{self.name}/{part}" for part in parts]
            done = subprocess.run([*UNTAR.split(), str(target), *members], stdin=outer.stdout)
        if done.returncode or ar.returncode or outer.returncode:
            raise Refused(f"{self.deb}: cannot be unpacked into {target}; is the disk full?")


@dataclass(frozen=True)
class Tree(Source):
    """A folder with a kernel's source. ``files`` has each file's hash by its path."""

    folder: Path
    files: Mapping[str, str] = field(repr=False)

    def original(self, path: str) -> bytes | None:
        return (self.folder / path).read_bytes() if path in self.files else None


def require(tool: str, package: str) -> None:
    """Raise `Refused` if the host lacks a tool."""
    if shutil.which(tool) is None:
        raise Refused(f"{tool} is missing; install it with 'apt-get install {package}'")


def locked(lock: Path = LOCK) -> dict[str, tuple[str, str]]:
    """Return version and SHA-256 of each kernel's package of the lock, by the kernel's name."""
    found = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"deb {PREFIX}"):
            _, name, package_version, sha256 = line.split()
            found[name.removeprefix(PREFIX)] = package_version, sha256
    return found


def package(name: str, packages: Path, deb: Path | None = None) -> Package:
    """Return the locked source of a kernel such as ``6.12``, in the cache ``packages``."""
    known = locked()
    if name not in known:
        raise Refused(f"--kernel: {name} is not in {LOCK.name}; one of: {', '.join(known)}")
    package_version, sha256 = known[name]
    about = {"kind": "package", "name": PREFIX + name, "version": package_version, "sha256": sha256}
    return Package(
        version(name),
        package_version,
        f"{PREFIX}{name} {package_version} {sha256}",
        about,
        PREFIX + name,
        sha256,
        deb or packages / sha256,
    )


def tree(folder: Path, oldest: Version) -> Tree:
    """Return a user's tree as it stands now. Raises `Refused` for what is no tree of a kernel that
    is new enough and that User-Mode Linux on x86_64 is part of."""
    makefile = folder / "Makefile"
    if not folder.is_dir():
        raise Refused(f"--source: {folder} is no folder; name that of a kernel's source")
    numbers = {key: value.strip() for key, value in NUMBERS.findall(_text(makefile))}
    if not {"VERSION", "PATCHLEVEL"} <= numbers.keys():
        raise Refused(
            f"--source: {folder} is no kernel's source: it has no Makefile with a VERSION"
        )
    whole = ".".join(numbers.get(key) or "0" for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    if re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", whole, re.ASCII) is None:
        raise Refused(
            f"--source: {folder}: the Makefile's version is {whole[:40]!r}; expected numbers, as "
            "in VERSION = 6"
        )
    release = version(whole)
    if release < oldest:
        raise Refused(
            f"--source: {folder} is kernel {whole}; {oldest[0]}.{oldest[1]} is the oldest that has "
            "patches"
        )
    if not (folder / "Kconfig").is_file():
        raise Refused(f"--source: {folder} has no Kconfig; take a whole tree of kernel {whole}")
    if not (folder / "arch" / "um").is_dir() or not (folder / "arch" / "x86" / "um").is_dir():
        raise Refused(
            f"--source: {folder} has no User-Mode Linux for x86 (arch/um, arch/x86/um); take a "
            "whole tree"
        )
    identity, about, files = _of_git(folder) or _of_files(folder)
    number = whole + numbers.get("EXTRAVERSION", "")
    return Tree(release, number, identity, about, folder, files)


def _text(path: Path) -> str:
    """Return a file's text; nothing of what is no regular file, which may have its reader wait."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def _of_git(folder: Path) -> tuple[str, dict[str, str], dict[str, str]] | None:
    """Return git's tree of the folder as it stands, committed or not. None if the folder is not the
    top of a repository. The user's index and objects stay as they are."""
    if shutil.which("git") is None or not (folder / ".git").exists():
        return None
    git = ["git", "-C", str(folder), "-c", "core.fsmonitor=false"]
    with tempfile.TemporaryDirectory(prefix="hoplab-index-") as name:
        places = _git([*git, "rev-parse", "--path-format=absolute", "--git-path", "objects"])
        index = Path(_git([*git, "rev-parse", "--path-format=absolute", "--git-path", "index"]))
        environment = {
            **os.environ,
            "GIT_INDEX_FILE": f"{name}/index",
            "GIT_OBJECT_DIRECTORY": name,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": places,
        }
        if index.exists():
            shutil.copy2(index, f"{name}/index")
        _git([*git, "add", "--all"], environment)
        identity = _git([*git, "write-tree"], environment)
        listing = _git([*git, "ls-tree", "-r", "-z", identity], environment)
    files = {}
    for row in filter(None, listing.split("\0")):
        what, path = row.split("\t", 1)
        mode, kind, sha = what.split()
        if kind == "blob":
            files[path] = f"{mode} {sha}"
    if "Makefile" not in files:
        raise Refused(f"--source: git ignores {folder}'s Makefile; look at its .gitignore")
    head = subprocess.run([*git, "rev-parse", "-q", "--verify", "HEAD"], capture_output=True)
    about = {"kind": "tree", "name": _word(folder.name), "sha256": f"git:{identity}"}
    if head.returncode == 0:
        about["commit"] = head.stdout.decode().strip()
    return f"git {identity}", about, files


def _git(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, env=environment)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
        raise Refused(f"--source: git {command[5]}: {said[0]}")
    return done.stdout.decode(errors="surrogateescape").rstrip("\n")


def _of_files(folder: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return a hash over all files but those that a build leaves."""
    files = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        base = os.path.relpath(parent, folder)
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted([*names, *links]):
            path = name if base == "." else f"{base}/{name}"
            if not BUILT.fullmatch(path):
                files[path] = _hash(Path(parent, name))
    sha = hashlib.sha256("\n".join(f"{path} {files[path]}" for path in sorted(files)).encode())
    identity = sha.hexdigest()
    about = {"kind": "tree", "name": _word(folder.name), "sha256": identity}
    return f"files {identity}", about, files


def _word(name: str) -> str:
    """Return a name as one word of ASCII."""
    return re.sub(r"[^!-~]", "_", name)[:100] or "tree"


def _hash(path: Path) -> str:
    """Return mode and hash of a file or a link."""
    if path.is_symlink():
        return f"120000 {hashlib.sha256(os.fsencode(path.readlink())).hexdigest()}"
    about = path.stat().st_mode
    if not stat.S_ISREG(about):  # a pipe or a device may have its reader wait
        raise Refused(f"--source: {path} is no regular file; remove it from the tree")
    mode = "100755" if about & stat.S_IXUSR else "100644"
    with path.open("rb") as file:
        return f"{mode} {hashlib.file_digest(file, 'sha256').hexdigest()}"
