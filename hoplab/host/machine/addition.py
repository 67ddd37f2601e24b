# SPDX-License-Identifier: Apache-2.0
"""What a machine has beside its root, for runs that need it: hostapd and wpa_supplicant.

More in the root of every run would change memory from the start. Runs that do not use it would then
take another course.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hoplab.host.machine import cpio, root
from hoplab.host.machine.archive import Package

NAME = "access-points.cpio"
"""Its file in a machine's folder, and in a guest's."""
UNPACK = f"(cd / && busybox cpio -idmu </run/host/{NAME} 2>/dev/null)"
"""The command that adds it, in a guest, whose own folder is there."""
PROGRAMS = ("usr/sbin/hostapd", "usr/sbin/wpa_supplicant")


def build(packages: Mapping[Package, Path], work: Path) -> tuple[bytes, dict[str, bytes]]:
    """The archive, made in the empty folder ``work``, and the texts of the licences."""
    licences: dict[str, bytes] = {}
    for package, path in packages.items():
        root.unpack_deb(package, path, work, licences, _wanted)
    return cpio.dump(cpio.from_tree(work)), licences


def _wanted(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    return name in PROGRAMS or (folder == root.LIBRARIES and ".so." in base)
