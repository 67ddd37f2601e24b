# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.host.machine.relock LOCK PACKAGES PYTHON_LOCK``: lock the newest version of
every package of a machine's root.

Python packages have the versions of the host's lock, so that both sides agree.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hoplab.host.machine import archive
from hoplab.host.machine.archive import Apt, Package
from hoplab.model.errors import HoplabError

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def newest_debs(
    names: list[str], folder: Path, suites: Sequence[str] = archive.SUITES
) -> list[Package]:
    """Return the candidate version of every Debian package."""
    apt = Apt(folder, suites=suites)
    apt("apt-get", "update", "-qq")
    packages = []
    for name in names:
        record = apt("apt-cache", "show", "--no-all-versions", name)
        fields = dict(re.findall(r"^(Version|SHA256): (\S+)$", record, re.MULTILINE))
        packages.append(Package("deb", name, fields["Version"], fields["SHA256"]))
    return packages


def wheels(names: list[str], pinned: dict[str, str]) -> list[Package]:
    """Return the wheel of every Python package, in the pinned version."""
    packages = []
    for name in names:
        version = pinned[name]
        with tempfile.TemporaryDirectory() as folder:
            archive.download_listed(f"{name}=={version}\n", Path(folder))
            (wheel,) = Path(folder).iterdir()
            packages.append(Package("wheel", name, version, archive.sha256_of(wheel)))
    return packages


def make(lock: Path, listing: Path, python_lock: Path) -> None:
    """Write ``lock`` with the packages that ``listing`` names, and wheels from ``python_lock``.
    A line ``suites NAME …`` of the listing names suites of Debian."""
    lines = [line.partition("#")[0].split() for line in listing.read_text("utf-8").splitlines()]
    names: dict[str, list[str]] = {"deb": [], "wheel": [], "suites": []}
    for kind, *rest in filter(None, lines):
        names[kind] += rest
    pinned = dict(PINNED.findall(python_lock.read_text("utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        suites = names["suites"] or archive.SUITES
        debs = newest_debs(names["deb"], Path(folder), suites)
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    archive.write_lock(lock, date, debs + wheels(names["wheel"], pinned), suites)


def main(arguments: list[str]) -> int:
    try:
        make(*map(Path, arguments))
    except HoplabError as error:
        print(f"lock: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
