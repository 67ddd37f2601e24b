# SPDX-License-Identifier: Apache-2.0
"""All dependencies of a scenario's packages, and Debian's essential ones, each with its SHA-256:
`hoplab lock`."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

from hoplab.host.machine import archive
from hoplab.host.machine.archive import Apt, Package
from hoplab.model.errors import MissingTool
from hoplab.model.keys.program import Additions

ESSENTIAL = (
    *("bash", "bsdutils", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep"),
    *("gzip", "hostname", "libc-bin", "ncurses-base", "ncurses-bin", "perl-base", "sed"),
    *("sysvinit-utils", "tar", "util-linux"),
)
"""Essential packages, on which others may rely without naming them (Debian Policy 3.8), but those
for installing and logging in. A root of its own form has few of their programs."""
SCRIPTS_ALONE = (
    *("dpkg", "debconf", "adduser", "init-system-helpers", "passwd", "login"),
    *("libdebconfclient0", "lsb-base", "mount", "procps", "util-linux-extra"),
)
"""Dependencies of packages for their own scripts, which do not run."""
OF_THE_ROOT = (
    *("libc6", "libgcc-s1", "gcc-12-base", "base-files", "zlib1g"),
    *("python3", "python3-minimal", "libpython3-stdlib", f"python{archive.PYTHON}"),
    *(f"python{archive.PYTHON}-minimal", f"libpython{archive.PYTHON}-minimal"),
    f"libpython{archive.PYTHON}-stdlib",
)
"""Packages that every root has in its own form."""
TO_INSTALL = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", re.MULTILINE)
WHEEL = re.compile(r"([A-Za-z0-9._]+)-([A-Za-z0-9.+!_]+?)-.*\.whl")


def lock(additions: Additions) -> str:
    """Return the lock of all that ``additions`` name, from the archives as they are now.

    Raises `MissingTool` for an unknown package, and if no archive can be reached.
    """
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    packages = _debs(additions.packages) + _wheels(additions.python)
    head = ["# Made by 'hoplab lock'.", additions.asked, f"# archive of {date}"]
    return "\n".join([*head, *(package.line() for package in packages)]) + "\n"


def _debs(names: tuple[str, ...]) -> list[Package]:
    if not names:
        return []
    with tempfile.TemporaryDirectory(prefix="hoplab-lock-") as folder:
        try:
            apt = Apt(Path(folder))
            apt("apt-get", "update", "-qq", "--error-on=any")
            told = apt("apt-get", "install", "-s", "--no-install-recommends", *names, *ESSENTIAL)
            left_out = {*SCRIPTS_ALONE, *OF_THE_ROOT} - set(names)
            found = [one for one in TO_INSTALL.findall(told) if one[0] not in left_out]
            records = apt("apt-cache", "show", *(f"{name}={version}" for name, version in found))
        except MissingTool as error:
            raise MissingTool(
                f"machine.packages: {str(error).removeprefix('E: ')}; expected were names of "
                f"Debian {archive.RELEASE}'s packages, and its archive at hand"
            ) from None
    hashes = {}
    for record in records.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|SHA256): (\S+)$", record, re.MULTILINE))
        if len(fields) == 3:
            hashes[fields["Package"], fields["Version"]] = fields["SHA256"]
    return [Package("deb", name, version, hashes[name, version]) for name, version in sorted(found)]


def _wheels(requirements: tuple[str, ...]) -> list[Package]:
    if not requirements:
        return []
    with tempfile.TemporaryDirectory(prefix="hoplab-lock-") as folder:
        complaint = archive.pip_download(Path(folder), *requirements)
        if complaint is not None:
            raise MissingTool(
                f"machine.python: {complaint}; expected were packages with wheels for Python "
                f"{archive.PYTHON}, and the registry at hand"
            )
        packages = []
        for path in sorted(Path(folder).iterdir()):
            found = WHEEL.fullmatch(path.name)
            if found is None:
                raise MissingTool(f"machine.python: {path.name}: is no wheel")
            packages.append(Package("wheel", found[1], found[2], archive.sha256_of(path)))
    return packages
