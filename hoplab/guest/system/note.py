# SPDX-License-Identifier: Apache-2.0
"""What a lab has made in this kernel, noted at once, for `hoplab clean`.

A note is ``/run/hoplab/PID.json``. If its process has gone, it belongs to a crashed run. Radios
need no note: the kernel removes them with the socket that made them.
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
        """Note that the namespace ``name`` exists."""
        self._content["namespaces"][name] = inode(NETNS_DIRECTORY / name)
        self._write()

    def adopted(self, name: str) -> None:
        """Note that the namespace ``name`` exists. Others own it, and only the name belongs to this
        run."""
        self._content["adopted"][name] = inode(NETNS_DIRECTORY / name)
        self._write()

    def group(self, folder: Path) -> None:
        """Note that the control group ``folder`` is about to exist."""
        self._content["group"] = str(folder)
        self._write()

    def close(self) -> None:
        """Delete the note, unless something is left for `hoplab clean` to remove."""
        namespaces = self._content["namespaces"] | self._content["adopted"]
        group = self._content["group"]
        left = any(inode(NETNS_DIRECTORY / name) == number for name, number in namespaces.items())
        if not left and not (group is not None and Path(group).is_dir()):
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        # Write it in one step, so that nobody reads half a note.
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._content), encoding="utf-8")
        fresh.replace(self._path)


def inode(path: Path) -> int | None:
    """Return the inode number of the file, or None if it does not exist."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def start_time(pid: int) -> str | None:
    """Return field 22 of /proc/PID/stat. With the PID it names a process uniquely."""
    try:
        text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]
