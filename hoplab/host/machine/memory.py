# SPDX-License-Identifier: Apache-2.0
"""A place for the file that is a guest's memory, found by trials.

The guest's kernel maps the file and runs from it, so mount options must allow that. On a full file
system the guest dies of SIGBUS at its next page.
"""

from __future__ import annotations

import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hoplab.host.machine import private
from hoplab.model.errors import MissingTool

MEGABYTE = 1 << 20
SMALLEST_MB = 320
LARGEST_MB = 8192
STEP_MB = 64
"""Sizes are multiples of this, so that small changes of a scenario do not change its guest."""
BASE_MB, STATION_MB, FLOW_MB, FLOW_MB_PER_S = 256, 16, 16, 0.004
FEW, FURTHER_STATION_MB = 200, 5
"""So many stations have room to spare, which the further ones of a large network share."""
PROGRAM_MB = 64
"""Measured values: a root and a lab take 120 MB, a station 5 MB, and iperf3 3.3 kB a second and
flow."""


def needed_mb(stations: int, flows: int, duration_s: float, programs: int = 0) -> int:
    """Return the memory of a scenario's guest. It must not depend on anything else, because much in
    a kernel depends on it."""
    few = min(stations, FEW)
    needed: float = BASE_MB + STATION_MB * few + FURTHER_STATION_MB * (stations - few)
    needed += (FLOW_MB + FLOW_MB_PER_S * duration_s) * flows
    needed += PROGRAM_MB * programs
    return min(LARGEST_MB, max(SMALLEST_MB, math.ceil(needed / STEP_MB) * STEP_MB))


def attach(folder: Path, size_mb: int) -> None:
    """Make a place for ``size_mb`` of memory and link it into the guest's folder.

    Raises `MissingTool` if no place fits.
    """
    refusals = []
    for place in _candidates():
        try:
            # A separate folder, so that the guest can write there to nothing else.
            made = tempfile.mkdtemp(dir=place, prefix="hoplab-memory-")
        except OSError as error:
            refusals.append(f"{place}: {error.strerror}")
            continue
        (folder / private.MEMORY).symlink_to(made)
        why = refusal(made, size_mb)
        if why is None:
            return
        (folder / private.MEMORY).unlink()
        shutil.rmtree(made, ignore_errors=True)
        refusals.append(f"{place}: {why}")
    raise MissingTool(
        f"guest memory: no place for {size_mb} MB that can be run from: {'; '.join(refusals)}; "
        "free some space or name a folder with TMPDIR"
    )


def _candidates() -> Iterator[str]:
    """Yield places, first those in the host's memory: a disk would get the guest's pages written
    out."""
    seen = set()
    for place in (
        "/dev/shm",
        os.environ.get("XDG_RUNTIME_DIR"),
        os.environ.get("TMPDIR"),
        "/tmp",
        "/var/tmp",
        str(private.folder()),
    ):
        if place and place not in seen:
            seen.add(place)
            yield place


def refusal(place: str, size_mb: int) -> str | None:
    """Return why a guest cannot have its memory there; None if it can."""
    found = os.statvfs(place)
    free_mb = found.f_bavail * found.f_frsize // MEGABYTE
    if free_mb < size_mb:
        return f"{free_mb} MB free"
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.truncate(mmap.PAGESIZE)
            everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_PRIVATE, everything).close()
    except PermissionError:
        return "programs may not run there (noexec)"
    except OSError as error:
        return error.strerror
    return None
