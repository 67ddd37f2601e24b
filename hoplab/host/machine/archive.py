# SPDX-License-Identifier: Apache-2.0
"""The packages that a machine is made of: locked by version and SHA-256, fetched by Debian's and
Python's own downloaders, kept in the cache.

A private apt configuration fetches them, so that any Debian or Ubuntu builds the same root and
nothing needs root's rights. A lock's line is ``KIND NAME VERSION SHA256``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.errors import MissingTool

RELEASE = "bookworm"
SUITES = (RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security")
"""Debian's suites for a lock that names none."""
PYTHON = "3.11"
"""The machine's own interpreter, whatever the host has."""
MIRROR = "http://deb.debian.org"
SNAPSHOT = "http://snapshot.debian.org/archive"
"""Every version that Debian ever had; asked where the archive has moved on."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DATE = re.compile(r"# archive of (\d{8}T\d{6}Z)")
NAMED_SUITES = re.compile(r"^# suites ([a-z -]+)$", re.MULTILINE)
RELOCK = "make the lock again with 'scripts/lock', or name a machine in HOPLAB_MACHINE"


class Superseded(MissingTool):
    """The archive has newer packages than the lock, and older ones cannot be had."""


@dataclass(frozen=True)
class Package:
    """A package by the bytes that it must have."""

    kind: str
    name: str
    version: str
    sha256: str

    def line(self) -> str:
        return f"{self.kind} {self.name} {self.version} {self.sha256}"


def read_lock(path: Path) -> list[Package]:
    """The lock's packages in its order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Package(*line.split()) for line in lines if line and not line.startswith("#")]


def suites_of(lock: str) -> tuple[str, ...]:
    """Return the suites of Debian that a lock's text names."""
    named = NAMED_SUITES.search(lock)
    return tuple(named[1].split()) if named else SUITES


def write_lock(
    path: Path, date: str, packages: Iterable[Package], suites: Sequence[str] = SUITES
) -> None:
    """Write the lock made from the archive as it was at ``date``."""
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# What a machine is made of. Made by 'scripts/lock'.",
        f"# archive of {date}",
        *([] if tuple(suites) == SUITES else [f"# suites {' '.join(suites)}"]),
        *(package.line() for package in packages),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fetch(lock: Path, cache: Path, names: Container[str] | None = None) -> dict[Package, Path]:
    """Return every package of the lock as a file, or those that ``names`` has. Raises `MissingTool`
    for what cannot be had."""
    packages = [one for one in read_lock(lock) if names is None or one.name in names]
    cache.mkdir(parents=True, exist_ok=True)
    missing = [package for package in packages if not _cached(cache, package)]
    debs = [package for package in missing if package.kind == "deb"]
    if debs:
        _keep(cache, debs, lambda folder: _download_debs(debs, folder, cache, lock))
    wheels = [package for package in missing if package.kind == "wheel"]
    if wheels:
        _keep(cache, wheels, lambda folder: _download_wheels(wheels, folder))
    return {package: cache / package.sha256 for package in packages}


def _cached(cache: Path, package: Package) -> bool:
    path = cache / package.sha256
    return path.exists() and sha256_of(path) == package.sha256


def _keep(cache: Path, packages: Sequence[Package], download: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=cache, prefix="new-") as name:
        folder = Path(name)
        download(folder)
        found = {sha256_of(path): path for path in folder.iterdir() if path.is_file()}
        for package in packages:
            if package.sha256 not in found:
                raise MissingTool(
                    f"{package.name} {package.version}: what the archive has under that name has "
                    f"not the locked SHA-256 {package.sha256[:16]}…; {RELOCK}"
                )
            found[package.sha256].replace(cache / package.sha256)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Apt:
    """apt with sources, lists and cache of its own in ``folder``."""

    def __init__(
        self,
        folder: Path,
        date: str | None = None,
        suites: Sequence[str] = SUITES,
        sources: bool = False,
    ) -> None:
        """``date`` asks for the archive as it was then, ``suites`` for these of it, ``sources`` for
        source packages too."""
        self._folder = folder
        for tool in ("apt-get", "apt-cache", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise MissingTool(f"{tool}: not found; a machine's root is built with Debian's apt")
        if not KEYRING.exists():
            raise MissingTool(
                f"{KEYRING}: not found; install it with 'apt-get install debian-archive-keyring'"
            )
        for part in ("lists/partial", "archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        mirror = os.environ.get("HOPLAB_DEBIAN", MIRROR)
        options, before, after = f"signed-by={KEYRING}", mirror, ""
        if date is not None:
            options, before, after = f"{options} check-valid-until=no", SNAPSHOT, f"/{date}"
        lines = []
        for suite in suites:
            part = "debian-security" if suite.endswith("-security") else "debian"
            kinds = ("deb", "deb-src") if sources else ("deb",)
            lines += [f"{k} [{options}] {before}/{part}{after} {suite} main\n" for k in kinds]
        (folder / "sources.list").write_text("".join(lines), encoding="utf-8")
        self._settings = [
            f"Dir::Etc::SourceList={folder / 'sources.list'}",
            "Dir::Etc::SourceParts=/dev/null",
            "Dir::Etc::Preferences=/dev/null",
            "Dir::Etc::PreferencesParts=/dev/null",
            f"Dir::State={folder}",
            f"Dir::State::status={folder / 'status'}",
            f"Dir::Cache={folder}",
            "APT::Architecture=amd64",
            "APT::Architectures=amd64",
            "APT::Sandbox::User=root",
            "Acquire::Languages=none",
            "Acquire::Retries=3",
        ]

    def __call__(self, *command: str, cwd: Path | None = None) -> str:
        """Run ``apt-get`` or ``apt-cache``; returns what it prints, raises `MissingTool`."""
        settings = [word for setting in self._settings for word in ("-o", setting)]
        done = subprocess.run(
            [command[0], *settings, *command[1:]],
            cwd=cwd or self._folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            complaint = [line for line in done.stderr.splitlines() if line.startswith("E:")]
            raise MissingTool((complaint or done.stderr.strip().splitlines() or ["failed"])[0])
        return done.stdout


def _download_debs(debs: Sequence[Package], folder: Path, cache: Path, lock: Path) -> None:
    wanted = [f"{package.name}={package.version}" for package in debs]
    text = lock.read_text(encoding="utf-8")
    date, suites = DATE.search(text), suites_of(text)
    first: MissingTool | None = None
    for when in (None, date.group(1) if date else None):
        try:
            apt = Apt(cache / "apt", when, suites)
            apt("apt-get", "update", "-qq")
            apt("apt-get", "download", "-qq", *wanted, cwd=folder)
            return
        except MissingTool as error:
            first = first or error
    raise Superseded(f"packages of the machine: {first}; {RELOCK}")


def pip_download(folder: Path, *wanted: str) -> str | None:
    """Fetch wheels for the machine's interpreter, with pip. Returns its complaint if it fails."""
    options = ["-q", "--disable-pip-version-check", "-d", str(folder), "--only-binary=:all:"]
    options += ["--implementation", "cp", "--python-version", PYTHON]
    options += ["--platform", "manylinux_2_17_x86_64"]
    for abi in ("cp" + PYTHON.replace(".", ""), "abi3", "none"):
        options += ["--abi", abi]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, *wanted],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    complaint = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    return complaint[-1].removeprefix("ERROR: ") if complaint else "pip failed"


def download_listed(requirements: str, folder: Path) -> None:
    """Fetch the wheels of a requirements file's text, and none that they need. Raises
    `MissingTool`."""
    listing = folder / "requirements"
    listing.write_text(requirements, encoding="utf-8")
    complaint = pip_download(folder, "--no-deps", "-r", str(listing))
    listing.unlink()
    if complaint is not None:
        raise MissingTool(f"Python packages of the machine's root: {complaint}")


def _download_wheels(wheels: Sequence[Package], folder: Path) -> None:
    lines = [
        f"{package.name}=={package.version} --hash=sha256:{package.sha256}" for package in wheels
    ]
    download_listed("\n".join(lines) + "\n", folder)
