# SPDX-License-Identifier: Apache-2.0
"""The corresponding source of a machine's kernel and programs, as one file of a release.

    python -m hoplab.host.machine.sources FOLDER   # hoplab-machine-VERSION-sources.tar

The GNU General Public License asks for it (version 2, section 3). The file has the Debian source
package of every package in the locks, and the kernel's source. What Hoplab changed is in the wheel
itself.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hoplab import __version__
from hoplab.host.machine import archive, kernel
from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.resources import PROJECT

LOCKS = ("machine.lock", "access-points.lock")
SOURCE = re.compile(r"^Source: (\S+)(?: \((\S+)\))?$", re.MULTILINE)
VERSION = re.compile(r"^Version: (\S+)$", re.MULTILINE)
REBUILT = re.compile(r"\+b\d+$")
OLDEST = 1767225600
"""Time of every file, as in the wheels: seconds since 1970."""


def source_of(name: str, stanza: str) -> str:
    """Return ``NAME=VERSION`` of the source package, by what ``apt-cache show`` says of a package.

    A stanza without ``Source`` is of the source of that name. One without its version has its own.
    A rebuild (``+b1``) has the version before it.
    """
    version = VERSION.search(stanza)
    if version is None:
        raise MissingTool(f"{name}: the archive has no version of it; {archive.RELOCK}")
    source = SOURCE.search(stanza)
    found = source[2] if source and source[2] else REBUILT.sub("", version[1])
    return f"{source[1] if source else name}={found}"


def wanted(apt: archive.Apt, packages: Iterable[archive.Package]) -> list[str]:
    """Return the source packages of a lock's Debian packages, each once."""
    debs = [package for package in packages if package.kind == "deb"]
    found = {
        source_of(deb.name, apt("apt-cache", "show", f"{deb.name}={deb.version}")) for deb in debs
    }
    return sorted(found)


def download(folder: Path) -> list[str]:
    """Download the source packages of all locks and the kernel's source. Returns their names.

    Raises `MissingTool` that names every package whose source the archive does not have.
    """
    locks = [PROJECT / "locks" / name for name in LOCKS]
    packages = [package for lock in locks for package in archive.read_lock(lock)]
    date = archive.DATE.search(locks[0].read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        apt = _apt(Path(place) / "now", None)
        names = wanted(apt, packages)
        refused = _brought(apt, names, folder)
        if refused and date is not None:  # the archive has moved on since the lock was made
            with contextlib.suppress(MissingTool):
                refused = _brought(_apt(Path(place) / "then", date[1]), list(refused), folder)
    if refused:
        whys = "; ".join(f"{name} ({why})" for name, why in refused.items())
        raise MissingTool(f"{len(refused)} of {len(names)} source packages cannot be had: {whys}")
    source = kernel.fetch(kernel.default())
    (folder / source.name).symlink_to(source)
    return [*names, source.name]


def _apt(folder: Path, date: str | None) -> archive.Apt:
    folder.mkdir()
    apt = archive.Apt(folder, date, sources=True)
    apt("apt-get", "update", "-qq")
    return apt


def _brought(apt: archive.Apt, names: list[str], folder: Path) -> dict[str, str]:
    """Download source packages. Returns those that cannot be had, with the reason."""
    refused = {}
    for name in names:
        try:
            apt("apt-get", "source", "-qq", "--download-only", name, cwd=folder)
        except MissingTool as error:
            refused[name] = str(error)
    return refused


def pack(folder: Path, file: Path) -> None:
    """Write the files of a folder to an archive: the same bytes for the same files."""
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT, dereference=True) as tar:
        for path in sorted(folder.iterdir()):
            info = tar.gettarinfo(path, f"{file.stem}/{path.name}")
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime, info.mode = OLDEST, 0o644
            with path.open("rb") as content:
                tar.addfile(info, content)


def main(arguments: list[str]) -> int:
    """Make the archive in a folder."""
    try:
        (out,) = map(Path, arguments)
    except ValueError:
        print("sources: name the folder for the archive", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"hoplab-machine-{__version__}-sources.tar"
    try:
        with tempfile.TemporaryDirectory(dir=out) as folder:
            names = download(Path(folder))
            pack(Path(folder), file)
    except HoplabError as error:
        print(f"sources: {error}", file=sys.stderr)
        return error.exit_status
    print(f"sources: {file}, {len(names)} packages, {file.stat().st_size >> 20} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
