# SPDX-License-Identifier: Apache-2.0
"""What a lab has made in this kernel, noted as it makes it, for `hoplab clean`.

A note is ``/run/hoplab/PID.json``; one whose process has gone is a crashed run's. Radios need no
note: the kernel removes them with the socket that made them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

NOTES = Path("/run/hoplab")
NETNS_DIRECTORY = Path("/var/run/netns")


class Note:
    """The namespaces and the control group of this process's run."""

    def __init__(self) -> None:
        NOTES.mkdir(mode=0o700, exist_ok=True)
        self._path = NOTES / f"{os.getpid()}.json"
        self._content: dict[str, Any] = {
            "started": start_time(os.getpid()),
            "namespaces": {},
            "adopted": {},
            "group": None,
        }
        self._write()

    def namespace(self, name: str) -> None:
        """The namespace ``name`` is there."""
        self._content["namespaces"][name] = inode(NETNS_DIRECTORY / name)
        self._write()

    def adopted(self, name: str) -> None:
        """The namespace ``name`` is there; it is others', only the name is this run's."""
        self._content["adopted"][name] = inode(NETNS_DIRECTORY / name)
        self._write()

    def group(self, folder: Path) -> None:
        """The control group ``folder`` is about to be there."""
        self._content["group"] = str(folder)
        self._write()

    def close(self) -> None:
        """Forget it, unless something is still there for `hoplab clean` to remove."""
        namespaces = self._content["namespaces"] | self._content["adopted"]
        group = self._content["group"]
        left = any(inode(NETNS_DIRECTORY / name) == number for name, number in namespaces.items())
        if not left and not (group is not None and Path(group).is_dir()):
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        # In one step, so that nobody reads half a note.
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._content), encoding="utf-8")
        fresh.replace(self._path)


def inode(path: Path) -> int | None:
    """Number of the file, None where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat: with the number it names a process for good."""
    try:
        text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]
